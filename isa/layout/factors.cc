// The named factors: local, spatial, their column forms, and replicated.
#include <algorithm>

#include "isa/layout/digits.h"
#include "isa/layout/register_layout.h"

namespace tilevm::isa {
namespace {

/// One digit a dimension, the last dimension fastest; column: the first.
Result<RegisterLayout> factor(const Shape& shape, bool is_spatial, bool column) {
  if (auto error = check_shape(shape, RegisterLayout::max_extent)) return *error;
  Digits digits;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    digits.push_back({static_cast<int>(d), shape[d], 1});
  }
  if (column) std::reverse(digits.begin(), digits.end());
  if (is_spatial) return RegisterLayout::from_digits(shape, digits, {});
  return RegisterLayout::from_digits(shape, {}, digits);
}

}  // namespace

Result<RegisterLayout> local(const Shape& shape) { return factor(shape, false, false); }
Result<RegisterLayout> spatial(const Shape& shape) { return factor(shape, true, false); }
Result<RegisterLayout> column_local(const Shape& shape) { return factor(shape, false, true); }
Result<RegisterLayout> column_spatial(const Shape& shape) { return factor(shape, true, true); }

Result<RegisterLayout> replicated(std::int64_t n) {
  return RegisterLayout::from_digits({}, {{-1, n, 0}}, {});
}

}  // namespace tilevm::isa
