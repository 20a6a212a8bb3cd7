// Digit sequences: what the layout operations compute on. Internal to isa/layout.
//
// A sequence of digits, most significant first, is a mixed-radix number whose digits add strides to
// an index. The sequence may be cut at any position where the product of the sizes below is exact,
// and two neighbours may be merged where the upper stride continues the lower one. The merged form
// of a function is unique: the lowest digit's size is the first number at which the function stops
// being linear.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "isa/base/result.h"
#include "isa/layout/shape.h"

namespace tilevm::isa {

using Digits = std::vector<LayoutDigit>;

/// Product of the sizes.
[[nodiscard]] std::int64_t digits_size(const Digits& digits);

/// Without digits of size 1, and with neighbours merged wherever they continue each other.
[[nodiscard]] Digits merge_digits(const Digits& digits);

struct DigitsSplit {
  Digits high, low;
};

/// Cuts so that the sizes of `low` have the product `low_size`, splitting the digit at the cut if
/// need be; nothing if a size does not divide.
[[nodiscard]] std::optional<DigitsSplit> split_digits(const Digits& digits, std::int64_t low_size);

/// The strides of each dimension in the row-major linear index: the product of later extents.
[[nodiscard]] std::vector<std::int64_t> row_major_strides(const Shape& shape);

/// An error of the user's program.
[[nodiscard]] Error layout_error(std::string message);

/// An error if `dims` names a dimension outside 0 .. rank-1 or one twice.
[[nodiscard]] std::optional<Error> check_dims(const std::vector<int>& dims, int rank);
/// An error if `dims` is not a permutation of 0 .. rank-1.
[[nodiscard]] std::optional<Error> check_permutation(const std::vector<int>& dims, int rank);
/// An error if the rank is above the limit, or an extent is not in 1 .. max_extent.
[[nodiscard]] std::optional<Error> check_shape(const Shape& shape, std::int64_t max_extent);

}  // namespace tilevm::isa
