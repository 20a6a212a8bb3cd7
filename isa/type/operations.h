// The operations of element-wise instructions: their names, their classes, and on which types they
// are defined. What they do to an element is in arith.h.
#pragma once

#include <cstdint>

#include "isa/base/check.h"
#include "isa/type/dtype.h"

namespace tilevm::isa {

enum class BinaryOp : std::uint8_t {
  add,
  sub,
  mul,
  div,
  mod,
  min,
  max,
  bit_and,
  bit_or,
  bit_xor,
  shl,
  shr,
  eq,
  ne,
  lt,
  le,
  gt,
  ge,
  pow,
  div_full,
  div_full_ftz,
  div_approx,
  div_approx_ftz,
};

enum class UnaryOp : std::uint8_t {
  neg,
  abs,
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
  floor,
  ceil,
  round,  ///< rounding to the nearest integer, ties to even
  trunc,
  erf,
  exp2_approximate,
  ex2_approx,
  ex2_approx_ftz,
  lg2_approx,
  lg2_approx_ftz,
  rcp_approx,
  rcp_approx_ftz,
  rsqrt_approx,
  rsqrt_approx_ftz,
  sqrt_approx,
  sqrt_approx_ftz,
  sin_approx,
  sin_approx_ftz,
  cos_approx,
  cos_approx_ftz,
  tanh_approx,
};

/// What an operation of two operands is; decides where it is defined and what its result is.
enum class BinaryClass : std::uint8_t {
  arithmetic,
  choice,      ///< gives one of the operands
  bit_by_bit,  ///< each bit of the result comes from the same bits of the operands
  shift,
  comparison,
  power,     ///< power of floats, computed in f32 (isa/type/function_sequences.h)
  quotient,  ///< what a PTX instruction gives for a / b (isa/type/approximation.h)
};
[[nodiscard]] constexpr BinaryClass class_of(BinaryOp op) {
  switch (op) {
    case BinaryOp::add:
    case BinaryOp::sub:
    case BinaryOp::mul:
    case BinaryOp::div:
    case BinaryOp::mod:
      return BinaryClass::arithmetic;
    case BinaryOp::min:
    case BinaryOp::max:
      return BinaryClass::choice;
    case BinaryOp::bit_and:
    case BinaryOp::bit_or:
    case BinaryOp::bit_xor:
      return BinaryClass::bit_by_bit;
    case BinaryOp::shl:
    case BinaryOp::shr:
      return BinaryClass::shift;
    case BinaryOp::eq:
    case BinaryOp::ne:
    case BinaryOp::lt:
    case BinaryOp::le:
    case BinaryOp::gt:
    case BinaryOp::ge:
      return BinaryClass::comparison;
    case BinaryOp::pow:
      return BinaryClass::power;
    case BinaryOp::div_full:
    case BinaryOp::div_full_ftz:
    case BinaryOp::div_approx:
    case BinaryOp::div_approx_ftz:
      return BinaryClass::quotient;
  }
  TILEVM_NO_ENUMERATOR();
}

[[nodiscard]] constexpr bool is_bit_by_bit(BinaryOp op) {
  return class_of(op) == BinaryClass::bit_by_bit;
}
[[nodiscard]] constexpr bool is_bitwise(BinaryOp op) {
  return is_bit_by_bit(op) || class_of(op) == BinaryClass::shift;
}
[[nodiscard]] constexpr bool is_comparison(BinaryOp op) {
  return class_of(op) == BinaryClass::comparison;
}

/// What an operation of one operand is.
enum class UnaryClass : std::uint8_t {
  negation,
  magnitude,
  function,       ///< function of floats, computed in f32 (function.h)
  ieee_function,  ///< function that IEEE 754 rounds correctly, on f64 as well
  integral,       ///< integer near a float's value
  approximation,  ///< what a PTX instruction `.approx` gives (isa/type/approximation.h)
};
[[nodiscard]] constexpr UnaryClass class_of(UnaryOp op) {
  switch (op) {
    case UnaryOp::neg:
      return UnaryClass::negation;
    case UnaryOp::abs:
      return UnaryClass::magnitude;
    case UnaryOp::exp2:
    case UnaryOp::exp:
    case UnaryOp::log2:
    case UnaryOp::log:
    case UnaryOp::sin:
    case UnaryOp::cos:
    case UnaryOp::tanh:
    case UnaryOp::sigmoid:
    case UnaryOp::rsqrt:
    case UnaryOp::erf:
    case UnaryOp::exp2_approximate:
      return UnaryClass::function;
    case UnaryOp::sqrt:
    case UnaryOp::rcp:
      return UnaryClass::ieee_function;
    case UnaryOp::floor:
    case UnaryOp::ceil:
    case UnaryOp::round:
    case UnaryOp::trunc:
      return UnaryClass::integral;
    case UnaryOp::ex2_approx:
    case UnaryOp::ex2_approx_ftz:
    case UnaryOp::lg2_approx:
    case UnaryOp::lg2_approx_ftz:
    case UnaryOp::rcp_approx:
    case UnaryOp::rcp_approx_ftz:
    case UnaryOp::rsqrt_approx:
    case UnaryOp::rsqrt_approx_ftz:
    case UnaryOp::sqrt_approx:
    case UnaryOp::sqrt_approx_ftz:
    case UnaryOp::sin_approx:
    case UnaryOp::sin_approx_ftz:
    case UnaryOp::cos_approx:
    case UnaryOp::cos_approx_ftz:
    case UnaryOp::tanh_approx:
      return UnaryClass::approximation;
  }
  TILEVM_NO_ENUMERATOR();
}
[[nodiscard]] constexpr bool is_function(UnaryOp op) {
  return class_of(op) == UnaryClass::function || class_of(op) == UnaryClass::ieee_function;
}

/// Whether an operation is defined on elements of a type: none on bipolar integers, whose sums are
/// no bipolar integers; bitwise ones on integers only; powers on floats of at most 32 bits;
/// approximate quotients on f32.
[[nodiscard]] constexpr bool is_defined(BinaryOp op, const DType& type) {
  if (class_of(op) == BinaryClass::power) return type.is_float() && type.bits <= 32;
  if (class_of(op) == BinaryClass::quotient) return type == f32;
  return is_bitwise(op) ? type.is_integer() : !type.is_bipolar();
}
/// The types of which PTX has an instruction: f32 always, and of 16 and 64 bits some.
[[nodiscard]] constexpr bool has_approximation(UnaryOp op, const DType& type) {
  if (type == f16) return op == UnaryOp::ex2_approx || op == UnaryOp::tanh_approx;
  if (type == bf16) return op == UnaryOp::ex2_approx_ftz || op == UnaryOp::tanh_approx;
  if (type == f64) return op == UnaryOp::rcp_approx_ftz || op == UnaryOp::rsqrt_approx_ftz;
  return type == f32;
}

/// Signs change on all types but bipolar integers. Functions are defined on floats of at most 32
/// bits, those that IEEE 754 rounds on f64 as well.
[[nodiscard]] constexpr bool is_defined(UnaryOp op, const DType& type) {
  switch (class_of(op)) {
    case UnaryClass::negation:
    case UnaryClass::magnitude:
      return !type.is_bipolar();
    case UnaryClass::function:
      return type.is_float() && type.bits <= 32;
    case UnaryClass::ieee_function:
    case UnaryClass::integral:
      return type.is_float();
    case UnaryClass::approximation:
      return has_approximation(op, type);
  }
  TILEVM_NO_ENUMERATOR();
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
