// Conversions of single floats between formats, without branches, so that loops over them
// vectorise, and inlined, so that they are compiled with the instructions of the loop. Each equals
// isa::cast on every code.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "isa/type/dtype.h"

namespace tilevm::sim {

inline constexpr std::uint32_t f32_nan = 0x7fffffff;
inline constexpr std::uint32_t f32_infinity = 0x7f800000;

[[nodiscard, gnu::always_inline]] inline float as_float(std::uint32_t bits) {
  return std::bit_cast<float>(bits);
}
[[nodiscard, gnu::always_inline]] inline std::uint32_t as_bits(float value) {
  return std::bit_cast<std::uint32_t>(value);
}

/// Any NaN becomes the canonical one.
[[nodiscard, gnu::always_inline]] inline std::uint32_t canonical_f32(std::uint32_t bits) {
  return (bits & 0x7fffffff) > f32_infinity ? f32_nan : bits;
}

[[nodiscard, gnu::always_inline]] inline std::uint64_t canonical_f64(std::uint64_t bits) {
  return (bits & 0x7fffffffffffffff) > 0x7ff0000000000000 ? 0x7fffffffffffffff : bits;
}

[[nodiscard, gnu::always_inline]] inline std::uint32_t f16_to_f32(std::uint32_t code) {
  const std::uint32_t magnitude = (code & 0x7fff) << 13;
  const std::uint32_t sign = (code & 0x8000) << 16;
  const std::uint32_t normal = magnitude + (112U << 23);  // 127 - 15
  // A subnormal is its mantissa * 2^-24; with the exponent of 2^-14 in front, subtract 2^-14.
  const std::uint32_t subnormal =
      as_bits(as_float(magnitude + (113U << 23)) - as_float(113U << 23));
  const std::uint32_t special = magnitude == 0x0f800000 ? f32_infinity | sign : f32_nan;
  const std::uint32_t finite = (magnitude < 0x00800000 ? subnormal : normal) | sign;
  return magnitude >= 0x0f800000 ? special : finite;
}

/// Nearest even; overflow to Inf.
[[nodiscard, gnu::always_inline]] inline std::uint32_t f32_to_f16(std::uint32_t code) {
  const std::uint32_t magnitude = code & 0x7fffffff;
  const std::uint32_t sign = (code >> 16) & 0x8000;
  const std::uint32_t odd = (magnitude >> 13) & 1;
  const std::uint32_t normal = (magnitude + 0xfff + odd - (112U << 23)) >> 13;
  // Adding 0.5 shifts the bits below 2^-24 past the f32's last bit, where the addition rounds.
  const std::uint32_t subnormal = as_bits(as_float(magnitude) + 0.5F) - 0x3f000000;
  const std::uint32_t small = magnitude < 0x38800000 ? subnormal : normal;
  const std::uint32_t finite = magnitude >= 0x477ff000 ? 0x7c00 : small;  // 65520 and more
  return magnitude > f32_infinity ? 0x7fff : finite | sign;
}

/// a * b + c rounded to odd: the nearest double whose last bit is set, unless the sum is exact in a
/// double. Rounding the result further equals rounding the exact sum, since both are on the same
/// side of every shorter number. a * b must be exact in a double.
[[nodiscard, gnu::always_inline]] inline double fma_to_odd(float a, float b, float c) {
  const double product = static_cast<double>(a) * static_cast<double>(b);
  const double sum = product + static_cast<double>(c);
  const double from_c = sum - product;
  const double lost = (product - (sum - from_c)) + (static_cast<double>(c) - from_c);
  const auto bits = std::bit_cast<std::uint64_t>(sum);
  const bool inexact = lost > 0 || lost < 0;  // not for NaN, which an infinite sum leaves
  const bool outward = (lost > 0) == (sum > 0);
  const std::uint64_t odd = (bits & 1) != 0 ? bits : outward ? bits + 1 : bits - 1;
  return std::bit_cast<double>(inexact ? odd : bits);
}

/// Rounds a double to odd in f32.
[[nodiscard, gnu::always_inline]] inline std::uint32_t f32_to_odd(double value) {
  const auto nearest = static_cast<float>(value);
  const auto back = static_cast<double>(nearest);
  const std::uint32_t bits = as_bits(nearest);
  const std::uint32_t toward_zero = bits - (std::fabs(back) > std::fabs(value) ? 1U : 0U);
  return toward_zero | (back != value ? 1U : 0U);
}

/// A format of at most 8 bits with a mantissa, as far as conversions need it.
struct SmallFloat {
  explicit SmallFloat(const isa::DType& type);
  std::uint32_t mantissa_bits;
  std::uint32_t sign_shift;     ///< position of the sign; without one, the width
  std::uint32_t unsigned_mask;  ///< all ones without a sign
  std::uint32_t scale;          ///< f32: 2^(127 - bias)
  std::uint32_t infinity;       ///< magnitude of Inf; none: beyond all
  std::uint32_t first_nan;      ///< least magnitude of a NaN; none: beyond all
  std::uint32_t max, nan;       ///< codes of the largest finite value and of NaN's substitute
  std::uint32_t least_normal;   ///< f32
  std::uint32_t rounder;        ///< f32 whose last bit is worth the least subnormal
  std::uint32_t rebias;         ///< difference of the biases, at the code's exponent bits
};

[[nodiscard, gnu::always_inline]] inline std::uint32_t small_to_f32(const SmallFloat& type,
                                                                    std::uint32_t code) {
  const std::uint32_t sign = (code >> type.sign_shift) << 31;
  const std::uint32_t magnitude = code & ((1U << type.sign_shift) - 1);
  const std::uint32_t fields = magnitude << (23 - type.mantissa_bits);
  const std::uint32_t finite = as_bits(as_float(fields) * as_float(type.scale));
  const std::uint32_t value = magnitude == type.infinity ? f32_infinity : finite;
  return magnitude >= type.first_nan ? f32_nan : value | sign;
}

/// Nearest even, saturating.
[[nodiscard, gnu::always_inline]] inline std::uint32_t f32_to_small(const SmallFloat& type,
                                                                    std::uint32_t code) {
  const std::uint32_t magnitude = code & 0x7fffffff;
  const std::uint32_t negative = 0 - (code >> 31);
  const std::uint32_t sign = (negative & ~type.unsigned_mask & 1U) << type.sign_shift;
  const std::uint32_t drop = 23 - type.mantissa_bits;
  const std::uint32_t odd = (magnitude >> drop) & 1;
  const std::uint32_t below_half = (1U << (drop - 1)) - 1;
  const std::uint32_t normal = ((magnitude + below_half + odd) >> drop) - type.rebias;
  const std::uint32_t subnormal =
      as_bits(as_float(magnitude) + as_float(type.rounder)) - type.rounder;
  const std::uint32_t rounded = magnitude < type.least_normal ? subnormal : normal;
  const std::uint32_t most = type.max & ~(negative & type.unsigned_mask);
  const std::uint32_t finite = rounded < most ? rounded : most;
  return magnitude > f32_infinity ? type.nan : finite | sign;
}

/// Nearest, ties away from zero; overflow to Inf.
[[nodiscard, gnu::always_inline]] inline std::uint32_t f32_to_tf32(std::uint32_t code) {
  const std::uint32_t rounded = (code + 0x1000) & 0xffffe000;
  return (code & 0x7fffffff) > f32_infinity ? 0x7fffe000 : rounded;
}
[[nodiscard, gnu::always_inline]] inline std::uint32_t tf32_to_f32(std::uint32_t code) {
  return canonical_f32(code & 0xffffe000);
}

[[nodiscard, gnu::always_inline]] inline std::uint32_t bf16_to_f32(std::uint32_t code) {
  return canonical_f32(code << 16);
}

/// Nearest even; overflow to Inf.
[[nodiscard, gnu::always_inline]] inline std::uint32_t f32_to_bf16(std::uint32_t code) {
  const std::uint32_t rounded = (code + 0x7fff + ((code >> 16) & 1)) >> 16;
  return (code & 0x7fffffff) > f32_infinity ? 0x7fff : rounded;
}

}  // namespace tilevm::sim
