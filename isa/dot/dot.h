// How a Dot is computed: by which instructions, on which registers, in which order.
//
// plan_dot tiles a Dot's operands by the fragments of a tensor-core instruction (mma_shapes.h), or,
// where no instruction fits and every thread holds what it needs, makes a chain of multiply-adds of
// each element. The plan tells both engines what to do. Since the result of a tensor core depends
// on where a long sum is cut, the plan is part of the meaning of Dot.
#pragma once

#include <optional>

#include "isa/dot/dot_mismatch.h"
#include "isa/dot/dot_plan.h"
#include "isa/inst/tensor_type.h"
#include "isa/numeric/target.h"

namespace tilevm::isa {

/// Plans a Dot of register tiles a [.., m, k], b [.., k, n], c [.., m, n]; shapes must agree
/// already. If no instruction fits the product, but one fits the transposed product, the plan uses
/// that one. Gives the plan, or says in `mismatch` why there is none.
[[nodiscard]] std::optional<DotPlan> plan_dot(const RegisterType& a, const RegisterType& b,
                                              const RegisterType& c, const Target& target,
                                              DotMismatch* mismatch);

}  // namespace tilevm::isa
