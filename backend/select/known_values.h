// Which tiles may have elements that the CUDA compilers know.
//
// NVRTC and ptxas propagate constants, through inline assembly as well, and replace an approximate
// instruction on a constant by the correctly rounded value. An element that comes from memory is
// known to none of them, nor is the float result of arithmetic with such an element. Instructions
// give folded results for Inf and NaN, so those may be known; they are followed apart, because what
// absorbs an operand is one of them. Everything else counts as known, so that an instruction
// without a rule here costs an operation and no bit.
#pragma once

#include <vector>

#include "isa/analysis/statements.h"
#include "isa/program/program.h"

namespace tilevm::backend {

/// What the compilers may know of elements.
struct Knowledge {
  bool number = false;     ///< one value is a certain number
  bool unbounded = false;  ///< whether one of the values is Inf or NaN

  friend bool operator==(const Knowledge&, const Knowledge&) = default;
  friend Knowledge operator|(Knowledge a, Knowledge b) {
    return {a.number || b.number, a.unbounded || b.unbounded};
  }
};

class KnownValues {
 public:
  KnownValues(const isa::Kernel& kernel, const isa::Statements& statements);

  /// Whether an element may be a number that the compilers know.
  [[nodiscard]] bool may_be_known(isa::VarId tile) const {
    return known_[static_cast<std::size_t>(tile.index)].number;
  }

 private:
  /// Whether something changed.
  [[nodiscard]] bool update(const isa::InstStmt& stmt);
  [[nodiscard]] Knowledge of_result(const isa::Instruction& inst) const;

  const isa::Kernel& kernel_;
  std::vector<Knowledge> known_;  // by variable
  // Compilers forward what a thread stores to its later loads of the same memory: a tensor's, or
  // what a pointer leads to.
  std::vector<Knowledge> stored_;   // by variable, of that memory
  std::vector<isa::VarId> memory_;  // by variable: of a view its pointer, of others themselves
};

}  // namespace tilevm::backend
