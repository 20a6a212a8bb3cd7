#include "sim/arithmetic/half_loops.h"

#include <cstring>

#include "sim/arithmetic/float_bits.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tilevm::sim {

#if defined(__x86_64__)

#define TILEVM_F16C [[gnu::target("avx2,fma,f16c")]]

namespace {

using Lanes = const std::uint8_t*;

/// Lanes of a vector.
constexpr std::size_t width = 8;

TILEVM_F16C TILEVM_INLINE __m256 load_halves(Lanes lanes) {
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(lanes)));
}

TILEVM_F16C TILEVM_INLINE __m256 load_floats(Lanes lanes) {
  return _mm256_loadu_ps(reinterpret_cast<const float*>(lanes));
}

/// Any NaN becomes the canonical one of f32, which is converted to that of f16.
TILEVM_F16C TILEVM_INLINE __m256 canonical(__m256 x) {
  const __m256 nan = _mm256_castsi256_ps(_mm256_set1_epi32(static_cast<int>(f32_nan)));
  return _mm256_blendv_ps(x, nan, _mm256_cmp_ps(x, x, _CMP_UNORD_Q));
}

TILEVM_F16C TILEVM_INLINE void store_halves(__m256 x, std::uint8_t* lanes) {
  constexpr int nearest_even = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
  _mm_storeu_si128(reinterpret_cast<__m128i*>(lanes), _mm256_cvtps_ph(canonical(x), nearest_even));
}

struct HalvesToFloats {
  static constexpr std::size_t in = 2, out = 4;
  TILEVM_F16C TILEVM_INLINE static void run(std::uint8_t* to, Lanes a) {
    _mm256_storeu_ps(reinterpret_cast<float*>(to), canonical(load_halves(a)));
  }
};
struct FloatsToHalves {
  static constexpr std::size_t in = 4, out = 2;
  TILEVM_F16C TILEVM_INLINE static void run(std::uint8_t* to, Lanes a) {
    store_halves(load_floats(a), to);
  }
};

/// The result of f32, rounded once more, is that of f16: f32 has more than twice as many bits.
template <isa::BinaryOp op>
struct HalvesOf {
  static constexpr std::size_t in = 2, out = 2;
  TILEVM_F16C TILEVM_INLINE static void run(std::uint8_t* to, Lanes a, Lanes b) {
    const __m256 x = load_halves(a), y = load_halves(b);
    if constexpr (op == isa::BinaryOp::add) {
      store_halves(_mm256_add_ps(x, y), to);
    } else if constexpr (op == isa::BinaryOp::sub) {
      store_halves(_mm256_sub_ps(x, y), to);
    } else if constexpr (op == isa::BinaryOp::mul) {
      store_halves(_mm256_mul_ps(x, y), to);
    } else {
      static_assert(op == isa::BinaryOp::div);
      store_halves(_mm256_div_ps(x, y), to);
    }
  }
};

/// Bytes of 0 and 1: a comparison with a NaN gives 0, but for "not equal".
template <int predicate>
struct HalvesCompared {
  static constexpr std::size_t in = 2, out = 1;
  TILEVM_F16C TILEVM_INLINE static void run(std::uint8_t* to, Lanes a, Lanes b) {
    const __m256i all =
        _mm256_castps_si256(_mm256_cmp_ps(load_halves(a), load_halves(b), predicate));
    const __m128i words =
        _mm_packs_epi32(_mm256_castsi256_si128(all), _mm256_extracti128_si256(all, 1));
    const __m128i bytes = _mm_and_si128(_mm_packs_epi16(words, words), _mm_set1_epi8(1));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(to), bytes);
  }
};

/// The product is exact in f32. The sum is rounded to odd: the nearest f32, or its neighbour on the
/// side of what is lost if the last bit is 0 (fma_to_odd in float_bits.h).
struct HalvesFma {
  static constexpr std::size_t in = 2, out = 2;
  TILEVM_F16C TILEVM_INLINE static void run(std::uint8_t* to, Lanes a, Lanes b, Lanes c) {
    const __m256 product = _mm256_mul_ps(load_halves(a), load_halves(b)), addend = load_halves(c);
    const __m256 sum = _mm256_add_ps(product, addend);
    const __m256 from_c = _mm256_sub_ps(sum, product);
    const __m256 lost = _mm256_add_ps(_mm256_sub_ps(product, _mm256_sub_ps(sum, from_c)),
                                      _mm256_sub_ps(addend, from_c));
    const __m256i bits = _mm256_castps_si256(sum), one = _mm256_set1_epi32(1);
    const __m256i inexact =
        _mm256_castps_si256(_mm256_cmp_ps(lost, _mm256_setzero_ps(), _CMP_NEQ_OQ));
    const __m256i even = _mm256_cmpeq_epi32(_mm256_and_si256(bits, one), _mm256_setzero_si256());
    const __m256i differ = _mm256_castps_si256(_mm256_xor_ps(lost, sum));
    const __m256i step = _mm256_or_si256(_mm256_srai_epi32(differ, 31), one);  // 1 or -1
    const __m256i odd =
        _mm256_add_epi32(bits, _mm256_and_si256(step, _mm256_and_si256(inexact, even)));
    store_halves(_mm256_castsi256_ps(odd), to);
  }
};

