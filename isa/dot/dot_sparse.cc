#include "isa/dot/dot_sparse.h"

#include "isa/dot/dot_fragments.h"

namespace tilevm::isa {

std::optional<DotPlan> plan_dot_sparse(const SparseOperands& operands, const Target& target,
                                       DotMismatch* mismatch) {
  const auto& [a, places, b, c] = operands;
  const BatchOperands matrices(a, b, c);
  for (const MmaShape* shape : sparse_mma_shapes(target, a.dtype, b.dtype, c.dtype)) {
    auto plan = plan_fragments(*shape, matrices);
    if (plan && plan_places(as_batch(places.layout), matrices, *plan)) return plan;
  }
  if (mismatch != nullptr) *mismatch = explain_sparse_mismatch(a, places, b, c, target);
  return std::nullopt;
}

}  // namespace tilevm::isa
