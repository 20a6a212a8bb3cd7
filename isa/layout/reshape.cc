// Row-major re-view of register layouts.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <ranges>
#include <utility>

#include "isa/layout/digits.h"
#include "isa/layout/layout_ops.h"

namespace tilevm::isa {
namespace {

using Digit = RegisterLayout::Digit;

/// The digits as digits of the row-major linear index (dimension 0), merged across dimensions.
Digits flattened(Digits digits, const Shape& shape) {
  const auto strides = row_major_strides(shape);
  for (auto& digit : digits) {
    if (digit.dim < 0) continue;
    digit.stride *= strides[static_cast<std::size_t>(digit.dim)];
    digit.dim = 0;
  }
  return merge_digits(digits);
}

/// The part of a linear digit that falls into the dimension that contains its stride; nothing if
/// the dimension's border or its end would cut the digit unevenly.
std::optional<Digit> lowest_piece(const Digit& digit, const Shape& shape,
                                  const std::vector<std::int64_t>& strides) {
  std::size_t d = shape.size();
  while (d > 0 && digit.stride >= strides[d - 1] * shape[d - 1]) --d;
  if (d == 0) return std::nullopt;
  --d;
  const std::int64_t end = strides[d] * shape[d];
  if (digit.stride % strides[d] != 0 || end % digit.stride != 0) return std::nullopt;
  const std::int64_t size = std::min(digit.size, end / digit.stride);
  if (digit.size % size != 0) return std::nullopt;
  return Digit{static_cast<int>(d), size, digit.stride / strides[d]};
}

/// Cuts every linear digit at the borders of the new dimensions.
std::optional<Digits> distributed(const Digits& linear, const Shape& shape) {
  const auto strides = row_major_strides(shape);
  Digits pieces;  // least significant first
  for (Digit rest : std::views::reverse(linear)) {
    if (rest.dim < 0) pieces.push_back(rest);
    while (rest.dim >= 0 && rest.size > 1) {
      const auto piece = lowest_piece(rest, shape, strides);
      if (!piece) return std::nullopt;
      pieces.push_back(*piece);
      rest.size /= piece->size;
      rest.stride *= piece->size;
    }
  }
  std::reverse(pieces.begin(), pieces.end());
  return pieces;
}

}  // namespace

Result<RegisterLayout> reshape(const RegisterLayout& l, const Shape& shape) {
  if (auto error = check_shape(shape, RegisterLayout::max_extent)) return *error;
  if (element_count(shape) != l.size()) {
    return layout_error(fmt::format("a tile of shape {} has {} elements and cannot have shape {}",
                                    to_string(l.shape()), l.size(), to_string(shape)));
  }
  auto spatial = distributed(flattened(l.spatial_digits(), l.shape()), shape);
  auto local = distributed(flattened(l.local_digits(), l.shape()), shape);
  if (spatial && local) {
    return RegisterLayout::from_digits(shape, *std::move(spatial), *std::move(local));
  }
  return layout_error(
      fmt::format("layout `{}` has no form with shape {}: one of its modes would lie across two "
                  "dimensions",
                  to_string(l), to_string(shape)));
}

}  // namespace tilevm::isa
