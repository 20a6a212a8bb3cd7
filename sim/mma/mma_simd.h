// Vectors for the kernels of tensor cores: types, moves and what GCC's vectors have no operator
// for.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "sim/mma/float_fields.h"

#define TILEVM_INLINE [[gnu::always_inline]] inline

// Vectors wider than the baseline are passed only between functions that are inlined into one that
// has the instructions, so no ABI is at stake.
#pragma GCC diagnostic ignored "-Wpsabi"

namespace tilevm::sim {

/// Vectors of W 32-bit lanes, of half as many 64-bit lanes, and of bytes: as many bits, or lanes.
template <int W>
struct Simd {
  using Float [[gnu::vector_size(4 * W)]] = float;
  using Int [[gnu::vector_size(4 * W)]] = std::int32_t;
  using Double [[gnu::vector_size(4 * W)]] = double;
  using Long [[gnu::vector_size(4 * W)]] = std::int64_t;
  using HalfFloat [[gnu::vector_size(2 * W)]] = float;
  using HalfInt [[gnu::vector_size(2 * W)]] = std::int32_t;
  using Bytes [[gnu::vector_size(4 * W)]] = std::uint8_t;
  using Narrow [[gnu::vector_size(W)]] = std::uint8_t;
};

template <class Vector, class Element>
TILEVM_INLINE Vector load(const Element* from) {
  Vector v;
  std::memcpy(&v, from, sizeof v);
  return v;
}

template <class Vector, class Element>
TILEVM_INLINE void store(Element* to, const Vector& v) {
  std::memcpy(to, &v, sizeof v);
}

constexpr std::int32_t sign_bit = -0x7fffffff - 1;

template <class Vector>
TILEVM_INLINE Vector max(const Vector& a, const Vector& b) {
  return a > b ? a : b;
}

template <class To, class From>
TILEVM_INLINE To bits_of(const From& v) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &v, sizeof to);
  return to;
}

template <int W>
TILEVM_INLINE bool any(const typename Simd<W>::Int& mask) {
  std::int64_t words[W / 2];
  std::memcpy(words, &mask, sizeof words);
  std::int64_t all = 0;
  for (const std::int64_t word : words) all |= word;
  return all != 0;
}

/// The lanes of a vector of W as two of W / 2.
template <int W, class Half, class Vector>
TILEVM_INLINE void split(const Vector& v, Half& low, Half& high) {
  std::memcpy(&low, &v, sizeof low);
  std::memcpy(&high, reinterpret_cast<const char*>(&v) + sizeof low, sizeof high);
}

// A comparison of wide vectors is always the condition of a choice: GCC 12 takes one that is used
// as a number apart, lane by lane.

template <int W>
struct Decoded {
  typename Simd<W>::Float mantissa;
  typename Simd<W>::Int exponent;
  typename Simd<W>::Int special;  ///< not zero: NaN or Inf
};

template <int W>
TILEVM_INLINE Decoded<W> decode_lanes(const FloatFields& fields,
                                      const typename Simd<W>::Int& codes) {
  using Int = typename Simd<W>::Int;
  const int p = fields.mantissa_bits, e = fields.exponent_bits;
  const Int code = codes >> fields.unused_bits;
  const Int magnitude = code & static_cast<std::int32_t>((1u << (p + e)) - 1);
  const Int field = magnitude >> p;
  const Int special = max(magnitude - (fields.first_special - 1), Int{});
  const Int fraction = magnitude & ((1 << p) - 1);
  const Int finite = field != 0 ? fraction | (1 << p) : fraction;
  const Int significand = magnitude >= fields.first_special ? Int{} : finite;
  const Int sign = (code << (31 - p - e)) & sign_bit;
  const float unit = std::bit_cast<float>((127 - p) << 23);
  const auto value = __builtin_convertvector(significand, typename Simd<W>::Float) * unit;
  const Int bias = Int{} + ((1 << (e - 1)) - 1);
  const Int exponent = max(field, Int{} + 1) - bias;
  return {bits_of<typename Simd<W>::Float>(bits_of<Int>(value) | sign),
          significand != 0 ? exponent : Int{} + zero_exponent, special};
}

}  // namespace tilevm::sim
