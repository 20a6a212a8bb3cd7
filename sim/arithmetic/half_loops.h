// Loops of f16 by the processor's own conversions, which every x86 processor with AVX2 has. Each
// equals the definition in isa/type on every code.
#pragma once

#include "isa/type/operations.h"
#include "sim/arithmetic/lanes.h"

namespace tilevm::sim {

// Loops at a level of vector instructions; empty where the level has no conversions.
[[nodiscard]] LaneLoop1 f16_to_f32_loop(SimdLevel level);
[[nodiscard]] LaneLoop1 f32_to_f16_loop(SimdLevel level);
/// Add, sub, mul or div of f16; empty for other operations as well.
[[nodiscard]] LaneLoop2 f16_binary_loop(isa::BinaryOp op, SimdLevel level);
[[nodiscard]] LaneLoop3 f16_fma_loop(SimdLevel level);
/// Eq, ne, lt or le of f16, to bytes of 0 and 1.
[[nodiscard]] LaneLoop2 f16_comparison_loop(isa::BinaryOp op, SimdLevel level);

}  // namespace tilevm::sim
