// Conversions of single floats between formats, without branches, so that loops over them
// vectorise. Each equals isa::cast on every code.
#pragma once

#include <bit>
#include <cstdint>

namespace tilevm::sim {

inline constexpr std::uint32_t f32_nan = 0x7fffffff;
inline constexpr std::uint32_t f32_infinity = 0x7f800000;

[[nodiscard]] inline float as_float(std::uint32_t bits) { return std::bit_cast<float>(bits); }
[[nodiscard]] inline std::uint32_t as_bits(float value) {
  return std::bit_cast<std::uint32_t>(value);
}

/// Any NaN becomes the canonical one.
[[nodiscard]] inline std::uint32_t canonical_f32(std::uint32_t bits) {
  return (bits & 0x7fffffff) > f32_infinity ? f32_nan : bits;
}

[[nodiscard]] inline std::uint32_t f16_to_f32(std::uint32_t code) {
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
[[nodiscard]] inline std::uint32_t f32_to_f16(std::uint32_t code) {
  const std::uint32_t magnitude = code & 0x7fffffff;
  const std::uint32_t sign = (code >> 16) & 0x8000;
  const std::uint32_t odd = (magnitude >> 13) & 1;
  const std::uint32_t normal = (magnitude + 0xfff + odd - (112U << 23)) >> 13;
  // Adding 0.5 brings the bits below 2^-24 behind the f32's last bit, where the addition rounds.
  const std::uint32_t subnormal = as_bits(as_float(magnitude) + 0.5F) - 0x3f000000;
  const std::uint32_t small = magnitude < 0x38800000 ? subnormal : normal;
  const std::uint32_t finite = magnitude >= 0x477ff000 ? 0x7c00 : small;  // 65520 and more
  return magnitude > f32_infinity ? 0x7fff : finite | sign;
}

[[nodiscard]] inline std::uint32_t bf16_to_f32(std::uint32_t code) {
  return canonical_f32(code << 16);
}

/// Nearest even; overflow to Inf.
[[nodiscard]] inline std::uint32_t f32_to_bf16(std::uint32_t code) {
  const std::uint32_t rounded = (code + 0x7fff + ((code >> 16) & 1)) >> 16;
  return (code & 0x7fffffff) > f32_infinity ? 0x7fff : rounded;
}

}  // namespace tilevm::sim
