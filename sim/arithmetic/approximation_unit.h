// A GPU's special function unit (isa/type/approximation.h) on blocks of lanes.
//
// A block goes through four loops, so that each has lanes of one width: the segment and the low
// bits of the argument; the square, in 16 bits; the quadratic; the result. Significands are
// computed in 32 bits where the result has a fixed point, else exactly in f64.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "isa/type/approximation_tables.h"
#include "sim/arithmetic/approximation_ex2.h"
#include "sim/arithmetic/float_bits.h"
#include "sim/arithmetic/lanes.h"

namespace tilevm::sim::unit {
using Bits = std::uint32_t;
using Int = std::int32_t;

constexpr std::size_t most = 256;
using Lanes = std::array<Bits, most>;

constexpr Bits sign_bit = 0x80000000U, infinity = 0x7f800000U, nan_bits = 0x7fffffffU;
constexpr Bits one = 0x3f800000U, least_normal = 0x00800000U;

TILEVM_INLINE Bits magnitude(Bits x) { return x & ~sign_bit; }
TILEVM_INLINE Bits sign(Bits x) { return x & sign_bit; }
/// Without a branch, which would keep a loop from using vectors.
TILEVM_INLINE Bits select(bool condition, Bits a, Bits b) {
  const Bits mask = 0 - static_cast<Bits>(condition);
  return (a & mask) | (b & ~mask);
}
TILEVM_INLINE bool is_subnormal(Bits x) { return magnitude(x) - 1 < least_normal - 1; }
TILEVM_INLINE Bits canonical(Bits x) { return magnitude(x) > infinity ? nan_bits : x; }
TILEVM_INLINE Bits product(Bits a, Bits b) { return canonical(as_bits(as_float(a) * as_float(b))); }
TILEVM_INLINE Bits exact_product(Bits a, float b) { return as_bits(as_float(a) * b); }

// ---- The unit -----------------------------------------------------------------------------------

/// What a block of arguments is reduced to. The upper 16 bits of the square's argument of 17 bits.
struct Reduced {
  Lanes segment, low;
  std::array<std::uint16_t, most> high, square;
};

/// approximation::truncated_square of 2 x: with x = a 2^8 + b, a^2 / 2 and the parts of a b that
/// are products of four bits by four and of three by three. The products of three miss their two
/// low columns, which a carry of theirs would join.
TILEVM_INLINE std::uint16_t square_of(std::uint16_t x) {
  const auto high = [x](unsigned a, unsigned b) { return (x & a) * (x & b) >> 16; };
  const unsigned a = x >> 8;
  const unsigned carries =
      ((x & 0x6006U) == 0x6006U ? 1U : 0U) + ((x & 0x0660U) == 0x0660U ? 1U : 0U);
  return static_cast<std::uint16_t>((a * a >> 1) + high(0xf000U, 0x00f0U) + high(0xe000U, 0x000eU) +
                                    high(0x0e00U, 0x00e0U) - carries);
}

TILEVM_INLINE void square_all(Reduced& r, std::size_t n) {
  TILEVM_LOOP
  for (std::size_t i = 0; i < n; ++i) r.square[i] = square_of(r.high[i]);
}

/// A table as loops read it: c0, and c1 with c2 2^16.
template <std::size_t count>
struct LoopTable {
  std::array<Bits, count> constants{}, slopes{};
};
template <class Table>
constexpr auto loop_table(const Table& table) {
  LoopTable<Table::size> made;
  for (std::size_t i = 0; i < Table::size; ++i) {
    made.constants[i] = table[i].c0;
    made.slopes[i] = table[i].c1 | table[i].c2 << 16;
  }
  return made;
}

/// (c0 2^s0 + sign1 c1 x + sign2 c2 x^2 + r) / 2^shift, rounded down: three bits of x are
/// multiplied apart from the others, so that 32 bits hold every product.
template <int s0, int sign1, int sign2, int rest, int shift>
struct Significand {
  TILEVM_INLINE Bits operator()(Bits c0, Bits slope, Bits x, Bits square) const {
    const Int c1 = static_cast<Int>(slope & 0xffffU), c2 = static_cast<Int>(slope >> 16);
    const Int near = sign1 * c1 * static_cast<Int>(x & 7) + sign2 * c2 * static_cast<Int>(square);
    const Int sum = sign1 * c1 * static_cast<Int>(x >> 3) + ((near + rest) >> 3);
    return (c0 + static_cast<Bits>(sum >> (s0 - 3))) >> (shift - s0);
  }
};

/// A number v / 2^point that f64 holds, truncated to f32. Its exponent is that of a normal f32.
TILEVM_INLINE Bits truncated(double v, Bits point) {
  const auto bits = static_cast<Bits>(std::bit_cast<std::uint64_t>(v) >> 29);
  return bits - ((1023 - 127 + point) << 23);
}

TILEVM_INLINE double number(Bits x) { return static_cast<double>(static_cast<Int>(x)); }

// ---- Functions: reduce() gives segment, low bits and the square's argument; finish() the result
// --

struct Argument {
  Bits segment, low, high;
};
/// The argument of 17 low bits.
TILEVM_INLINE Argument argument(Bits f) { return {f >> 17, f & 0x1ffffU, (f & 0x1ffffU) >> 1}; }

struct Rcp {
  static constexpr auto table = loop_table(isa::approximation::rcp_table);
  TILEVM_INLINE static Argument reduce(Bits x) {
    const Bits f = x & 0x7fffffU;
    return {f >> 16, f & 0xffffU, f & 0xffffU};
  }
  TILEVM_INLINE static Bits finish(Bits x, Bits c0, Bits slope, Bits low, Bits square) {
    const Bits m = Significand<13, -1, 1, 0x47e7, 15>{}(c0, slope, low, square);
    const Bits e = x >> 23 & 255;
    const Int number = static_cast<Int>(((252 - e) << 23) + m);
    const Bits normal = number < static_cast<Int>(least_normal) ? 0 : static_cast<Bits>(number);
    const Bits finite = e == 0 ? infinity : e == 255 ? 0 : normal;
    return magnitude(x) > infinity ? nan_bits : sign(x) | finite;
  }
};

/// The fraction, and the last bit of the exponent before it.
TILEVM_INLINE Bits root_fraction(Bits x) { return (x & 0xffffffU) ^ 0x800000U; }
/// Half the exponent, rounded down, with half the bias.
TILEVM_INLINE Bits half_exponent(Bits x) { return ((x >> 23 & 255) + 1) >> 1; }

struct Rsqrt {
  static constexpr auto table = loop_table(isa::approximation::rsqrt_table);
  TILEVM_INLINE static Argument reduce(Bits x) { return argument(root_fraction(x)); }
  TILEVM_INLINE static Bits finish(Bits x, Bits c0, Bits slope, Bits low, Bits square) {
    const Bits m = Significand<14, -1, 4, 0x7fff, 16>{}(c0, slope, low, square);
    const Bits power = (191 - half_exponent(x)) << 23;
    const Bits other = ((189 - half_exponent(x)) << 23) + m;
    const Bits positive = select(x == infinity, 0, select(root_fraction(x) == 0, power, other));
    const Bits result = select(x > sign_bit, nan_bits, positive);
    const Bits number = select(magnitude(x) < least_normal, sign(x) | infinity, result);
    return select(magnitude(x) > infinity, nan_bits, number);
  }
};

struct Sqrt {
  static constexpr auto table = loop_table(isa::approximation::sqrt_table);
  TILEVM_INLINE static Argument reduce(Bits x) { return argument(root_fraction(x)); }
  TILEVM_INLINE static Bits finish(Bits x, Bits c0, Bits slope, Bits low, Bits square) {
    // Slopes count twice where the exponent is odd.
    const Int c1 = static_cast<Int>((slope & 0xffffU) << (root_fraction(x) >> 23));
    const Int c2 = static_cast<Int>(slope >> 16);
    const Int near = c1 * static_cast<Int>(low & 7) - 2 * c2 * static_cast<Int>(square);
    const Int sum = c1 * static_cast<Int>(low >> 3) + ((near + 0x7fff) >> 3);
    const Bits m = (c0 + static_cast<Bits>(sum >> 12)) >> 2;
    const Bits positive = x == infinity ? infinity : ((62 + half_exponent(x)) << 23) + m;
    const Bits result = x > sign_bit ? nan_bits : positive;
    return magnitude(x) > infinity ? nan_bits : magnitude(x) < least_normal ? sign(x) : result;
  }
};

struct Ex2 {
  static constexpr auto table = loop_table(isa::approximation::ex2_table);
  /// The argument with 23 bits behind the point: a one's complement, of integers a two's.
  TILEVM_INLINE static Bits fixed(Bits x) {
    const Bits near = magnitude(x) < 0x43000000U ? magnitude(x) : 0;
    const auto distance = static_cast<Bits>(static_cast<Int>(as_float(near) * 8388608.0F));
    const Bits negative = 0 - (x >> 31);
    const Bits whole = (distance & 0x7fffffU) == 0 ? negative : 0;
    return (distance ^ negative) - whole;
  }
  TILEVM_INLINE static Argument reduce(Bits x) { return argument(fixed(x) & 0x7fffffU); }
  TILEVM_INLINE static Bits finish(Bits x, Bits c0, Bits slope, Bits low, Bits square) {
    const Bits m = Significand<13, 1, 1, 0x77e2, 15>{}(c0, slope, low, square);
    const Int number = static_cast<Int>((fixed(x) & 0xff800000U) + (126U << 23) + m);
    const Bits normal = number < static_cast<Int>(least_normal) ? 0 : static_cast<Bits>(number);
    const Bits far = sign(x) != 0 ? 0 : infinity;
    const Bits result = magnitude(x) >= 0x43000000U ? far : normal;
    return magnitude(x) > infinity ? nan_bits : result;
  }
};

struct Lg2 {
  static constexpr auto table = loop_table(isa::approximation::lg2_table);
  TILEVM_INLINE static Argument reduce(Bits x) { return argument(x & 0x7fffffU); }
  TILEVM_INLINE static Bits finish(Bits x, Bits c0, Bits slope, Bits low, Bits square) {
    const Int c1 = static_cast<Int>(slope & 0xffffU), c2 = static_cast<Int>(slope >> 16);
    const Int near = c1 * static_cast<Int>(low & 3) - 2 * c2 * static_cast<Int>(square) + 0x3345;
    const Int sum = c1 * static_cast<Int>(low >> 2) + (near >> 2);
    const double exponent = number((x >> 23) - 127);
    const double v = exponent * 0x1p36 + (number(c0) * 1024.0 + number(static_cast<Bits>(sum)));
    // The one's complement of a negative number.
    const Bits negative = static_cast<Bits>(std::bit_cast<std::uint64_t>(v) >> 63);
    const double distance = std::fabs(v) - number(negative);
    const Bits normal = truncated(distance, 36) | negative << 31;
    const Bits positive = select(x == one, 0, select(x == infinity, infinity, normal));
    const Bits result = select(x > sign_bit, nan_bits, positive);
    const Bits valued = select(magnitude(x) < least_normal, sign_bit | infinity, result);
    return select(magnitude(x) > infinity, nan_bits, valued);
  }
};

/// The sine of x, or of x and a quarter of a turn.
template <bool cosine>
struct Wave {
  static constexpr auto table = loop_table(isa::approximation::sin_table);
  /// x / (2 pi), truncated to f32, with 25 bits behind the point, modulo 2^25.
  TILEVM_INLINE static Bits fixed(Bits x) {
    const double factor = 0x1.45f306p-3;  // 1 / (2 pi) as f32
    const auto turns = std::bit_cast<std::uint64_t>(static_cast<double>(as_float(x)) * factor);
    const Int exponent = static_cast<Int>(turns >> 52 & 2047) - 1023 + 2;  // of the last bit
    const Bits significand = (static_cast<Bits>(turns >> 29) & 0x7fffffU) | 0x800000U;
    const Int left = exponent < 0 ? 0 : exponent > 31 ? 31 : exponent;
    const Int right = exponent > 0 ? 0 : exponent < -31 ? 31 : -exponent;
    return significand << left >> right & 0x1ffffffU;
  }
  TILEVM_INLINE static Bits quadrant(Bits fixed) { return (fixed >> 23) + (cosine ? 1 : 0); }
  TILEVM_INLINE static Argument reduce(Bits x) {
    const Bits at = fixed(x);
    return argument((at ^ (0 - (quadrant(at) & 1))) & 0x7fffffU);
  }
  TILEVM_INLINE static Bits finish(Bits x, Bits c0, Bits slope, Bits low, Bits square) {
    const Bits c1 = slope & 0xffffU, c2 = slope >> 16;
    const double v = number(c0) * 2048.0 + number(c1) * number(low) - number(c2) * number(square);
    const Bits negative = (cosine ? 0 : sign(x)) ^ (quadrant(fixed(x)) << 30 & sign_bit);
    const Bits result = negative | (v == 0 ? 0 : truncated(v, 37));
    return magnitude(x) >= infinity ? nan_bits : result;
  }
};

/// Its coefficients are too wide for two of them to share a word.
struct TanhSegments {
  std::array<Bits, decltype(isa::approximation::tanh_table)::size> c0{}, c1{}, c2{};
};
constexpr TanhSegments tanh_segments() {
  TanhSegments made;
  for (std::size_t i = 0; i < made.c0.size(); ++i) {
    made.c0[i] = isa::approximation::tanh_table[i].c0;
    made.c1[i] = isa::approximation::tanh_table[i].c1;
    made.c2[i] = isa::approximation::tanh_table[i].c2;
  }
  return made;
}

struct Tanh {
  static constexpr TanhSegments segments = tanh_segments();
  /// For each binade from 2^-8 on: the bits behind the point that the unit reads, the first
  /// segment.
  static constexpr std::array<Bits, 16> points{25, 24, 23, 23, 22, 22, 21, 20, 20, 20, 18};
  static constexpr std::array<Bits, 16> firsts{0, 1, 2, 3, 5, 7, 11, 15, 19, 27, 43};
  TILEVM_INLINE static Bits binade(Bits x) {
    const Bits e = (x >> 23 & 255) - 119;
    return select(e < 11, e, 0);
  }
  TILEVM_INLINE static Argument reduce(Bits x) {
    const Bits e = binade(x);
    Argument made = argument((x & 0x7fffffU) >> (31 - e - points[e]));
    made.segment += firsts[e];
    return made;
  }
};

template <class F>
TILEVM_INLINE void reduce_all(const Bits* x, Reduced& r, std::size_t n) {
  TILEVM_LOOP
  for (std::size_t i = 0; i < n; ++i) {
    const Argument part = F::reduce(x[i]);
    r.segment[i] = part.segment;
    r.low[i] = part.low;
    r.high[i] = static_cast<std::uint16_t>(part.high);
  }
  for (std::size_t i = n; i % 16 != 0; ++i) r.segment[i] = 0;  // whole registers are looked up
  square_all(r, n);
}

// ---- Look-ups: out[i] = table[index[i]]
// ----------------------------------------------------------

template <SimdLevel level>
struct Lookup {
  template <std::size_t count>
  TILEVM_INLINE static void run(const std::array<Bits, count>& table, const Lanes& index,
                                Lanes& out, std::size_t n) {
    TILEVM_LOOP
    for (std::size_t i = 0; i < n; ++i) out[i] = table[index[i]];
  }
};

#if defined(__x86_64__)
#define TILEVM_AVX512 [[gnu::target("avx512f,avx512dq,avx512vl,avx512bw,avx2,fma")]]

/// Permutations of two registers, 32 entries, in place of loads. A function apart, since it can
/// only be inlined where its instructions are allowed.
template <>
struct Lookup<SimdLevel::avx512> {
  /// Entries past the end count as any.
  template <std::size_t count>
  TILEVM_AVX512 TILEVM_INLINE static __m512i load(const std::array<Bits, count>& table,
                                                  std::size_t first) {
    if (first + 16 <= count) return _mm512_loadu_si512(table.data() + first);
    const auto left = static_cast<__mmask16>((1U << (count - first)) - 1);
    return _mm512_maskz_loadu_epi32(left, table.data() + first);
  }
  template <std::size_t count>
  TILEVM_AVX512 TILEVM_INLINE static __m512i half(const std::array<Bits, count>& table,
                                                  std::size_t first, __m512i index) {
    const __m512i low =
        _mm512_permutex2var_epi32(load(table, first), index, load(table, first + 16));
    const __m512i high =
        _mm512_permutex2var_epi32(load(table, first + 32), index, load(table, first + 48));
    return _mm512_mask_mov_epi32(low, _mm512_test_epi32_mask(index, _mm512_set1_epi32(32)), high);
  }
  template <std::size_t count>
  TILEVM_AVX512 static void run(const std::array<Bits, count>& table, const Lanes& index,
                                Lanes& out, std::size_t n) {
    static_assert(count > 48 && count <= 128 && (count <= 64 || count == 128));
    for (std::size_t i = 0; i < n; i += 16) {
      const __m512i at = _mm512_loadu_si512(index.data() + i);
      __m512i found = half(table, 0, at);
      if constexpr (count == 128) {
        const __mmask16 upper = _mm512_test_epi32_mask(at, _mm512_set1_epi32(64));
        found = _mm512_mask_mov_epi32(found, upper, half(table, 64, at));
      }
      _mm512_storeu_si512(out.data() + i, found);
    }
  }
};
#endif

/// The unit's function on a block of at most `most` lanes, in place.
template <class F>
struct UnitLoops {
  template <SimdLevel level>
  TILEVM_INLINE static void run(Bits* x, std::size_t n) {
    Reduced r;
    reduce_all<F>(x, r, n);
    Lanes constants, slopes;
    Lookup<level>::run(F::table.constants, r.segment, constants, n);
    Lookup<level>::run(F::table.slopes, r.segment, slopes, n);
    TILEVM_LOOP
    for (std::size_t i = 0; i < n; ++i) {
      x[i] = F::finish(x[i], constants[i], slopes[i], r.low[i], r.square[i]);
    }
  }
};

template <class F>
struct Unit : UnitLoops<F> {};

/// Whole registers of x, which has room for `most` lanes.
template <>
struct Unit<Ex2> {
  template <SimdLevel level>
  TILEVM_INLINE static void run(Bits* x, std::size_t n) {
#if defined(__x86_64__)
    if constexpr (level != SimdLevel::portable) {
      constexpr std::size_t together = 32;
      static_assert(most % together == 0);
      const std::size_t whole = (n + together - 1) / together * together;
      for (std::size_t i = n; i < whole; ++i) x[i] = 0;
      return level == SimdLevel::avx512 ? ex2_avx512(x, whole) : ex2_avx2(x, whole);
    }
#endif
    UnitLoops<Ex2>::run<level>(x, n);
  }
};

template <>
struct Unit<Tanh> {
  template <SimdLevel level>
  TILEVM_INLINE static void run(Bits* x, std::size_t n) {
    Reduced r;
    reduce_all<Tanh>(x, r, n);
    Lanes c0, c1, c2;
    Lookup<level>::run(Tanh::segments.c0, r.segment, c0, n);
    Lookup<level>::run(Tanh::segments.c1, r.segment, c1, n);
    Lookup<level>::run(Tanh::segments.c2, r.segment, c2, n);
    TILEVM_LOOP
    for (std::size_t i = 0; i < n; ++i) {
      const Bits point = Tanh::points[Tanh::binade(x[i])];
      const double scale = std::bit_cast<double>(std::uint64_t{1023 - 5 + point} << 52);
      const double v = number(c0[i]) * scale + number(c1[i]) * number(r.low[i]) -
                       number(c2[i]) * number(r.square[i]);
      const Bits result = sign(x[i]) | truncated(v, point + 19);
      const Bits near = select(magnitude(x[i]) < 0x3b800000U, x[i], result);  // 2^-8
      const Bits far = select(magnitude(x[i]) >= 0x41000000U, sign(x[i]) | one, near);
      x[i] = select(magnitude(x[i]) > infinity, nan_bits, far);
    }
  }
};

}  // namespace tilevm::sim::unit
