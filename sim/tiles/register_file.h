// Which bytes of the register slab each variable of a kernel owns.
//
// A View is free if neither its result nor its source is written again: both own the same bytes.
#pragma once

#include <cstddef>
#include <vector>

#include "isa/program/program.h"
#include "isa/verify/verify.h"

namespace tilevm::sim {

class RegisterFile {
 public:
  RegisterFile() = default;
  explicit RegisterFile(const isa::Kernel& kernel);

  /// The first byte of a register tile.
  [[nodiscard]] std::size_t offset(isa::VarId var) const {
    return offsets_[static_cast<std::size_t>(var.index)];
  }
  /// Bytes of all tiles together.
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  /// The first shadow value of a register tile. Each element in each thread has a shadow value, and
  /// a View has its own.
  [[nodiscard]] std::size_t shadow(isa::VarId var) const {
    return shadows_[static_cast<std::size_t>(var.index)];
  }
  /// Shadow values of all tiles together.
  [[nodiscard]] std::size_t shadow_count() const { return shadow_count_; }

 private:
  std::vector<std::size_t> offsets_, shadows_;  // by variable
  std::size_t bytes_ = 0, shadow_count_ = 0;
};

}  // namespace tilevm::sim
