// Element arithmetic: Add, Sub, Mul, Div, Mod, Neg on every type, bit for bit as the GPU gives it.
//
// f32 and f64: IEEE round to nearest even, subnormals kept. f16, bf16: computed in f32 and rounded
// once (the exact result rounded, for + - * /). Integers of 32 and 64 bits wrap. Every narrower
// type, and tf32, is converted to its standard type (i32, u32 or f32), operated on, and cast back
// (the paper's section 7.1). A NaN result is canonical: 0x7fffffff, 0x7fff, f64 0x7fffffffffffffff.
//
// The quotient of integers truncates, the remainder has the sign of the dividend; the least value
// divided by -1 is itself, with remainder 0. The remainder of floats is a - b * trunc(a / b),
// exactly; NaN where b is 0 or a infinite.
#pragma once

#include <cstdint>
#include <string_view>

#include "isa/type/dtype.h"

namespace tilevm::isa {

enum class BinaryOp : std::uint8_t { add, sub, mul, div, mod };
enum class UnaryOp : std::uint8_t { neg };

/// The type in which arithmetic on `type` happens: i32 u32 i64 u64 f32 f64, or f16, bf16
/// themselves.
[[nodiscard]] DType compute_type(const DType& type);

/// Whether a divisor of zero is a fault: quotients and remainders of integers.
[[nodiscard]] constexpr bool faults_on_zero(BinaryOp op, const DType& type) {
  return (op == BinaryOp::div || op == BinaryOp::mod) && type.is_integer();
}

/// One element; the result is a code of `type`. Where faults_on_zero, the result for a divisor of
/// zero is 0: the engines fault before.
[[nodiscard]] std::uint64_t apply(BinaryOp op, const DType& type, std::uint64_t a, std::uint64_t b);

/// Negation: integers wrap; floats flip the sign bit, NaN becomes canonical; types without a
/// negative value or without a sign bit convert, negate and cast back.
[[nodiscard]] std::uint64_t apply(UnaryOp op, const DType& type, std::uint64_t a);

}  // namespace tilevm::isa
