// One element of a Dot, by the words of docs/reference/products.md: operands in ascending k, one
// instruction after another.
#pragma once

#include <cstdint>
#include <vector>

#include "isa/dot/dot_plan.h"
#include "isa/numeric/target.h"
#include "isa/type/dtype.h"

namespace tilevm::vm::naive {

/// The codes that one element of the result is computed from: a row of a, a column of b. A sparse
/// product has the stored elements of a and the elements of b at their places.
struct DotOperands {
  isa::DType a_type, b_type, c_type;
  std::vector<std::uint64_t> a, b;
  std::uint64_t c = 0;
  /// For a block-scaled product: the scales of the row and of the column.
  std::vector<std::uint64_t> a_scales = {}, b_scales = {};
};

[[nodiscard]] std::uint64_t dot_element(const isa::DotPlan& plan, const isa::Target& target,
                                        const DotOperands& operands);

}  // namespace tilevm::vm::naive
