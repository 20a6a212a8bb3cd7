#include "isa/type/approximation.h"

#include <bit>
#include <cmath>

#include "isa/base/check.h"
#include "isa/type/approximation_tables.h"
#include "isa/type/number.h"

namespace tilevm::isa {
namespace approximation {
namespace {

using Bits = std::uint32_t;

constexpr Bits sign_bit = 0x80000000U, infinity = 0x7f800000U, nan_bits = 0x7fffffffU;
constexpr Bits one = 0x3f800000U, two_to_24 = 0x4b800000U, quarter = 0x3e800000U;

float value(Bits bits) { return std::bit_cast<float>(bits); }
Bits bits_of(float value) { return std::bit_cast<Bits>(value); }

Bits sign(Bits x) { return x & sign_bit; }
Bits magnitude(Bits x) { return x & ~sign_bit; }
bool is_nan(Bits x) { return magnitude(x) > infinity; }
bool is_subnormal(Bits x) { return (x & infinity) == 0 && magnitude(x) != 0; }
Bits fraction(Bits x) { return x & 0x7fffffU; }
/// Without the bias. Subnormal numbers count as 0.
int exponent(Bits x) { return static_cast<int>(x >> 23 & 255) - 127; }

// IEEE operations around the unit: to nearest even, subnormals kept.
Bits mul(Bits a, Bits b) {
  const float product = value(a) * value(b);
  return product != product ? nan_bits : bits_of(product);
}
Bits sub(Bits a, Bits b) { return bits_of(value(a) - value(b)); }

Bits flushed(Bits x) { return (x & infinity) == 0 ? sign(x) : x; }
/// A product is flushed if it is subnormal once rounded to 24 bits with an exponent of any size. An
/// H100 decides so in all of 8.6e9 quotients; rounding to a subnormal first differs in 12 of them.
Bits mul_ftz(Bits a, Bits b) {
  const Bits x = flushed(a), y = flushed(b), product = mul(x, y);
  const double exact = static_cast<double>(value(x)) * value(y);
  return std::fabs(exact) < least_unflushed_product ? sign(product) : product;
}

// ---- The special function unit ------------------------------------------------------------------

/// c0 2^s0 + c1 x + c2 2^s2 x^2 with the signs of a function.
struct Quadratic {
  int s0, sign1, sign2, s2;

