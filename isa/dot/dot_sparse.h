// How a sparse product is computed: by sparse tensor-core instructions, planned as a Dot is.
#pragma once

#include <optional>

#include "isa/dot/dot_mismatch.h"
#include "isa/dot/dot_plan.h"
#include "isa/inst/tensor_type.h"
#include "isa/numeric/target.h"

namespace tilevm::isa {

/// The operands of a sparse product: a and places [.., m, k / 2], b [.., k, n], c [.., m, n].
struct SparseOperands {
  RegisterType a, places, b, c;
};

/// Shapes and the type of places must be right already. Gives the plan, or says in `mismatch` why
/// there is none.
[[nodiscard]] std::optional<DotPlan> plan_dot_sparse(const SparseOperands& operands,
                                                     const Target& target, DotMismatch* mismatch);

}  // namespace tilevm::isa
