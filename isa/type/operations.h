// The operations of element-wise instructions: their names, their classes, and on which types they
// are defined. What they do to an element is in arith.h.
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

/// Whether a divisor of zero is a fault: quotients and remainders of integers.
[[nodiscard]] constexpr bool faults_on_zero(BinaryOp op, const DType& type) {
  return (op == BinaryOp::div || op == BinaryOp::mod) && type.is_integer();
}

/// Whether GPUs multiply and add elements of a type with one rounding.
[[nodiscard]] constexpr bool has_fma(const DType& type) {
  if (type.is_integer()) return type.bits >= 32;
  return type == f16 || type == bf16 || type == f32 || type == f64;
}
}  // namespace tilevm::isa
