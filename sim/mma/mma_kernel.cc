#include "sim/mma/mma_kernel.h"

#include <bit>
#include <cstring>

#include "isa/base/check.h"
#include "sim/mma/mma_simd.h"

namespace tilevm::sim {
namespace {

using isa::MmaRounding;

template <int W>
TILEVM_INLINE bool decode_body(const FloatFields& fields, const std::uint32_t* codes,
                               std::size_t count, float* mantissa, std::int32_t* exponent) {
  using Int = typename Simd<W>::Int;
  Int special{};
  for (std::size_t i = 0; i < count; i += W) {
    const Decoded<W> lanes = decode_lanes<W>(fields, load<Int>(codes + i));
    store(mantissa + i, lanes.mantissa);
    store(exponent + i, lanes.exponent);
    special |= lanes.special;
  }
  return any<W>(special);
}

/// The exact sum of a block: (low, high) * 2^exponent.
template <int W>
struct BlockSum {
  typename Simd<W>::Double low, high;
  typename Simd<W>::Int exponent;
};

template <int W>
struct Operands {
  const float* a_mantissa;
  const std::int32_t* a_exponent;
  const float* b_mantissa;
  const std::int32_t* b_exponent;
};

/// Adds 32-bit sums, each of at most eight products and an accumulator, to the doubles.
template <int W>
TILEVM_INLINE void flush(const typename Simd<W>::Int& sum, BlockSum<W>& total) {
  typename Simd<W>::HalfInt low, high;
  split<W>(sum, low, high);
  total.low += __builtin_convertvector(low, typename Simd<W>::Double);
  total.high += __builtin_convertvector(high, typename Simd<W>::Double);
}

/// Multiplies by 2^(biased - 127), taking factors below 2^-126 as zero, and truncates.
template <int W>
TILEVM_INLINE typename Simd<W>::Int scale_and_truncate(const typename Simd<W>::Float& value,
                                                       const typename Simd<W>::Int& biased) {
  using Int = typename Simd<W>::Int;
  const Int factor = max(biased, Int{}) << 23;
  return __builtin_convertvector(value * bits_of<typename Simd<W>::Float>(factor), Int);
}

template <int W>
TILEVM_INLINE BlockSum<W> sum_block(const MmaPlan& plan, const Operands<W>& in, int begin, int end,
                                    const Decoded<W>& c) {
  using Int = typename Simd<W>::Int;
  using Float = typename Simd<W>::Float;
  Int greatest = max(c.exponent, Int{} + plan.min_exponent);
  for (int k = begin; k < end; ++k) {
    greatest = max(greatest, load<Int>(in.a_exponent + k * mma_rows) + in.b_exponent[k]);
  }
  const Int shift = plan.fraction_bits + 127 - greatest;
  BlockSum<W> total{{}, {}, greatest - plan.fraction_bits};
  Int sum = scale_and_truncate<W>(c.mantissa, c.exponent + shift);
  for (int eight = begin; eight < end; eight += 8) {
    const int stop = eight + 8 < end ? eight + 8 : end;
    for (int k = eight; k < stop; ++k) {
      const Float product = load<Float>(in.a_mantissa + k * mma_rows) * in.b_mantissa[k];
      const Int exponent = load<Int>(in.a_exponent + k * mma_rows) + (shift + in.b_exponent[k]);
      sum += scale_and_truncate<W>(product, exponent);
    }
    flush<W>(sum, total);
    sum = Int{};
  }
  if (begin == end) flush<W>(sum, total);
  return total;
}

/// value * 2^exponent; exact, since it is far from the limits of double.
template <int W>
TILEVM_INLINE typename Simd<W>::Double scale(const typename Simd<W>::Double& value,
                                             const typename Simd<W>::HalfInt& exponent) {
  using Long = typename Simd<W>::Long;
  const Long biased = __builtin_convertvector(exponent, Long) + 1023;
  return value * bits_of<typename Simd<W>::Double>(biased << 52);
}

constexpr std::int64_t magnitude_mask = 0x7fffffffffffffff;

/// f32 codes with `digits` fraction bits, toward zero; zero without sign. Beyond f32's range a
/// truncated value converts to Inf.
template <int W>
TILEVM_INLINE typename Simd<W>::HalfInt round_f32(const typename Simd<W>::Double& value,
                                                  int digits) {
  using Double = typename Simd<W>::Double;
  using Long = typename Simd<W>::Long;
  using HalfInt = typename Simd<W>::HalfInt;
  const Long bits = bits_of<Long>(value);
  const Double kept = bits_of<Double>(bits & -(std::int64_t{1} << (52 - digits)));
  const auto normal = bits_of<HalfInt>(__builtin_convertvector(kept, typename Simd<W>::HalfFloat));
  const Double magnitude = bits_of<Double>(bits & magnitude_mask);
  const Long is_tiny = magnitude < 0x1p-126;
  const double units = std::bit_cast<double>(std::int64_t{1023 + 126 + digits} << 52);
  const Double tiny = bits_of<Double>(bits_of<Long>(magnitude * units) & is_tiny);
  const HalfInt count = __builtin_convertvector(tiny, HalfInt) << (23 - digits);
  const HalfInt sign = __builtin_convertvector(bits >> 63, HalfInt) & (count != 0) & sign_bit;
  return __builtin_convertvector(is_tiny, HalfInt) != 0 ? (count | sign) : normal;
}

/// f16 codes, to nearest even; zero without sign.
template <int W>
TILEVM_INLINE typename Simd<W>::HalfInt round_f16(const typename Simd<W>::Double& value) {
  using Double = typename Simd<W>::Double;
  using Long = typename Simd<W>::Long;
  using HalfInt = typename Simd<W>::HalfInt;
  constexpr int dropped = 42;
  const Long bits = bits_of<Long>(value);
  const Long magnitude = bits & magnitude_mask;
  // Half a unit, less one where the last kept bit is even: a carry runs into the exponent.
  const Long half = ((magnitude >> dropped) & 1) + ((std::int64_t{1} << (dropped - 1)) - 1);
  const Long rounded = (magnitude + half) >> dropped;
  constexpr std::int64_t rebias = std::int64_t{1023 - 15} << 10;
  const Long infinity = Long{} + 0x7c00;
  const Long normal = rounded - rebias;
  // Adding 2^28 to a value below 2^-14 rounds it to a multiple of 2^-24, the unit of subnormals,
  // and leaves their number in the low bits.
  const Long tiny = bits_of<Long>(bits_of<Double>(magnitude) + 0x1p28) & 0xffff;
  const Long is_tiny = bits_of<Double>(magnitude) < 0x1p-14;
  const Long code = is_tiny ? tiny : (normal < infinity ? normal : infinity);
  const Long sign = (bits >> 63) & (code != 0) & 0x8000;
  return __builtin_convertvector(code | sign, HalfInt);
}

template <int W>
TILEVM_INLINE typename Simd<W>::HalfInt round_half(MmaRounding output,
                                                   const typename Simd<W>::Double& value) {
  if (output == MmaRounding::f16_nearest_even) return round_f16<W>(value);
  return round_f32<W>(value, output == MmaRounding::f32_toward_zero ? 23 : 13);
}

template <int W>
TILEVM_INLINE typename Simd<W>::Int round_block(const MmaPlan& plan, const BlockSum<W>& sum) {
  using HalfInt = typename Simd<W>::HalfInt;
  HalfInt low_exponent, high_exponent;
  split<W>(sum.exponent, low_exponent, high_exponent);
  const HalfInt low = round_half<W>(plan.output, scale<W>(sum.low, low_exponent));
  const HalfInt high = round_half<W>(plan.output, scale<W>(sum.high, high_exponent));
  typename Simd<W>::Int codes;
  std::memcpy(&codes, &low, sizeof low);
  std::memcpy(reinterpret_cast<char*>(&codes) + sizeof low, &high, sizeof high);
  return codes;
}

template <int W>
TILEVM_INLINE bool column_body(const MmaPlan& plan, const float* a_mantissa,
                               const std::int32_t* a_exponent, const float* b_mantissa,
                               const std::int32_t* b_exponent, const std::uint32_t* c,
                               std::uint32_t* d, std::int32_t* bad) {
  using Int = typename Simd<W>::Int;
  Int all_bad{};
  for (int m = 0; m < mma_rows; m += W) {
    const Operands<W> in{a_mantissa + m, a_exponent + m, b_mantissa, b_exponent};
    Int accumulator = load<Int>(c + m);
    Int bad_lanes{};
    if (plan.add_accumulator_last) {
      bad_lanes = decode_lanes<W>(plan.accumulator, accumulator).special;
      accumulator = Int{};
    }
    for (int k = 0; k < plan.depth; k += plan.block) {
      const int end = k + plan.block < plan.depth ? k + plan.block : plan.depth;
      const Decoded<W> lanes = decode_lanes<W>(plan.accumulator, accumulator);
      bad_lanes |= lanes.special;
      accumulator = round_block<W>(plan, sum_block<W>(plan, in, k, end, lanes));
    }
    if (plan.add_accumulator_last) {
      bad_lanes |= decode_lanes<W>(plan.accumulator, accumulator).special;
    }
    store(d + m, accumulator);
    store(bad + m, bad_lanes);
    all_bad |= bad_lanes;
  }
  return any<W>(all_bad);
}

// Defines the two functions of a level; `target` is their attribute.
// NOLINTBEGIN(bugprone-macro-parentheses): an attribute cannot be in parentheses
#define TILEVM_KERNELS(name, lanes, target)                                                     \
  target bool decode_##name(const FloatFields& fields, const std::uint32_t* codes,              \
                            std::size_t count, float* mantissa, std::int32_t* exponent) {       \
    return decode_body<lanes>(fields, codes, count, mantissa, exponent);                        \
  }                                                                                             \
  target bool column_##name(const MmaPlan& plan, const float* a_mantissa,                       \
                            const std::int32_t* a_exponent, const float* b_mantissa,            \
                            const std::int32_t* b_exponent, const std::uint32_t* c,             \
                            std::uint32_t* d, std::int32_t* bad) {                              \
    return column_body<lanes>(plan, a_mantissa, a_exponent, b_mantissa, b_exponent, c, d, bad); \
  }                                                                                             \
  constexpr MmaKernels kernels_##name{decode_##name, column_##name};

TILEVM_KERNELS(portable, 4, )
#if defined(__x86_64__)
TILEVM_KERNELS(avx2, 8, [[gnu::target("avx2")]])
TILEVM_KERNELS(avx512, 16, [[gnu::target("avx512f,avx512dq,avx512vl,avx512bw")]])
#endif
// NOLINTEND(bugprone-macro-parentheses)

}  // namespace

const MmaKernels& mma_kernels(SimdLevel level) {
#if defined(__x86_64__)
  if (level == SimdLevel::avx512) return kernels_avx512;
  if (level == SimdLevel::avx2) return kernels_avx2;
#endif
  TILEVM_CHECK(level == SimdLevel::portable, "a level that this processor does not have");
  return kernels_portable;
}

}  // namespace tilevm::sim
