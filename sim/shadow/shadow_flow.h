// What an instruction makes of shadow values (docs/semantics.md, Shadow evaluation).
//
//   arithmetic, functions, Cast, Dot   computed twice in double precision, without rounding to a
//                                      type: from the operands' own values, which is what the
//                                      result would be if this instruction were exact, and from
//                                      their shadow values
//   Where, ConvertLayout               move them, as does View to the same type
//   comparisons, bits, other Views     begin anew with the values of the result
//   loads and stores                   move them themselves (shadow_access.h)
#pragma once

#include <functional>

#include "sim/api/error_stats.h"
#include "sim/exec/semantics.h"
#include "sim/state/context.h"

namespace tilevm::sim {

/// The errors of one statement's results.
struct InstructionErrors {
  ErrorStats own;          ///< against the exact result of the operands as they are
  ErrorStats accumulated;  ///< against the shadow values

  InstructionErrors& operator+=(const InstructionErrors& other);
};

/// Runs around an instruction while shadow values are kept; both may be empty.
struct ShadowFlow {
  std::function<void(Context&)> before;  ///< reads operands that the result may overwrite
  std::function<void(Context&, InstructionErrors&)> after;
  const isa::RegisterType* measured = nullptr;  ///< of the result, if it has errors
};

[[nodiscard]] ShadowFlow make_shadow_flow(const Preparation& preparation);

}  // namespace tilevm::sim
