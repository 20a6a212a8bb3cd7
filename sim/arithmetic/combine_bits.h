// Elements of memory combined with others, as atomic instructions of GPUs do it.
#pragma once

#include <cstdint>

#include "isa/type/dtype.h"
#include "isa/type/reduce_op.h"

namespace tilevm::sim {

/// Combines a code with the element at a bit of memory, as one step: blocks on other host threads
/// may do the same. Elements have 32 or 64 bits and are aligned to their size.
void combine_bits(std::uint8_t* memory, std::uint64_t bit, const isa::DType& type, isa::ReduceOp op,
                  std::uint64_t code);

}  // namespace tilevm::sim
