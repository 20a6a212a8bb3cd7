// The loops of element-wise instructions over arrays of codes.
#pragma once

#include <cstdint>
#include <functional>

#include "isa/type/dtype.h"
#include "isa/type/operations.h"
#include "sim/arithmetic/lanes.h"

namespace tilevm::sim {

/// Loops over lanes (lanes.h) that equal the definitions on every code.
[[nodiscard]] LaneLoop1 cast_loop(const isa::DType& from, const isa::DType& to,
                                  SimdLevel level = best_simd_level());
[[nodiscard]] LaneLoop1 unary_loop(isa::UnaryOp op, const isa::DType& type,
                                   SimdLevel level = best_simd_level());
[[nodiscard]] LaneLoop2 binary_loop(isa::BinaryOp op, const isa::DType& type,
                                    SimdLevel level = best_simd_level());

/// The part of unary_loop for functions.
[[nodiscard]] LaneLoop1 function_loop(isa::UnaryOp op, const isa::DType& type, SimdLevel level);

/// The part of binary_loop for powers.
[[nodiscard]] LaneLoop2 power_loop(const isa::DType& type, SimdLevel level);

/// The parts of unary_loop and binary_loop for approximations (isa/type/approximation.h).
[[nodiscard]] LaneLoop1 approximation_loop(isa::UnaryOp op, const isa::DType& type,
                                           SimdLevel level);
[[nodiscard]] LaneLoop2 quotient_loop(isa::BinaryOp op, SimdLevel level);

/// The parts of binary_loop for f8e8m0, by isa::apply: its codes leave no room for a sign, and it
/// has no subnormals to convert by.
[[nodiscard]] LaneLoop2 e8m0_loop(isa::BinaryOp op);

/// The parts of binary_loop for min, max and comparisons. `exchanged` turns less into greater.
[[nodiscard]] LaneLoop2 choice_loop(bool largest, const isa::DType& type, SimdLevel level);
[[nodiscard]] LaneLoop2 equal_loop(bool negate, const isa::DType& type, SimdLevel level);
[[nodiscard]] LaneLoop2 less_loop(bool or_equal, const isa::DType& type, SimdLevel level);
[[nodiscard]] LaneLoop2 exchanged(LaneLoop2 loop);

/// A loop on conditions (u1) and two operands of the type.
[[nodiscard]] LaneLoop3 where_loop(const isa::DType& type, SimdLevel level = best_simd_level());

/// a * b + c of a type that has it.
[[nodiscard]] LaneLoop3 fma_loop(const isa::DType& type, SimdLevel level = best_simd_level());

/// A function of codes as a loop: by table for at most 16 bits, otherwise by calls.
using CodeFunction = std::function<std::uint64_t(std::uint64_t)>;
[[nodiscard]] LaneLoop1 defined_loop(unsigned from_bits, unsigned to_bits, CodeFunction f);

}  // namespace tilevm::sim
