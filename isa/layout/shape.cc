#include "isa/layout/shape.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tilevm::isa {

std::int64_t element_count(const Shape& shape) {
  std::int64_t product = 1;
  for (const std::int64_t extent : shape) product = saturating_product(product, extent);
  return product;
}

std::string to_string(const Shape& shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

Index unravel(std::int64_t x, const Shape& shape) {
  Index digits(shape.size());
  for (std::size_t d = shape.size(); d-- > 0;) {
    digits[d] = x % shape[d];
    x /= shape[d];
  }
  return digits;
}

std::int64_t ravel(const Index& digits, const Shape& shape) {
  std::int64_t x = 0;
  for (std::size_t d = 0; d < shape.size(); ++d) x = x * shape[d] + digits[d];
  return x;
}

}  // namespace tilevm::isa
