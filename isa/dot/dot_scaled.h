// How a block-scaled product is computed: by block-scaled tensor-core instructions, planned as a
// Dot is.
#pragma once

#include <optional>

#include "isa/dot/dot_mismatch.h"
#include "isa/dot/dot_plan.h"
#include "isa/inst/tensor_type.h"
#include "isa/numeric/target.h"

namespace tilevm::isa {

/// Shapes and the types of the scales must be right already. Gives the plan, or says in `mismatch`
/// why there is none.
[[nodiscard]] std::optional<DotPlan> plan_dot_scaled(const ScaledOperands& operands,
                                                     const Target& target, DotMismatch* mismatch);

}  // namespace tilevm::isa
