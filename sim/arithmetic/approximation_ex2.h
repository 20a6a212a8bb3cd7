// 2^x of a GPU's special function unit (isa/type/approximation.h) by vector instructions of x86,
// which compilers do not find in the loops of approximation_unit.h: attention takes one for each
// score.
//
// The quadratic is c0 2^13 + c1 x + c2 square(x) + r, of which bits 15 and up are the result. A
// multiplication of 16-bit pairs takes c1 and c2 at once. Its factors have signs, so that 2^15 is
// subtracted from c1 and from the square, and what that leaves out is added elsewhere: 2^15 x as
// 4 x to c0, 2^15 c2 as 4 c2 in the table of c0. Three bits of x are multiplied apart from the
// others, so that 32 bits hold every product.
#pragma once

#if defined(__x86_64__)
#include <immintrin.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "isa/type/approximation_tables.h"

namespace tilevm::sim::unit {

/// c0 with what is added to it, the exponent of 1/2 included, and c1 and c2 as a pair.
struct Ex2Segments {
  static constexpr std::size_t count = decltype(isa::approximation::ex2_table)::size;
  std::array<std::uint32_t, count> constants{}, slopes{};
  std::array<std::uint64_t, count> both{};
};
constexpr Ex2Segments ex2_segments() {
  Ex2Segments made;
  for (std::size_t i = 0; i < Ex2Segments::count; ++i) {
    const isa::approximation::Segment c = isa::approximation::ex2_table[i];
    made.constants[i] = c.c0 + 4 * c.c2 + (126U << 25);
    made.slopes[i] = ((c.c1 - 32768) & 0xffffU) | c.c2 << 16;
    made.both[i] = made.constants[i] | std::uint64_t{made.slopes[i]} << 32;
  }
  return made;
}
alignas(64) inline constexpr Ex2Segments ex2_table = ex2_segments();

// Arguments from here on, of either sign, are far: their results are no normal numbers, or may be.
inline constexpr int ex2_far = 0x42fc0000;  // 126

// ---- AVX2: 16 arguments -------------------------------------------------------------------------

#define TILEVM_EX2 [[gnu::target("avx2,fma"), gnu::always_inline]] inline

TILEVM_EX2 __m256i all8(int value) { return _mm256_set1_epi32(value); }
TILEVM_EX2 __m256i all16(int value) { return _mm256_set1_epi16(static_cast<std::int16_t>(value)); }

/// The argument with 23 bits behind the point: a one's complement, of integers a two's.
TILEVM_EX2 __m256i ex2_fixed(__m256i x) {
  const __m256 distance = _mm256_castsi256_ps(_mm256_and_si256(x, all8(0x7fffffff)));
  const __m256i d = _mm256_cvttps_epi32(_mm256_mul_ps(distance, _mm256_set1_ps(8388608.0F)));
  const __m256i negative = _mm256_srai_epi32(x, 31);
  const __m256i fraction = _mm256_and_si256(d, all8(0x7fffff));
  const __m256i whole = _mm256_cmpeq_epi32(fraction, _mm256_setzero_si256());
  return _mm256_sub_epi32(_mm256_xor_si256(d, negative), _mm256_and_si256(negative, whole));
}

/// square_of (approximation_unit.h) less 2^15.
TILEVM_EX2 __m256i ex2_square(__m256i x) {
  const __m256i a = _mm256_srli_epi16(x, 8);
  const __m256i whole = _mm256_srli_epi16(_mm256_mullo_epi16(a, a), 1);
  const __m256i fours =
      _mm256_mulhi_epu16(_mm256_and_si256(x, all16(0xf000)), _mm256_and_si256(x, all16(0x00f0)));
  const __m256i low =
      _mm256_mulhi_epu16(_mm256_and_si256(x, all16(0xe000)), _mm256_and_si256(x, all16(0x000e)));
  const __m256i high =
      _mm256_mulhi_epu16(_mm256_and_si256(x, all16(0x0e00)), _mm256_and_si256(x, all16(0x00e0)));
  const __m256i carries =
      _mm256_add_epi16(_mm256_cmpeq_epi16(_mm256_and_si256(x, all16(0x6006)), all16(0x6006)),
                       _mm256_cmpeq_epi16(_mm256_and_si256(x, all16(0x0660)), all16(0x0660)));
  const __m256i products = _mm256_add_epi16(_mm256_add_epi16(low, high), carries);
  return _mm256_xor_si256(_mm256_add_epi16(_mm256_add_epi16(whole, fours), products),
                          all16(0x8000));
}

/// Constants and slopes of the segments of eight arguments. Loads of both at once are as fast as
/// anything that AVX2 has for 64 entries.
TILEVM_EX2 void ex2_coefficients(__m256i fixed, __m256i& constants, __m256i& slopes) {
  alignas(32) std::array<std::uint32_t, 8> at;
  const __m256i segment = _mm256_and_si256(_mm256_srli_epi32(fixed, 17), all8(63));
  _mm256_store_si256(reinterpret_cast<__m256i*>(at.data()), segment);
  const auto* table = reinterpret_cast<const double*>(ex2_table.both.data());
  __m128d pairs[4];
  for (std::size_t i = 0; i < 4; ++i) {
    pairs[i] = _mm_loadh_pd(_mm_load_sd(table + at[2 * i]), table + at[2 * i + 1]);
  }
  const __m256 front = _mm256_castpd_ps(_mm256_set_m128d(pairs[2], pairs[0]));
  const __m256 back = _mm256_castpd_ps(_mm256_set_m128d(pairs[3], pairs[1]));
  constants = _mm256_castps_si256(_mm256_shuffle_ps(front, back, 0x88));
  slopes = _mm256_castps_si256(_mm256_shuffle_ps(front, back, 0xdd));
}

/// `square`: in the upper halves.
TILEVM_EX2 __m256i ex2_near(__m256i fixed, __m256i square) {
  __m256i constants, slopes;
  ex2_coefficients(fixed, constants, slopes);
  const __m256i low = _mm256_and_si256(fixed, all8(0x1ffff));
  const __m256i wide = _mm256_madd_epi16(slopes, _mm256_srli_epi32(low, 3));
  const __m256i near =
      _mm256_madd_epi16(slopes, _mm256_or_si256(_mm256_and_si256(fixed, all8(7)), square));
  const __m256i sum =
      _mm256_add_epi32(_mm256_slli_epi32(wide, 3), _mm256_add_epi32(near, all8(0x77e2)));
  const __m256i constant = _mm256_add_epi32(constants, _mm256_slli_epi32(low, 2));
  const __m256i significand =
      _mm256_srli_epi32(_mm256_add_epi32(constant, _mm256_srai_epi32(sum, 13)), 2);
  return _mm256_add_epi32(_mm256_andnot_si256(all8(0x7fffff), fixed), significand);
}

/// Replaces the results of far arguments.
TILEVM_EX2 __m256i ex2_with_far(__m256i x, __m256i number) {
  const __m256i distance = _mm256_and_si256(x, all8(0x7fffffff));
  const __m256i normal = _mm256_and_si256(number, _mm256_cmpgt_epi32(number, all8(0x007fffff)));
  const __m256i limit = _mm256_andnot_si256(_mm256_srai_epi32(x, 31), all8(0x7f800000));
  const __m256i finite =
      _mm256_blendv_epi8(normal, limit, _mm256_cmpgt_epi32(distance, all8(0x42ffffff)));
  return _mm256_blendv_epi8(finite, all8(0x7fffffff),
                            _mm256_cmpgt_epi32(distance, all8(0x7f800000)));
}

TILEVM_EX2 __m256i ex2_result(__m256i x, __m256i fixed, __m256i square) {
  const __m256i number = ex2_near(fixed, square);
  const __m256i distance = _mm256_and_si256(x, all8(0x7fffffff));
  const __m256i far = _mm256_cmpgt_epi32(distance, all8(ex2_far - 1));
  return _mm256_testz_si256(far, far) != 0 ? number : ex2_with_far(x, number);
}

/// In place, of a multiple of 16 arguments.
[[gnu::target("avx2,fma")]] inline void ex2_avx2(std::uint32_t* lanes, std::size_t n) {
  for (std::size_t i = 0; i < n; i += 16) {
    auto* const at = reinterpret_cast<__m256i*>(lanes + i);
    const __m256i x = _mm256_loadu_si256(at), y = _mm256_loadu_si256(at + 1);
    const __m256i fixed_x = ex2_fixed(x), fixed_y = ex2_fixed(y);
    const __m256i words =
        _mm256_packus_epi32(_mm256_and_si256(_mm256_srli_epi32(fixed_x, 1), all8(0xffff)),
                            _mm256_and_si256(_mm256_srli_epi32(fixed_y, 1), all8(0xffff)));
    const __m256i squares = ex2_square(words), zero = _mm256_setzero_si256();
    _mm256_storeu_si256(at, ex2_result(x, fixed_x, _mm256_unpacklo_epi16(zero, squares)));
    _mm256_storeu_si256(at + 1, ex2_result(y, fixed_y, _mm256_unpackhi_epi16(zero, squares)));
  }
}
#undef TILEVM_EX2

// ---- AVX-512: 32 arguments ----------------------------------------------------------------------

#define TILEVM_EX2_TARGET gnu::target("avx512f,avx512dq,avx512vl,avx512bw,avx2,fma")
#define TILEVM_EX2 [[TILEVM_EX2_TARGET, gnu::always_inline]] inline

// Forms with a mask of all lanes: of those without, GCC 12 says that they use an undefined
// register.
inline constexpr __mmask16 every_lane = 0xffff;
template <unsigned bits>
TILEVM_EX2 __m512i shifted_down(__m512i x) {
  return _mm512_maskz_srli_epi32(every_lane, x, bits);
}
template <unsigned bits>
TILEVM_EX2 __m512i shifted_signed(__m512i x) {
  return _mm512_maskz_srai_epi32(every_lane, x, bits);
}
template <unsigned bits>
TILEVM_EX2 __m512i shifted_up(__m512i x) {
  return _mm512_maskz_slli_epi32(every_lane, x, bits);
}
/// y without the bits of x.
TILEVM_EX2 __m512i without(__m512i x, __m512i y) {
  return _mm512_maskz_andnot_epi32(every_lane, x, y);
}

TILEVM_EX2 __m512i ex2_fixed(__m512i x) {
  const __m512 distance = _mm512_castsi512_ps(_mm512_and_si512(x, _mm512_set1_epi32(0x7fffffff)));
  const __m512i d =
      _mm512_maskz_cvttps_epi32(every_lane, _mm512_mul_ps(distance, _mm512_set1_ps(8388608.0F)));
  const __m512i negative = shifted_signed<31>(x);
  const __mmask16 whole = _mm512_testn_epi32_mask(d, _mm512_set1_epi32(0x7fffff));
  const __m512i complement = _mm512_xor_si512(d, negative);
  return _mm512_mask_sub_epi32(complement, whole, complement, negative);
}

TILEVM_EX2 __m512i ex2_bits(__m512i x, int bits) {
  return _mm512_and_si512(x, _mm512_set1_epi16(static_cast<std::int16_t>(bits)));
}
/// Where all of the bits are set.
TILEVM_EX2 __mmask32 ex2_has(__m512i x, int bits) {
  return _mm512_cmpeq_epi16_mask(ex2_bits(x, bits),
                                 _mm512_set1_epi16(static_cast<std::int16_t>(bits)));
}

TILEVM_EX2 __m512i ex2_square(__m512i x) {
  const __m512i a = _mm512_srli_epi16(x, 8), one = _mm512_set1_epi16(1);
  const __m512i whole = _mm512_srli_epi16(_mm512_mullo_epi16(a, a), 1);
  const __m512i fours = _mm512_mulhi_epu16(ex2_bits(x, 0xf000), ex2_bits(x, 0x00f0));
  __m512i low = _mm512_mulhi_epu16(ex2_bits(x, 0xe000), ex2_bits(x, 0x000e));
  __m512i high = _mm512_mulhi_epu16(ex2_bits(x, 0x0e00), ex2_bits(x, 0x00e0));
  low = _mm512_mask_sub_epi16(low, ex2_has(x, 0x6006), low, one);
  high = _mm512_mask_sub_epi16(high, ex2_has(x, 0x0660), high, one);
  const __m512i sum = _mm512_add_epi16(_mm512_add_epi16(whole, fours), _mm512_add_epi16(low, high));
  return _mm512_xor_si512(sum, _mm512_set1_epi16(static_cast<std::int16_t>(0x8000)));
}

/// Permutations of two registers, 32 entries each.
TILEVM_EX2 __m512i ex2_entries(const std::uint32_t* table, __m512i segment, __mmask16 upper) {
  const __m512i low =
      _mm512_permutex2var_epi32(_mm512_load_si512(table), segment, _mm512_load_si512(table + 16));
  const __m512i high = _mm512_permutex2var_epi32(_mm512_load_si512(table + 32), segment,
                                                 _mm512_load_si512(table + 48));
  return _mm512_mask_mov_epi32(low, upper, high);
}

TILEVM_EX2 __m512i ex2_near(__m512i fixed, __m512i square) {
  const __m512i segment = shifted_down<17>(fixed);
  const __mmask16 upper = _mm512_test_epi32_mask(fixed, _mm512_set1_epi32(1 << 22));
  const __m512i slopes = ex2_entries(ex2_table.slopes.data(), segment, upper);
  const __m512i low = _mm512_and_si512(fixed, _mm512_set1_epi32(0x1ffff));
  const __m512i wide = _mm512_madd_epi16(slopes, shifted_down<3>(low));
  constexpr int or_of_and = 0xf8;
  const __m512i near = _mm512_madd_epi16(
      slopes, _mm512_ternarylogic_epi32(square, fixed, _mm512_set1_epi32(7), or_of_and));
  const __m512i sum =
      _mm512_add_epi32(shifted_up<3>(wide), _mm512_add_epi32(near, _mm512_set1_epi32(0x77e2)));
  const __m512i constant =
      _mm512_add_epi32(ex2_entries(ex2_table.constants.data(), segment, upper), shifted_up<2>(low));
  const __m512i significand = shifted_down<2>(_mm512_add_epi32(constant, shifted_signed<13>(sum)));
  return _mm512_add_epi32(without(_mm512_set1_epi32(0x7fffff), fixed), significand);
}

TILEVM_EX2 __m512i ex2_with_far(__m512i x, __m512i number) {
  const __m512i distance = _mm512_and_si512(x, _mm512_set1_epi32(0x7fffffff));
  const __mmask16 is_normal = _mm512_cmpgt_epi32_mask(number, _mm512_set1_epi32(0x007fffff));
  const __m512i limit = without(shifted_signed<31>(x), _mm512_set1_epi32(0x7f800000));
  const __m512i finite = _mm512_mask_mov_epi32(
      _mm512_maskz_mov_epi32(is_normal, number),
      _mm512_cmpgt_epi32_mask(distance, _mm512_set1_epi32(0x42ffffff)), limit);
  return _mm512_mask_mov_epi32(finite,
                               _mm512_cmpgt_epi32_mask(distance, _mm512_set1_epi32(0x7f800000)),
                               _mm512_set1_epi32(0x7fffffff));
}

TILEVM_EX2 __m512i ex2_result(__m512i x, __m512i fixed, __m512i square) {
  const __m512i number = ex2_near(fixed, square);
  const __m512i distance = _mm512_and_si512(x, _mm512_set1_epi32(0x7fffffff));
  const __mmask16 far = _mm512_cmpgt_epi32_mask(distance, _mm512_set1_epi32(ex2_far - 1));
  return far == 0 ? number : ex2_with_far(x, number);
}

/// In place, of a multiple of 32 arguments.
[[TILEVM_EX2_TARGET]] inline void ex2_avx512(std::uint32_t* lanes, std::size_t n) {
  for (std::size_t i = 0; i < n; i += 32) {
    std::uint32_t* const at = lanes + i;
    const __m512i x = _mm512_loadu_si512(at), y = _mm512_loadu_si512(at + 16);
    const __m512i fixed_x = ex2_fixed(x), fixed_y = ex2_fixed(y);
    const __m512i low = _mm512_set1_epi32(0xffff);
    const __m512i words = _mm512_packus_epi32(_mm512_and_si512(shifted_down<1>(fixed_x), low),
                                              _mm512_and_si512(shifted_down<1>(fixed_y), low));
    const __m512i squares = ex2_square(words), zero = _mm512_setzero_si512();
    _mm512_storeu_si512(at, ex2_result(x, fixed_x, _mm512_unpacklo_epi16(zero, squares)));
    _mm512_storeu_si512(at + 16, ex2_result(y, fixed_y, _mm512_unpackhi_epi16(zero, squares)));
  }
}
#undef TILEVM_EX2
#undef TILEVM_EX2_TARGET

}  // namespace tilevm::sim::unit
#endif
