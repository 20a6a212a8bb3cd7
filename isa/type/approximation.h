// What PTX's approximate instructions give, to the bit: ex2, lg2, rcp, rsqrt, sqrt, sin, cos and
// tanh `.approx`, div.full and div.approx, as instructions on elements.
//
// A GPU's special function unit evaluates c0 + c1 x + c2 x^2 in integers, with coefficients by the
// leading bits of the argument (approximation_tables.h), a square whose low partial products are
// never added, and a result that is truncated. docs/reference/approximations.md describes each
// function, its errors, and the GPUs on which all arguments were compared.
#pragma once

#include <cstdint>

#include "isa/base/check.h"
#include "isa/type/dtype.h"
#include "isa/type/operations.h"

namespace tilevm::isa {

/// The least magnitude of an exact product that `.ftz` does not flush, 2^-126 - 2^-151: with an
/// exponent of any size it rounds to 2^-126.
inline constexpr double least_unflushed_product = 0x1.ffffffp-127;

/// The functions of the unit.
enum class ApproximateFunction : std::uint8_t { ex2, lg2, rcp, rsqrt, sqrt, sin, cos, tanh };

/// A function with or without `.ftz`.
struct ApproximateOperation {
  ApproximateFunction function;
  bool ftz;
};
/// The unit's operation for one of the class UnaryClass::approximation.
[[nodiscard]] constexpr ApproximateOperation approximate_operation(UnaryOp op) {
  switch (op) {
    case UnaryOp::ex2_approx:
      return {ApproximateFunction::ex2, false};
    case UnaryOp::ex2_approx_ftz:
      return {ApproximateFunction::ex2, true};
    case UnaryOp::lg2_approx:
      return {ApproximateFunction::lg2, false};
    case UnaryOp::lg2_approx_ftz:
      return {ApproximateFunction::lg2, true};
    case UnaryOp::rcp_approx:
      return {ApproximateFunction::rcp, false};
    case UnaryOp::rcp_approx_ftz:
      return {ApproximateFunction::rcp, true};
    case UnaryOp::rsqrt_approx:
      return {ApproximateFunction::rsqrt, false};
    case UnaryOp::rsqrt_approx_ftz:
      return {ApproximateFunction::rsqrt, true};
    case UnaryOp::sqrt_approx:
      return {ApproximateFunction::sqrt, false};
    case UnaryOp::sqrt_approx_ftz:
      return {ApproximateFunction::sqrt, true};
    case UnaryOp::sin_approx:
      return {ApproximateFunction::sin, false};
    case UnaryOp::sin_approx_ftz:
      return {ApproximateFunction::sin, true};
    case UnaryOp::cos_approx:
      return {ApproximateFunction::cos, false};
    case UnaryOp::cos_approx_ftz:
      return {ApproximateFunction::cos, true};
    case UnaryOp::tanh_approx:
      return {ApproximateFunction::tanh, false};
    case UnaryOp::neg:
    case UnaryOp::abs:
    case UnaryOp::exp2:
    case UnaryOp::exp:
    case UnaryOp::log2:
    case UnaryOp::log:
    case UnaryOp::sin:
    case UnaryOp::cos:
    case UnaryOp::tanh:
    case UnaryOp::sigmoid:
    case UnaryOp::sqrt:
    case UnaryOp::rsqrt:
    case UnaryOp::rcp:
    case UnaryOp::floor:
    case UnaryOp::ceil:
    case UnaryOp::round:
    case UnaryOp::trunc:
    case UnaryOp::erf:
    case UnaryOp::exp2_approximate:
      break;
  }
  TILEVM_CHECK(false, "no approximation");
}

/// A code of a type that has_approximation(op, type). A NaN result is 0x7fffffff, of 16 bits
/// 0x7fff, of 64 bits 0x7fffffff00000000.
[[nodiscard]] std::uint64_t apply_approximation(UnaryOp op, const DType& type, std::uint64_t code);

/// a / b of f32, by an operation of the class BinaryClass::quotient.
[[nodiscard]] std::uint64_t apply_quotient(BinaryOp op, std::uint64_t a, std::uint64_t b);

/// The function that an operation approximates, on numbers.
[[nodiscard]] auto unrounded_approximation(UnaryOp op) -> double (*)(double);

namespace approximation {

/// The square of 17 bits divided by 2^19. Partial products x_i x_j with i + j < 18 are left out.
[[nodiscard]] constexpr std::uint32_t truncated_square(std::uint32_t x) {
  std::uint64_t sum = 0;
  for (int i = 2; i < 17; ++i) {  // rows 0 and 1 have no column from 18 on
    const std::uint64_t kept = x >> (18 - i) << (18 - i);
    if ((x >> i & 1) != 0) sum += kept << i;
  }
  return static_cast<std::uint32_t>(sum >> 19);
}

}  // namespace approximation

}  // namespace tilevm::isa