  [[nodiscard]] std::int64_t at(const Segment& c, std::int64_t x, Bits square) const {
    const std::int64_t constant = std::int64_t{c.c0} << s0;
    const std::int64_t curve = (std::int64_t{c.c2} << s2) * truncated_square(square);
    return constant + sign1 * std::int64_t{c.c1} * x + sign2 * curve;
  }
};

/// significand 2^exponent of 24 bits, of which 2^24 is one bit more.
Bits assembled(Bits sign, int exponent, std::int64_t significand) {
  const bool carry = significand == 1 << 24;
  const int biased = exponent + 127 + (carry ? 1 : 0);
  if (biased <= 0) return sign;
  if (biased >= 255) return sign | infinity;
  const Bits low = carry ? 0 : fraction(static_cast<Bits>(significand));
  return sign | static_cast<Bits>(biased) << 23 | low;
}

/// v / 2^point, truncated to 24 bits.
Bits truncated(Bits sign, std::uint64_t v, int point) {
  if (v == 0) return sign;
  const int top = static_cast<int>(std::bit_width(v)) - 1;
  const std::uint64_t significand = top >= 23 ? v >> (top - 23) : v << (23 - top);
  return assembled(sign, top - point, static_cast<std::int64_t>(significand));
}

/// The significand of 1 / x of 24 bits, for the fraction of x.
std::int64_t reciprocal_significand(Bits f) {
  constexpr Quadratic q{13, -1, 1, 0};
  const Bits x = f & 0xffffU;
  return (q.at(rcp_table[f >> 16], x, x << 1) + 0x47e7) >> 15;
}

Bits unit_rcp(Bits x) {
  if (is_nan(x)) return nan_bits;
  if ((x & infinity) == 0) return sign(x) | infinity;
  if ((x & infinity) == infinity) return sign(x);
  return assembled(sign(x), -1 - exponent(x), reciprocal_significand(fraction(x)));
}

/// An argument of a root: 4^half g with the fixed-point number g in [1, 4) (without its first bit).
struct RootArgument {
  int half;
  Bits g;
};
RootArgument root_argument(int exponent, Bits fraction) {
  return {exponent >> 1, fraction | static_cast<Bits>(exponent & 1) << 23};
}

std::int64_t root_reciprocal_significand(Bits g) {
  constexpr Quadratic q{14, -1, 1, 2};
  const Bits x = g & 0x1ffffU;
  return (q.at(rsqrt_table[g >> 17], x, x) + 0x7fff) >> 16;
}

Bits unit_rsqrt(Bits x) {
  if (is_nan(x)) return nan_bits;
  if ((x & infinity) == 0) return sign(x) | infinity;
  if (sign(x) != 0) return nan_bits;
  if (x == infinity) return 0;
  const auto [half, g] = root_argument(exponent(x), fraction(x));
  if (g == 0) return static_cast<Bits>(127 - half) << 23;
  return assembled(0, -1 - half, root_reciprocal_significand(g));
}

Bits unit_sqrt(Bits x) {
  if (is_nan(x)) return nan_bits;
  if ((x & infinity) == 0) return sign(x);
  if (sign(x) != 0) return nan_bits;
  if (x == infinity) return infinity;
  const auto [half, g] = root_argument(exponent(x), fraction(x));
  constexpr Quadratic even{15, 1, -1, 1}, odd{15, 2, -1, 1};
  const Bits low = g & 0x1ffffU;
  const Quadratic& q = g >> 23 != 0 ? odd : even;
  const std::int64_t v = q.at(sqrt_table[g >> 17], low, low) + 0x7fff;
  return assembled(0, half, v >> 17);
}

/// floor(|x| 2^point) of a finite number, modulo 2^32.
Bits fixed_point(Bits x, int point) {
  if ((x & infinity) == 0) return 0;
  const int shift = exponent(x) - 23 + point;
  const Bits significand = fraction(x) | 0x800000U;
  if (shift >= 0) return shift < 32 ? significand << shift : 0;
  return shift > -32 ? significand >> -shift : 0;
}

Bits unit_ex2(Bits x) {
  if (is_nan(x)) return nan_bits;
  if (exponent(x) >= 8) return sign(x) != 0 ? 0 : infinity;
  const Bits distance = fixed_point(x, 23);
  // The one's complement, of integers the two's.
  const bool is_whole = fraction(distance) == 0;
  const Bits fixed = sign(x) == 0 ? distance : ~distance + (is_whole ? 1 : 0);
  constexpr Quadratic q{13, 1, 1, 0};
  const Bits f = fraction(fixed), low = f & 0x1ffffU;
  const std::int64_t v = q.at(ex2_table[f >> 17], low, low) + 0x77e2;
  return assembled(0, static_cast<std::int32_t>(fixed) >> 23, v >> 15);
}

Bits unit_lg2(Bits x) {
  if (is_nan(x)) return nan_bits;
  if ((x & infinity) == 0) return sign_bit | infinity;
  if (sign(x) != 0) return nan_bits;
  if (x == infinity || x == one) return x == one ? 0 : infinity;
  constexpr Quadratic q{12, 1, -1, 1};
  const Bits f = fraction(x), low = f & 0x1ffffU;
  const std::int64_t part = (q.at(lg2_table[f >> 17], low, low) + 0x3345) >> 2;
  const std::int64_t v = part + std::int64_t{exponent(x)} * (std::int64_t{1} << 36);
  return v < 0 ? truncated(sign_bit, static_cast<std::uint64_t>(~v), 36)
               : truncated(0, static_cast<std::uint64_t>(v), 36);
}

/// x / (2 pi), truncated to 24 bits: the multiplication before the unit.
Bits turns(Bits x) {
  if ((x & infinity) == 0) return sign(x);
  constexpr std::uint64_t factor = 0xa2f983;  // 1 / (2 pi) is 0x3e22f983
  const std::uint64_t product = (fraction(x) | 0x800000U) * factor;
  return truncated(sign(x), product, 23 + 26 - exponent(x));
}

/// The sine of x, or of x + 1/4 of a turn.
Bits unit_wave(Bits x, bool cosine) {
  if ((x & infinity) == infinity) return nan_bits;
  const Bits fixed = fixed_point(turns(x), 25);
  const Bits quadrant = (fixed >> 23 & 3) + (cosine ? 1 : 0);
  const Bits f = (quadrant & 1) != 0 ? fraction(~fixed) : fraction(fixed), low = f & 0x1ffffU;
  const Bits negative = (cosine ? 0 : sign(x)) ^ ((quadrant & 2) != 0 ? sign_bit : 0);
  constexpr Quadratic q{11, 1, -1, 0};
  const std::int64_t v = q.at(sin_table[f >> 17], low, low);
  return truncated(negative, static_cast<std::uint64_t>(v), 37);
}

Bits unit_tanh(Bits x) {
  if (is_nan(x)) return nan_bits;
  const int e = exponent(x);
  if (e < -8) return x;
  if (e >= 3) return sign(x) | one;
  // For each binade: the bits behind the point that the unit reads, and its first segment.
  constexpr std::uint8_t points[] = {25, 24, 23, 23, 22, 22, 21, 20, 20, 20, 18};
  constexpr std::uint8_t firsts[] = {0, 1, 2, 3, 5, 7, 11, 15, 19, 27, 43};
  const int point = points[e + 8];
  const Bits f = fraction(x) >> (23 - e - point), low = f & 0x1ffffU;
  const Quadratic q{point - 5, 1, -1, 0};
  const std::int64_t v = q.at(tanh_table[firsts[e + 8] + (f >> 17)], low, low);
  return truncated(sign(x), static_cast<std::uint64_t>(v), point + 19);
}

// ---- f32: without `.ftz` the argument and the result are scaled ---------------------------------

Bits rcp(Bits x) {
  const bool is_large = magnitude(x) > 0x7e800000U;  // its reciprocal is subnormal
  const Bits scale = is_subnormal(x) ? two_to_24 : is_large ? quarter : one;
  return mul(unit_rcp(mul(x, scale)), scale);
}

Bits rsqrt(Bits x) {
  return is_subnormal(x) ? mul(unit_rsqrt(mul(x, two_to_24)), bits_of(4096.0F)) : unit_rsqrt(x);
}

Bits sqrt(Bits x) {
  return is_subnormal(x) ? mul(unit_sqrt(mul(x, two_to_24)), bits_of(1 / 4096.0F)) : unit_sqrt(x);
}

Bits lg2(Bits x) {
  if (!is_subnormal(x) || sign(x) != 0)
    return sign(x) != 0 && is_subnormal(x) ? nan_bits : unit_lg2(x);
  return sub(unit_lg2(mul(x, two_to_24)), bits_of(24.0F));
}

Bits ex2(Bits x) {
  if (is_nan(x) || value(x) >= -126.0F) return unit_ex2(x);
  const Bits root = unit_ex2(mul(x, bits_of(0.5F)));
  return mul(root, root);
}

Bits apply_f32(UnaryOp op, Bits x) {
  const auto [function, ftz] = approximate_operation(op);
  switch (function) {
    case ApproximateFunction::ex2:
      return ftz ? unit_ex2(x) : ex2(x);
    case ApproximateFunction::lg2:
      return ftz ? unit_lg2(x) : lg2(x);
    case ApproximateFunction::rcp:
      return ftz ? unit_rcp(x) : rcp(x);
    case ApproximateFunction::rsqrt:
      return ftz ? unit_rsqrt(x) : rsqrt(x);
    case ApproximateFunction::sqrt:
      return ftz ? unit_sqrt(x) : sqrt(x);
    case ApproximateFunction::sin:
      return unit_wave(x, false);
    case ApproximateFunction::cos:
      return unit_wave(x, true);
    case ApproximateFunction::tanh:
      return unit_tanh(x);
  }
  TILEVM_NO_ENUMERATOR();
}

// ---- Other types --------------------------------------------------------------------------------

/// The upper 32 bits of f64; the fraction has 20 bits, of which the unit reads all.
Bits upper_rcp(Bits x) {
  const int biased = static_cast<int>(x >> 20 & 2047);
  const Bits f = (x & 0xfffffU) << 3;
  if (biased == 2047) return f != 0 ? nan_bits : sign(x);
  if (biased == 0) return sign(x) | 0x7ff00000U;
  const std::int64_t significand = reciprocal_significand(f);
  const int result = 2045 - biased + (significand == 1 << 24 ? 1 : 0);
  if (result <= 0) return sign(x);
  return sign(x) | static_cast<Bits>(result) << 20 |
         (static_cast<Bits>(significand) >> 3 & 0xfffffU);
}

Bits upper_rsqrt(Bits x) {
  const int biased = static_cast<int>(x >> 20 & 2047);
  const Bits f = (x & 0xfffffU) << 3;
  if (biased == 2047 && f != 0) return nan_bits;
  if (biased == 0) return sign(x) | 0x7ff00000U;
  if (sign(x) != 0) return nan_bits;
  if (biased == 2047) return 0;
  const auto [half, g] = root_argument(biased - 1023, f);
  if (g == 0) return static_cast<Bits>(1023 - half) << 20;
  const std::int64_t significand = root_reciprocal_significand(g);
  const int result = 1022 - half + (significand == 1 << 24 ? 1 : 0);
  return static_cast<Bits>(result) << 20 | (static_cast<Bits>(significand) >> 3 & 0xfffffU);
}

/// Toward zero, from 2^16 on to Inf.
std::uint64_t truncated_to_f16(Bits x) {
  const Bits negative = x >> 16 & 0x8000U;
  if (is_nan(x)) return 0x7fffU;
  const int biased = exponent(x) + 15;
  if (biased >= 31) return negative | 0x7c00U;
  const Bits significand = fraction(x) | 0x800000U;
  if (biased > 0) return negative | static_cast<Bits>(biased) << 10 | fraction(x) >> 13;
  return negative | (biased > -11 ? significand >> (14 - biased) : 0);
}

std::uint64_t on_type(UnaryOp op, const DType& type, std::uint64_t code) {
  if (type == f64) {
    const auto upper = static_cast<Bits>(code >> 32);
    const bool root = op == UnaryOp::rsqrt_approx_ftz;
    return std::uint64_t{root ? upper_rsqrt(upper) : upper_rcp(upper)} << 32;
  }
  if (type == bf16) {
    const Bits result = apply_f32(op, static_cast<Bits>(code & 0xffffU) << 16);
    return is_nan(result) ? 0x7fffU : result >> 16;
  }
  if (type == f16) {
    return truncated_to_f16(apply_f32(op, static_cast<Bits>(cast(f16, f32, code))));
  }
  return apply_f32(op, static_cast<Bits>(code));
}

std::uint64_t quotient(BinaryOp op, std::uint64_t a, std::uint64_t b) {
  auto x = static_cast<Bits>(a), y = static_cast<Bits>(b);
  const bool ftz = op == BinaryOp::div_full_ftz || op == BinaryOp::div_approx_ftz;
  const bool full = op == BinaryOp::div_full || op == BinaryOp::div_full_ftz;
  const auto times = ftz ? mul_ftz : mul;
  const auto scale_both = [&](Bits factor) {
    x = times(x, factor);
    y = times(y, factor);
  };
  if (full && magnitude(y) > 0x7e800000U && !is_nan(y)) {
    scale_both(quarter);
  } else if (!ftz && (y & infinity) == 0) {
    scale_both(two_to_24);
  }
  return times(unit_rcp(y), x);
}

}  // namespace
}  // namespace approximation

std::uint64_t apply_approximation(UnaryOp op, const DType& type, std::uint64_t code) {
  return approximation::on_type(op, type, code);
}

std::uint64_t apply_quotient(BinaryOp op, std::uint64_t a, std::uint64_t b) {
  return approximation::quotient(op, a, b);
}

auto unrounded_approximation(UnaryOp op) -> double (*)(double) {
  switch (approximate_operation(op).function) {
    case ApproximateFunction::ex2:
      return [](double x) { return std::exp2(x); };
    case ApproximateFunction::lg2:
      return [](double x) { return std::log2(x); };
    case ApproximateFunction::rcp:
      return [](double x) { return 1 / x; };
    case ApproximateFunction::rsqrt:
      return [](double x) { return 1 / std::sqrt(x); };
    case ApproximateFunction::sqrt:
      return [](double x) { return std::sqrt(x); };
    case ApproximateFunction::sin:
      return [](double x) { return std::sin(x); };
    case ApproximateFunction::cos:
      return [](double x) { return std::cos(x); };
    case ApproximateFunction::tanh:
      return [](double x) { return std::tanh(x); };
  }
  TILEVM_NO_ENUMERATOR();
}

}  // namespace tilevm::isa
