// What element-wise instructions do to one element, on every type, bit for bit as the GPU gives it.
//
// Arithmetic. f32 and f64: IEEE round to nearest even, subnormals kept. f16, bf16: computed in f32
// and rounded once (the exact result rounded, for + - * /). Integers of 32 and 64 bits wrap. Every
// narrower type, and tf32, is converted to its standard type (i32, u32 or f32), operated on, and
// cast back (the paper's section 7.1). A NaN result is canonical: 0x7fffffff, 0x7fff, f64
// 0x7fffffffffffffff.
//
// The quotient of integers truncates, the remainder has the sign of the dividend; the least value
// divided by -1 is itself, with remainder 0. The remainder of floats is a - b * trunc(a / b),
// exactly; NaN where b is 0 or a infinite.
//
// Min and max give one of the elements: -0 is less than +0, a NaN loses against a number (IEEE
// 754-2019 minimumNumber; PTX min, max). Comparisons give a code of u1; -0 equals +0, and with a
// NaN only `ne` holds. Bitwise operations and shifts are those of integers; a shift count is a code
// read as unsigned, and at the width of the type and beyond shifts everything out.
#pragma once

#include <cstdint>

#include "isa/type/dtype.h"

namespace tilevm::isa {

enum class BinaryOp : std::uint8_t {
  // arithmetic
  add,
  sub,
  mul,
  div,
  mod,
  // one of the two
  min,
  max,
  // on the bits of integers
  bit_and,
  bit_or,
  bit_xor,
  shl,
  shr,
  // comparisons
  eq,
  ne,
  lt,
  le,
  gt,
  ge,
};
enum class UnaryOp : std::uint8_t {
  neg,
  abs,
  // functions of floats
  exp2,
  exp,
  log2,
  log,
  sin,
  cos,
  tanh,
  sigmoid,
  sqrt,
  rsqrt,
  rcp,
};

[[nodiscard]] constexpr bool is_bitwise(BinaryOp op) {
  return op >= BinaryOp::bit_and && op <= BinaryOp::shr;
}
/// Whether each bit of the result comes from the same bits of the operands: no shifts.
[[nodiscard]] constexpr bool is_bit_by_bit(BinaryOp op) {
  return op >= BinaryOp::bit_and && op <= BinaryOp::bit_xor;
}
[[nodiscard]] constexpr bool is_comparison(BinaryOp op) { return op >= BinaryOp::eq; }

/// Whether an operation is defined on elements of a type: none on bipolar integers, whose sums are
/// no bipolar integers; bitwise ones on integers only.
[[nodiscard]] constexpr bool is_defined(BinaryOp op, const DType& type) {
  return is_bitwise(op) ? type.is_integer() : !type.is_bipolar();
}
[[nodiscard]] constexpr bool is_function(UnaryOp op) { return op >= UnaryOp::exp2; }
/// Functions are defined on floats of at most 32 bits; of f64, those that IEEE 754 rounds.
[[nodiscard]] constexpr bool is_defined(UnaryOp op, const DType& type) {
  if (!is_function(op)) return !type.is_bipolar();
  return type.is_float() && (type.bits <= 32 || op == UnaryOp::sqrt || op == UnaryOp::rcp);
}

/// The type of the result: u1 of comparisons, else the operands'.
[[nodiscard]] constexpr DType result_type(BinaryOp op, const DType& type) {
  return is_comparison(op) ? u1 : type;
}

/// The type in which arithmetic on `type` happens: i32 u32 i64 u64 f32 f64, or f16, bf16
/// themselves.
[[nodiscard]] DType compute_type(const DType& type);

/// Whether a divisor of zero is a fault: quotients and remainders of integers.
[[nodiscard]] constexpr bool faults_on_zero(BinaryOp op, const DType& type) {
  return (op == BinaryOp::div || op == BinaryOp::mod) && type.is_integer();
}

/// One element; the result is a code of result_type(op, type). Where faults_on_zero, the result for
/// a divisor of zero is 0: the engines fault before.
[[nodiscard]] std::uint64_t apply(BinaryOp op, const DType& type, std::uint64_t a, std::uint64_t b);

/// Whether GPUs multiply and add elements of a type with one rounding.
[[nodiscard]] constexpr bool has_fma(const DType& type) {
  if (type.is_integer()) return type.bits >= 32;
  return type == f16 || type == bf16 || type == f32 || type == f64;
}
/// a * b + c, rounded once; integers wrap. Of types that have it.
[[nodiscard]] std::uint64_t apply_fma(const DType& type, std::uint64_t a, std::uint64_t b,
                                      std::uint64_t c);

/// Functions: the sequences of isa/type/function_sequences.h on f32, of other types by way of f32.
/// f64: rounded correctly. Negation and absolute value: integers wrap; floats flip or clear the
/// sign bit, NaN becomes canonical; bipolar integers are symmetric.
[[nodiscard]] std::uint64_t apply(UnaryOp op, const DType& type, std::uint64_t a);

}  // namespace tilevm::isa
