#include "isa/dot/dot_scaled.h"

#include "isa/dot/dot_fragments.h"

namespace tilevm::isa {

std::optional<DotPlan> plan_dot_scaled(const ScaledOperands& operands, const Target& target,
                                       DotMismatch* mismatch) {
  const auto& [a, a_scales, b, b_scales, c] = operands;
  const BatchOperands matrices(a, b, c);
  for (const MmaShape* shape :
       scaled_mma_shapes(target, a.dtype, b.dtype, a_scales.dtype, c.dtype)) {
    auto plan = plan_fragments(*shape, matrices);
    if (plan &&
        plan_scales(as_batch(a_scales.layout), as_batch(b_scales.layout), matrices, *plan)) {
      return plan;
    }
  }
  if (mismatch != nullptr) *mismatch = explain_scaled_mismatch(operands, target);
  return std::nullopt;
}

}  // namespace tilevm::isa
