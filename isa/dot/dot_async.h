// How a product that completes later is computed: by `wgmma`, planned by fragments of warp groups
// in registers and by matrix descriptors in shared memory.
#pragma once

#include <optional>
#include <variant>

#include "isa/dot/dot_mismatch.h"
#include "isa/dot/dot_plan.h"
#include "isa/inst/tensor_type.h"
#include "isa/numeric/target.h"

namespace tilevm::isa {

/// The operands of an asynchronous product: a [m, k], b [k, n], c [m, n].
struct AsyncOperands {
  std::variant<RegisterType, SharedPart> a;
  SharedPart b;
  RegisterType c;

  [[nodiscard]] const DType& a_type() const;
  /// Nothing if the part of shared memory is not a matrix.
  [[nodiscard]] std::optional<Shape> a_shape() const;
};

/// Shapes must agree already. Gives the plan, or says in `mismatch` why there is none.
[[nodiscard]] std::optional<DotPlan> plan_dot_async(const AsyncOperands& operands,
                                                    const Target& target, DotMismatch* mismatch);

}  // namespace tilevm::isa
