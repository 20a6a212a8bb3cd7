#include "isa/dot/dot_product.h"

#include "isa/base/check.h"
#include "isa/dot/dot.h"
#include "isa/dot/dot_scaled.h"
#include "isa/dot/dot_sparse.h"

namespace tilevm::isa {

std::optional<DotPlan> plan_product(const ProductTypes& types, const Target& target,
                                    DotMismatch* mismatch) {
  TILEVM_CHECK(!types.metadata || !types.left_scales, "a product both sparse and block-scaled");
  if (types.metadata) {
    return plan_dot_sparse({types.left, *types.metadata, types.right, types.addend}, target,
                           mismatch);
  }
  if (types.left_scales) {
    return plan_dot_scaled(
        {types.left, *types.left_scales, types.right, *types.right_scales, types.addend}, target,
        mismatch);
  }
  return plan_dot(types.left, types.right, types.addend, target, mismatch);
}

}  // namespace tilevm::isa
