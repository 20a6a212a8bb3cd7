#include "isa/type/function.h"

#include <bit>
#include <cmath>

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

}  // namespace

std::uint64_t apply_function(UnaryOp op, const DType& type, std::uint64_t code) {
  return with_function(op, [&]<class F>(F) {
    if (type != f64) {
      const auto wide = static_cast<std::uint32_t>(cast(type, f32, code));
      return cast(f32, type, F::template f32<Machine>(wide));
    }
    const double result = F::real(std::bit_cast<double>(code));
    return result != result ? canonical_nan(f64) : std::bit_cast<std::uint64_t>(result);
  });
}

std::uint64_t apply_power(const DType& type, std::uint64_t a, std::uint64_t b) {
  const auto wide = [&](std::uint64_t code) {
    return static_cast<std::uint32_t>(cast(type, f32, code));
  };
  return cast(f32, type, functions::pow<Machine>(wide(a), wide(b)));
}

}  // namespace tilevm::isa
