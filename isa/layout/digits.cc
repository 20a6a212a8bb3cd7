#include "isa/layout/digits.h"

#include <fmt/format.h>

#include <utility>

namespace tilevm::isa {

std::int64_t digits_size(const Digits& digits) {
  std::int64_t product = 1;
  for (const auto& digit : digits) product = saturating_product(product, digit.size);
  return product;
}

Digits merge_digits(const Digits& digits) {
  Digits merged;
  for (const auto& digit : digits) {
    if (digit.size == 1) continue;
    const bool continues = !merged.empty() && merged.back().dim == digit.dim &&
                           merged.back().stride == saturating_product(digit.stride, digit.size);
    if (continues) {
      merged.back().size *= digit.size;
      merged.back().stride = digit.stride;
    } else {
      merged.push_back(digit);
    }
  }
  return merged;
}

std::optional<DigitsSplit> split_digits(const Digits& digits, std::int64_t low_size) {
  std::size_t cut = digits.size();
  while (cut > 0 && low_size % digits[cut - 1].size == 0) low_size /= digits[--cut].size;
  const auto at = digits.begin() + static_cast<std::ptrdiff_t>(cut);
  DigitsSplit split{Digits(digits.begin(), at), Digits(at, digits.end())};
  if (low_size == 1) return split;
  if (cut == 0 || digits[cut - 1].size % low_size != 0) return std::nullopt;
  auto& upper = split.high.back();
  split.low.insert(split.low.begin(), {upper.dim, low_size, upper.stride});
  upper.size /= low_size;
  upper.stride *= low_size;
  return split;
}

std::vector<std::int64_t> row_major_strides(const Shape& shape) {
  std::vector<std::int64_t> strides(shape.size(), 1);
  for (std::size_t d = shape.size(); d-- > 1;) {
    strides[d - 1] = saturating_product(strides[d], shape[d]);
  }
  return strides;
}

Error layout_error(std::string message) { return Error{ErrorKind::program, std::move(message)}; }

std::optional<Error> check_dims(const std::vector<int>& dims, int rank) {
  unsigned seen = 0;
  for (const int dim : dims) {
    if (dim < 0 || dim >= rank) {
      return layout_error(fmt::format(
          "dimension {} does not exist; with rank {}, dimensions count from 0 to below {}", dim,
          rank, rank));
    }
    if ((seen >> dim & 1U) != 0) {
      return layout_error(fmt::format("dimension {} is named twice; name it once", dim));
    }
    seen |= 1U << dim;
  }
  return std::nullopt;
}

std::optional<Error> check_permutation(const std::vector<int>& dims, int rank) {
  if (dims.size() != static_cast<std::size_t>(rank)) {
    return layout_error(
        fmt::format("a permutation of {} dimensions must name each of them once, and {} are named",
                    rank, dims.size()));
  }
  return check_dims(dims, rank);
}

std::optional<Error> check_shape(const Shape& shape, std::int64_t max_extent) {
  if (shape.size() > max_layout_rank) {
    return layout_error(fmt::format("a shape of rank {} is too large; the rank is at most {}",
                                    shape.size(), max_layout_rank));
  }
  for (const std::int64_t extent : shape) {
    if (extent < 1 || extent > max_extent) {
      return layout_error(fmt::format("extent {} of shape {}; an extent must lie between 1 and {}",
                                      extent, to_string(shape), max_extent));
    }
  }
  return std::nullopt;
}

}  // namespace tilevm::isa
