// A register tile of the naive interpreter.
#pragma once

#include <cstdint>
#include <vector>

#include "isa/inst/tensor_type.h"

namespace tilevm::vm::naive {

/// The elements of a register tile in row-major order of their indices.
struct NaiveTile {
  isa::RegisterType type;
  std::vector<std::uint64_t> codes;
};

}  // namespace tilevm::vm::naive
