// What an instruction makes of undefined elements, from its schema.
//
//   an instruction that gives a tile   an element of the result is undefined if an element of an
//                                      operand is from which it is computed
//   one that gives none                undefined elements of its operands matter: a fault
//   loads, AllocateRegister            know better; they do it themselves (exec_*.cc)
#pragma once

#include "sim/exec/semantics.h"
#include "sim/state/context.h"

namespace tilevm::sim {

/// Runs around an instruction while tiles are marked as undefined; both may be empty.
struct Flow {
  Action before;                        ///< false after a fault
  std::function<void(Context&)> after;  ///< the result's shadow
};

[[nodiscard]] Flow make_flow(const Preparation& preparation);

}  // namespace tilevm::sim
