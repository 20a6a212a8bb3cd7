#include "isa/type/function.h"

#include <bit>
#include <cmath>

#include "isa/type/function_sequences.h"
#include "isa/type/number.h"

namespace tilevm::isa {
namespace {

float value(std::uint32_t bits) { return std::bit_cast<float>(bits); }
std::uint32_t bits(float value) { return std::bit_cast<std::uint32_t>(value); }

/// The host's arithmetic; std::fma is exact, on every processor.
struct Machine {
  static std::uint32_t add(std::uint32_t a, std::uint32_t b) { return bits(value(a) + value(b)); }
  static std::uint32_t sub(std::uint32_t a, std::uint32_t b) { return bits(value(a) - value(b)); }
  static std::uint32_t mul(std::uint32_t a, std::uint32_t b) { return bits(value(a) * value(b)); }
  static std::uint32_t div(std::uint32_t a, std::uint32_t b) { return bits(value(a) / value(b)); }
  static std::uint32_t fma(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
    return bits(std::fma(value(a), value(b), value(c)));
  }
  static std::uint32_t sqrt(std::uint32_t a) { return bits(std::sqrt(value(a))); }
  static bool less(std::uint32_t a, std::uint32_t b) { return value(a) < value(b); }
  static int leading_zeros(std::uint64_t x) { return std::countl_zero(x); }
};

std::uint32_t on_f32(UnaryOp op, std::uint32_t x) {
  switch (op) {
    case UnaryOp::exp2:
      return functions::exp2<Machine>(x);
    case UnaryOp::exp:
      return functions::exp<Machine>(x);
    case UnaryOp::log2:
      return functions::log2<Machine>(x);
    case UnaryOp::log:
      return functions::log<Machine>(x);
    case UnaryOp::sin:
      return functions::sin<Machine>(x);
    case UnaryOp::cos:
      return functions::cos<Machine>(x);
    case UnaryOp::tanh:
      return functions::tanh<Machine>(x);
    case UnaryOp::sigmoid:
      return functions::sigmoid<Machine>(x);
    case UnaryOp::sqrt:
      return functions::sqrt<Machine>(x);
    case UnaryOp::rsqrt:
      return functions::rsqrt<Machine>(x);
    default:
      return functions::rcp<Machine>(x);
  }
}

}  // namespace

std::uint64_t apply_function(UnaryOp op, const DType& type, std::uint64_t code) {
  if (type != f64) {
    const auto wide = static_cast<std::uint32_t>(cast(type, f32, code));
    return cast(f32, type, on_f32(op, wide));
  }
  const double x = std::bit_cast<double>(code);
  const double result = op == UnaryOp::sqrt ? std::sqrt(x) : 1.0 / x;
  return result != result ? canonical_nan(f64) : std::bit_cast<std::uint64_t>(result);
}

}  // namespace tilevm::isa