/// Lanes from i on, fewer than a vector has, in a vector's memory.
template <class Op>
struct Rest {
  std::uint8_t lanes[width * Op::in] = {};
  Rest(Lanes from, std::size_t i, std::size_t n) {
    std::memcpy(lanes, from + i * Op::in, (n - i) * Op::in);
  }
};

/// Whole vectors, and the rest in copies. `out` is an operand, or disjoint from all.
template <class Op, class... In>
TILEVM_F16C void run_halves(std::uint8_t* out, std::size_t n, In... in) {
  std::size_t i = 0;
  for (; i + width <= n; i += width) Op::run(out + i * Op::out, (in + i * Op::in)...);
  if (i == n) return;
  std::uint8_t result[width * Op::out];
  Op::run(result, Rest<Op>(in, i, n).lanes...);
  std::memcpy(out + i * Op::out, result, (n - i) * Op::out);
}

template <class Op>
LaneLoop1 halves_loop1(SimdLevel level) {
  if (level == SimdLevel::portable) return {};
  return [](Lanes a, std::uint8_t* out, std::size_t n) { run_halves<Op>(out, n, a); };
}
template <class Op>
LaneLoop2 halves_loop2(SimdLevel level) {
  if (level == SimdLevel::portable) return {};
  return [](Lanes a, Lanes b, std::uint8_t* out, std::size_t n) { run_halves<Op>(out, n, a, b); };
}

}  // namespace

LaneLoop1 f16_to_f32_loop(SimdLevel level) { return halves_loop1<HalvesToFloats>(level); }
LaneLoop1 f32_to_f16_loop(SimdLevel level) { return halves_loop1<FloatsToHalves>(level); }

LaneLoop2 f16_binary_loop(isa::BinaryOp op, SimdLevel level) {
  using isa::BinaryOp;
  if (op == BinaryOp::add) return halves_loop2<HalvesOf<BinaryOp::add>>(level);
  if (op == BinaryOp::sub) return halves_loop2<HalvesOf<BinaryOp::sub>>(level);
  if (op == BinaryOp::mul) return halves_loop2<HalvesOf<BinaryOp::mul>>(level);
  if (op == BinaryOp::div) return halves_loop2<HalvesOf<BinaryOp::div>>(level);
  return {};
}

LaneLoop2 f16_comparison_loop(isa::BinaryOp op, SimdLevel level) {
  using isa::BinaryOp;
  if (op == BinaryOp::eq) return halves_loop2<HalvesCompared<_CMP_EQ_OQ>>(level);
  if (op == BinaryOp::ne) return halves_loop2<HalvesCompared<_CMP_NEQ_UQ>>(level);
  if (op == BinaryOp::lt) return halves_loop2<HalvesCompared<_CMP_LT_OQ>>(level);
  if (op == BinaryOp::le) return halves_loop2<HalvesCompared<_CMP_LE_OQ>>(level);
  return {};
}

LaneLoop3 f16_fma_loop(SimdLevel level) {
  if (level == SimdLevel::portable) return {};
  return [](Lanes a, Lanes b, Lanes c, std::uint8_t* out, std::size_t n) {
    run_halves<HalvesFma>(out, n, a, b, c);
  };
}

#else

LaneLoop1 f16_to_f32_loop(SimdLevel) { return {}; }
LaneLoop1 f32_to_f16_loop(SimdLevel) { return {}; }
LaneLoop2 f16_binary_loop(isa::BinaryOp, SimdLevel) { return {}; }
LaneLoop2 f16_comparison_loop(isa::BinaryOp, SimdLevel) { return {}; }
LaneLoop3 f16_fma_loop(SimdLevel) { return {}; }

#endif

}  // namespace tilevm::sim
