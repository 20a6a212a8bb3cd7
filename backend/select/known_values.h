// Which tiles may have elements that the CUDA compilers know.
//
// NVRTC and ptxas propagate constants, through inline assembly as well, and replace an approximate
// instruction on a constant by the correctly rounded value. An element that comes from memory is
// known to none of them, nor is the float result of arithmetic with such an element: only zeros,
// infinities and NaN absorb an operand, and on those the instructions give what is folded.
// Everything else counts as known, so that an instruction without a rule here costs an operation
// and no bit.
#pragma once

#include <vector>

#include "isa/analysis/statements.h"
#include "isa/program/program.h"

namespace tilevm::backend {

class KnownValues {
 public:
  KnownValues(const isa::Kernel& kernel, const isa::Statements& statements);

  [[nodiscard]] bool may_be_known(isa::VarId tile) const {
    return known_[static_cast<std::size_t>(tile.index)];
  }

 private:
  [[nodiscard]] bool gives_known(const isa::Instruction& inst) const;
  [[nodiscard]] bool update(const isa::InstStmt& stmt);

  const isa::Kernel& kernel_;
  std::vector<bool> known_;  // by variable
  // Compilers forward what a thread stores to its later loads.
  bool stores_known_shared_ = false, stores_known_global_ = false;
};

}  // namespace tilevm::backend
