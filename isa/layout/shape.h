// Shapes, indices in them, and digits: what a layout is written with.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace tilevm::isa {

using Shape = std::vector<std::int64_t>;
using Index = std::vector<std::int64_t>;

/// a * b, or the largest int64 where that does not fit.
[[nodiscard]] inline std::int64_t saturating_product(std::int64_t a, std::int64_t b) {
  constexpr std::int64_t max = std::numeric_limits<std::int64_t>::max();
  std::int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? max : product;
}

/// Dimensions of a register layout at most, since programs come from strangers.
inline constexpr int max_layout_rank = 8;

/// Product of the extents; 1 for rank 0. Too large a product gives the largest int64.
[[nodiscard]] std::int64_t element_count(const Shape& shape);
/// "[16, 8]".
[[nodiscard]] std::string to_string(const Shape& shape);
/// Row-major digits of x in the radices of `shape`, and back: the first digit is the most
/// significant; what x has beyond the product of the radices is cut off. Extents must be positive.
[[nodiscard]] Index unravel(std::int64_t x, const Shape& shape);
[[nodiscard]] std::int64_t ravel(const Index& digits, const Shape& shape);

/// A digit of the thread or the local index, as a share of one dimension's index:
/// `index[dim] += digit * stride`. dim -1 (and stride 0) marks a replica factor, which adds
/// nothing. In this form every operation of the algebra is a change of strides.
struct LayoutDigit {
  int dim;
  std::int64_t size, stride;
  friend bool operator==(const LayoutDigit&, const LayoutDigit&) = default;
};

}  // namespace tilevm::isa
