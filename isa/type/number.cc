#include "isa/type/number.h"

#include <algorithm>
#include <bit>

#include "isa/base/check.h"
#include "isa/type/bits.h"

namespace tilevm::isa {
namespace {

/// Bit position of the sign in a float's code without the unused low bits; of a type without a sign
/// the position above the code.
unsigned sign_position(const DType& type) {
  return type.exponent_bits + unsigned{type.mantissa_bits};
}

std::uint64_t exponent_ones(const DType& type) {
  return low_mask(type.exponent_bits) << type.mantissa_bits;
}

/// The greatest code of a finite value, without sign and unused low bits.
std::uint64_t max_magnitude(const DType& type) {
  const std::uint64_t all = low_mask(sign_position(type));
  switch (type.specials()) {
    case Specials::ieee:
      return exponent_ones(type) - 1;
    case Specials::nan:
      return all - 1;
    case Specials::finite:
      break;
  }
  return all;
}

std::uint64_t float_code(const DType& type, bool negative, std::uint64_t magnitude) {
  const std::uint64_t sign = std::uint64_t{negative && type.has_sign()} << sign_position(type);
  return (sign | magnitude) << type.unused_bits();
}

Number decode_float(const DType& type, std::uint64_t bits) {
  const std::uint64_t code = (bits & low_mask(type.bits)) >> type.unused_bits();
  const std::uint64_t magnitude = code & low_mask(sign_position(type));
  Number value;
  value.negative = (code >> sign_position(type)) != 0;
  if (magnitude > max_magnitude(type)) {
    const bool inf = type.specials() == Specials::ieee && magnitude == exponent_ones(type);
    value.cls = inf ? Number::Class::infinity : Number::Class::nan;
    return value;
  }
  const auto field = static_cast<int>(magnitude >> type.mantissa_bits);
  value.significand = magnitude & low_mask(type.mantissa_bits);
  if (field != 0 || !type.has_zero()) value.significand |= std::uint64_t{1} << type.mantissa_bits;
  value.exponent = std::max(field - type.bias(), type.least_exponent()) - type.mantissa_bits;
  return value;
}

Number decode_integer(bool is_signed, unsigned n, std::uint64_t bits) {
  bits &= low_mask(n);
  Number value;
  value.negative = is_signed && (bits >> (n - 1)) != 0;
  value.significand = value.negative ? (std::uint64_t{0} - bits) & low_mask(n) : bits;
  return value;
}

Number decode_bipolar(unsigned n, std::uint64_t bits) {
  const auto value =
      static_cast<std::int64_t>(2 * (bits & low_mask(n))) - static_cast<std::int64_t>(low_mask(n));
  return number_from(value);
}

/// significand / 2^drop rounded to an integer; drop > 0.
std::uint64_t shift_right_rounded(std::uint64_t significand, int drop, bool ties_away) {
  if (drop > 64) return 0;  // less than half
  const std::uint64_t kept = drop == 64 ? 0 : significand >> drop;
  const std::uint64_t rest = significand & low_mask(static_cast<unsigned>(drop));
  const std::uint64_t half = std::uint64_t{1} << (drop - 1);
  const bool up = rest > half || (rest == half && (ties_away || (kept & 1) != 0));
  return kept + (up ? 1 : 0);
}

/// The magnitude code of a finite non-zero value, rounded once; codes beyond max_magnitude mean
/// overflow (any of them).
std::uint64_t round_to_float(const DType& type, const Number& value) {
  const int msb = 63 - std::countl_zero(value.significand);
  // Far outside every format; also keeps the sums below from overflowing.
  if (value.exponent > 4096) return ~std::uint64_t{0};
  if (value.exponent < -4096) return 0;
  const int exponent = std::max(msb + value.exponent, type.least_exponent());
  if (exponent > type.bias() + 1) return ~std::uint64_t{0};
  const int drop = exponent - type.mantissa_bits - value.exponent;
  const std::uint64_t rounded = drop > 0
                                    ? shift_right_rounded(value.significand, drop, type == tf32)
                                    : value.significand << -drop;
  const auto field = static_cast<std::uint64_t>(exponent - type.least_exponent());
  if (!type.has_zero()) return field + std::max<std::uint64_t>(rounded, 1) - 1;
  // A subnormal has the least exponent and no hidden bit; a carry into the next binade adds one to
  // the exponent field. Both fall out of one addition.
  return (field << type.mantissa_bits) + rounded;
}

/// Small floats saturate; wide ones overflow to Inf.
std::uint64_t overflow_magnitude(const DType& type) {
  return type.bits <= 8 ? max_magnitude(type) : exponent_ones(type);
}

std::uint64_t encode_float(const DType& type, const Number& value) {
  if (value.is_nan()) {
    return type.specials() == Specials::finite ? max_code(type) : canonical_nan(type);
  }
  if (value.negative && !type.has_sign()) return lowest_code(type);
  std::uint64_t magnitude = 0;
  if (value.is_inf()) {
    magnitude = overflow_magnitude(type);
  } else if (value.significand != 0) {
    magnitude = round_to_float(type, value);
    if (magnitude > max_magnitude(type)) magnitude = overflow_magnitude(type);
  }
  return float_code(type, value.negative, magnitude);
}

/// |value| without its fraction, at most 2^64 - 1.
std::uint64_t truncated_magnitude(const Number& value) {
  if (value.significand == 0) return 0;
  if (value.exponent >= 0) {
    const bool fits = value.exponent <= std::countl_zero(value.significand);
    return fits ? value.significand << value.exponent : ~std::uint64_t{0};
  }
  return value.exponent <= -64 ? 0 : value.significand >> -value.exponent;
}

std::uint64_t encode_integer(bool is_signed, unsigned n, const Number& value) {
  if (value.is_nan()) return 0;
  const std::uint64_t positive_limit = low_mask(is_signed ? n - 1 : n);
  const std::uint64_t negative_limit = is_signed ? std::uint64_t{1} << (n - 1) : 0;
  const std::uint64_t limit = value.negative ? negative_limit : positive_limit;
  const std::uint64_t magnitude =
      std::min(limit, value.is_inf() ? limit : truncated_magnitude(value));
  return (value.negative ? std::uint64_t{0} - magnitude : magnitude) & low_mask(n);
}

/// The odd number nearest to v, ties upward, is 2 * floor(v / 2) + 1: its code is
/// floor(v / 2) + 2^(n-1).
std::uint64_t encode_bipolar(unsigned n, const Number& value) {
  const std::uint64_t middle = std::uint64_t{1} << (n - 1);
  if (value.is_nan()) return middle;
  const std::uint64_t whole = value.is_inf() ? low_mask(64) : truncated_magnitude(value);
  if (!value.negative) return middle + std::min(whole / 2, middle - 1);
  // floor(-x / 2) = -ceil(x / 2), and ceil needs to know of a fraction.
  bool exact = !value.is_inf() && value.exponent >= 0;
  if (!value.is_inf() && value.exponent < 0) {
    exact = value.significand == 0 ||
            (value.exponent > -64 && whole << -value.exponent == value.significand);
  }
  const std::uint64_t steps = whole / 2 + ((whole % 2 != 0 || !exact) ? 1 : 0);
  return middle - std::min(steps, middle);
}

bool same_value(const Number& a, const Number& b) {
  if (a.cls != b.cls) return false;
  if (a.is_nan()) return true;
  if (a.is_inf()) return a.negative == b.negative;
  if (a.significand == 0 || b.significand == 0) return a.significand == b.significand;
  const int a_zeros = std::countr_zero(a.significand);
  const int b_zeros = std::countr_zero(b.significand);
  return a.negative == b.negative && a.significand >> a_zeros == b.significand >> b_zeros &&
         std::int64_t{a.exponent} + a_zeros == std::int64_t{b.exponent} + b_zeros;
}

}  // namespace

Number decode(const DType& type, std::uint64_t bits) {
  if (type.is_float()) return decode_float(type, bits);
  if (type.is_bipolar()) return decode_bipolar(type.bits, bits);
  return decode_integer(type.is_signed_int(), type.bits, bits);
}

std::uint64_t encode(const DType& type, const Number& value) {
  if (type.is_float()) return encode_float(type, value);
  if (type.is_bipolar()) return encode_bipolar(type.bits, value);
  return encode_integer(type.is_signed_int(), type.bits, value);
}

std::uint64_t cast(const DType& from, const DType& to, std::uint64_t bits) {
  const Number value = decode(from, bits);
  if (!from.is_integer() || !to.is_integer()) return encode(to, value);
  const std::uint64_t wrapped =
      value.negative ? std::uint64_t{0} - value.significand : value.significand;
  return wrapped & low_mask(to.bits);
}

bool representable(const DType& type, const Number& value) {
  return same_value(decode(type, encode(type, value)), value);
}

Number number_from(double value) { return decode(f64, std::bit_cast<std::uint64_t>(value)); }

Number number_from(std::int64_t value) {
  return decode(signed_int(64), static_cast<std::uint64_t>(value));
}

Number number_from(std::uint64_t value) { return decode(u64, value); }

double to_double(const Number& value) { return std::bit_cast<double>(encode(f64, value)); }

std::uint64_t canonical_nan(const DType& type) {
  TILEVM_CHECK(type.specials() != Specials::finite, "a type without NaN");
  return float_code(type, false, low_mask(sign_position(type)));
}

std::uint64_t max_code(const DType& type) {
  if (type.is_float()) return float_code(type, false, max_magnitude(type));
  return low_mask(type.is_signed_int() ? type.bits - 1u : type.bits);
}

std::uint64_t lowest_code(const DType& type) {
  if (type.is_float()) return float_code(type, true, type.has_sign() ? max_magnitude(type) : 0);
  return type.is_signed_int() ? std::uint64_t{1} << (type.bits - 1) : 0;
}

}  // namespace tilevm::isa
