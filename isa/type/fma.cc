#include "isa/type/fma.h"

#include <bit>
#include <cmath>
#include <utility>

#include "isa/type/bits.h"
#include "isa/type/number.h"

namespace tilevm::isa {
namespace {

using Class = Number::Class;

/// On codes of f32 or f64, which the host rounds once; GPUs give another NaN.
template <class Float, class Bits>
std::uint64_t on_host(const DType& type, std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  const auto value = [](std::uint64_t code) {
    return std::bit_cast<Float>(static_cast<Bits>(code));
  };
  const Float result = std::fma(value(a), value(b), value(c));
  return result != result ? canonical_nan(type) : std::bit_cast<Bits>(result);
}

/// The product of two numbers of 11 bits or fewer, exactly.
Number product(const Number& a, const Number& b) {
  const bool negative = a.negative != b.negative;
  if (a.is_nan() || b.is_nan()) return {Class::nan, false, 0, 0};
  if (a.is_inf() || b.is_inf()) {
    return {a.is_zero() || b.is_zero() ? Class::nan : Class::infinity, negative, 0, 0};
  }
  return {Class::finite, negative, a.significand * b.significand, a.exponent + b.exponent};
}

/// The sum of two finite numbers of 22 bits or fewer. A number that is far smaller becomes 1 in the
/// last bit: rounding needs only the side of the larger number on which the sum is.
Number finite_sum(Number large, Number small) {
  if (large.is_zero() || (!small.is_zero() && small.exponent > large.exponent)) {
    std::swap(large, small);
  }
  if (large.is_zero()) return {Class::finite, large.negative && small.negative, 0, 0};
  constexpr int room = 40;  // 62 bits
  const int distance = small.is_zero() ? 0 : large.exponent - small.exponent;
  const bool far = distance > room;
  const int shift = far ? room : distance;
  const auto one = static_cast<std::int64_t>(large.significand << shift);
  const auto other = far ? std::int64_t{1} : static_cast<std::int64_t>(small.significand);
  const std::int64_t sum = (large.negative ? -one : one) + (small.negative ? -other : other);
  if (sum == 0) return {Class::finite, large.negative && small.is_zero(), 0, 0};
  const bool negative = sum < 0;
  return {Class::finite, negative, static_cast<std::uint64_t>(negative ? -sum : sum),
          large.exponent - shift};
}

Number sum_of(const Number& a, const Number& b) {
  const bool opposite = a.is_inf() && b.is_inf() && a.negative != b.negative;
  if (a.is_nan() || b.is_nan() || opposite) return {Class::nan, false, 0, 0};
  if (a.is_inf()) return a;
  return b.is_inf() ? b : finite_sum(a, b);
}

}  // namespace

std::uint64_t apply_fma(const DType& type, std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  if (type.is_integer()) return (a * b + c) & low_mask(type.bits);
  if (type == f32) return on_host<float, std::uint32_t>(type, a, b, c);
  if (type == f64) return on_host<double, std::uint64_t>(type, a, b, c);
  return encode(type, sum_of(product(decode(type, a), decode(type, b)), decode(type, c)));
}

}  // namespace tilevm::isa
