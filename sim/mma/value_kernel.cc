// More than 400 lines: decoding and multiplying share the vectors and the fields of formats.
// Products of tensor cores as exact floats, aligned by one factor for each output.
// It has more than 400 lines: its templates are one kernel at every width, and inline into one
// another.
#include "sim/mma/value_kernel.h"

#include <algorithm>

#include "isa/base/check.h"
#include "sim/mma/mma_simd.h"

namespace tilevm::sim {
namespace {

using isa::MmaRounding;

/// The steps of 16 rows for W / 4 elements of k.
template <int W>
using Bytes = typename Simd<W>::Bytes;

constexpr FloatFields f32_fields{0, 23, 8, 0x7f800000};
constexpr FloatFields f16_fields{0, 10, 5, 0x7c00};

template <class Vector>
TILEVM_INLINE Vector min(const Vector& a, const Vector& b) {
  return a < b ? a : b;
}

/// 2^exponent, for -126 to 127.
template <int W>
TILEVM_INLINE typename Simd<W>::Float power_of_two(const typename Simd<W>::Int& exponent) {
  return bits_of<typename Simd<W>::Float>((exponent + 127) << 23);
}

// --- Decoding ------------------------------------------------------------------------------------

template <int W>
TILEVM_INLINE void store_steps(std::uint8_t* to, const typename Simd<W>::Int& steps) {
  store(to, __builtin_convertvector(steps, typename Simd<W>::Narrow));
}

/// Types whose exponents all fit a window: the least exponent is the type's.
template <int W>
TILEVM_INLINE bool decode_narrow(const FloatFields& fields, const std::uint32_t* codes,
                                 std::size_t count, float* values, std::uint8_t* steps,
                                 ExponentRange& range) {
  using Int = typename Simd<W>::Int;
  const int bias = (1 << (fields.exponent_bits - 1)) - 1;
  range = {1 - bias, bias + 1};
  Int special{};
  for (std::size_t i = 0; i < count; i += W) {
    const Decoded<W> lanes = decode_lanes<W>(fields, load<Int>(codes + i));
    const Int exponent = max(lanes.exponent, Int{} + range.least);
    store(values + i, lanes.mantissa * power_of_two<W>(exponent));
    const Int step = exponent - (range.least - least_step);
    store_steps<W>(steps + i, lanes.exponent > zero_exponent ? step : Int{});
    special |= lanes.special;
  }
  return any<W>(special);
}

/// f16: the bits of its f32, and the exponent as a field.
template <int W>
TILEVM_INLINE bool decode_halves(const std::uint32_t* codes, std::size_t count, float* values,
                                 std::uint8_t* steps, ExponentRange& range) {
  using Int = typename Simd<W>::Int;
  using Float = typename Simd<W>::Float;
  range = {-14, 16};
  Int special{};
  for (std::size_t i = 0; i < count; i += W) {
    const Int code = load<Int>(codes + i), magnitude = code & 0x7fff;
    const Int field = magnitude >> 10, fields = magnitude << 13;
    // A subnormal has the exponent of 2^-14 put in front, and that taken away.
    const Float tiny = bits_of<Float>(fields + (113 << 23)) - 0x1p-14F;
    const Int finite = field != 0 ? fields + (112 << 23) : bits_of<Int>(tiny);
    const Int value = magnitude >= 0x7c00 ? Int{} : finite;
    store(values + i, bits_of<Float>(value | ((code << 16) & sign_bit)));
    const Int step = max(field, Int{} + 1) + (least_step - 1);
    store_steps<W>(steps + i, value != 0 ? step : Int{});
    special |= max(magnitude - 0x7bff, Int{});
  }
  return any<W>(special);
}

template <int W>
TILEVM_INLINE std::int32_t greatest_lane(const typename Simd<W>::Int& v) {
  std::array<std::int32_t, W> lanes;
  store(lanes.data(), v);
  return *std::max_element(lanes.begin(), lanes.end());
}

template <int W>
TILEVM_INLINE bool decode_wide(const FloatFields& fields, const std::uint32_t* codes,
                               std::size_t count, float* values, std::uint8_t* steps,
                               ExponentRange& range) {
  using Int = typename Simd<W>::Int;
  alignas(64) std::array<std::int32_t, std::size_t{mma_max_depth} * mma_rows> exponents;
  Int special{}, greatest = Int{} + zero_exponent, least = Int{} - zero_exponent;
  for (std::size_t i = 0; i < count; i += W) {
    const Decoded<W> lanes = decode_lanes<W>(fields, load<Int>(codes + i));
    store(values + i, lanes.mantissa * power_of_two<W>(max(lanes.exponent, Int{} - 126)));
    store(exponents.data() + i, lanes.exponent);
    greatest = max(greatest, lanes.exponent);
    least = min(least, lanes.exponent > zero_exponent ? lanes.exponent : Int{} - zero_exponent);
    special |= lanes.special;
  }
  range = {-greatest_lane<W>(-least), greatest_lane<W>(greatest)};
  if (range.greatest == zero_exponent) range = {0, 0};
  for (std::size_t i = 0; i < count; i += W) {
    const Int exponent = load<Int>(exponents.data() + i);
    const Int step = exponent - (range.least - least_step);
    store_steps<W>(steps + i, exponent > zero_exponent ? step : Int{});
  }
  return any<W>(special);
}

template <int W>
TILEVM_INLINE bool decode_body(const FloatFields& fields, const std::uint32_t* codes,
                               std::size_t count, float* values, std::uint8_t* steps,
                               ExponentRange& range) {
  const bool is_f16 = fields.mantissa_bits == 10 && fields.exponent_bits == 5;
  if (is_f16) return decode_halves<W>(codes, count, values, steps, range);
  if (fields.exponent_bits <= 5) {
    return decode_narrow<W>(fields, codes, count, values, steps, range);
  }
  return decode_wide<W>(fields, codes, count, values, steps, range);
}

// --- A block -------------------------------------------------------------------------------------

/// Bytes of W / 4 elements of b, each for 16 rows.
template <int W>
TILEVM_INLINE Bytes<W> spread(const std::uint8_t* b) {
  if constexpr (W == 16) {
    using Words [[gnu::vector_size(64)]] = std::uint32_t;
    std::uint32_t word = 0;
    std::memcpy(&word, b, sizeof word);
    const auto all = bits_of<Bytes<16>>(Words{} + word);
    return __builtin_shufflevector(all, all, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 17, 17,
                                   17, 17, 17, 17, 17, 17, 17, 17, 17, 17, 17, 17, 17, 17, 34, 34,
                                   34, 34, 34, 34, 34, 34, 34, 34, 34, 34, 34, 34, 34, 34, 51, 51,
                                   51, 51, 51, 51, 51, 51, 51, 51, 51, 51, 51, 51, 51, 51);
  } else if constexpr (W == 8) {
    using Halves [[gnu::vector_size(32)]] = std::uint16_t;
    std::uint16_t half = 0;
    std::memcpy(&half, b, sizeof half);
    const auto all = bits_of<Bytes<8>>(Halves{} + half);
    return __builtin_shufflevector(all, all, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 17, 17,
                                   17, 17, 17, 17, 17, 17, 17, 17, 17, 17, 17, 17, 17, 17);
  } else {
    return Bytes<W>{} + *b;
  }
}

using Row [[gnu::vector_size(mma_rows)]] = std::uint8_t;

/// The greatest sum of steps of each row, for k from `begin` to `end`.
template <int W>
TILEVM_INLINE Row greatest_steps(const std::uint8_t* a, const std::uint8_t* b, int begin, int end) {
  Bytes<W> greatest{};
  for (int k = begin; k < end; k += W / 4) {
    greatest = max(greatest, load<Bytes<W>>(a + k * mma_rows) + spread<W>(b + k));
  }
  Row rows[W / 4];
  std::memcpy(rows, &greatest, sizeof rows);
  for (int i = 1; i < W / 4; ++i) rows[0] = max(rows[0], rows[i]);
  return rows[0];
}

/// An accumulator, taken apart.
template <int W>
struct Addend {
  typename Simd<W>::Float value;
  typename Simd<W>::Int exponent;  ///< exponent; very low for zero
  typename Simd<W>::Int special;
};

template <int W>
TILEVM_INLINE Addend<W> decode_f32(const typename Simd<W>::Int& codes) {
  using Int = typename Simd<W>::Int;
  const Int magnitude = codes & 0x7fffffff, field = magnitude >> 23;
  const Int exponent = max(field, Int{} + 1) - 127;
  return {bits_of<typename Simd<W>::Float>(codes),
          magnitude != 0 ? exponent : Int{} + zero_exponent, (field + 1) & 256};
}

template <int W>
TILEVM_INLINE Addend<W> decode_f16(const typename Simd<W>::Int& codes) {
  const Decoded<W> lanes = decode_lanes<W>(f16_fields, codes);
  const auto exponent = max(lanes.exponent, typename Simd<W>::Int{} - 14);
  return {lanes.mantissa * power_of_two<W>(exponent), lanes.exponent, lanes.special};
}

template <int W>
TILEVM_INLINE typename Simd<W>::Int truncated(const typename Simd<W>::Float& value) {
  return __builtin_convertvector(value, typename Simd<W>::Int);
}

/// `fixed` products, or if that is 0 `count`.
template <int W, int fixed>
TILEVM_INLINE typename Simd<W>::Int sum_products(const float* a, const float* b, int count,
                                                 const typename Simd<W>::Float& factor) {
  using Float = typename Simd<W>::Float;
  typename Simd<W>::Int sum{};
  const int products = fixed != 0 ? fixed : count;
#pragma GCC unroll 8
  for (int k = 0; k < products; ++k) {
    sum += truncated<W>(load<Float>(a + k * mma_rows) * b[k] * factor);
  }
  return sum;
}

/// Bits of the greatest float that is not above a magnitude.
template <int W>
TILEVM_INLINE typename Simd<W>::Int toward_zero(const typename Simd<W>::Int& magnitude) {
  using Int = typename Simd<W>::Int;
  using Float = typename Simd<W>::Float;
  // No nearest float is 2^31, which does not fit back.
  const Int most = min(magnitude, Int{} + 0x7fffff80);
  const Int nearest = bits_of<Int>(__builtin_convertvector(most, Float));
  return nearest + ((most - truncated<W>(bits_of<Float>(nearest))) >> 31);
}

/// f16 codes to nearest even; a zero has no sign.
template <int W>
TILEVM_INLINE typename Simd<W>::Int round_f16(const typename Simd<W>::Float& value) {
  using Int = typename Simd<W>::Int;
  using Float = typename Simd<W>::Float;
  const Int bits = bits_of<Int>(value), magnitude = bits & 0x7fffffff;
  const Int normal = (magnitude + 0xfff + ((magnitude >> 13) & 1) - (112 << 23)) >> 13;
  // Adding 0.5 rounds to a multiple of 2^-24 and leaves their number in the low bits.
  const Int tiny = bits_of<Int>(bits_of<Float>(magnitude) + 0.5F) - 0x3f000000;
  const Int code = magnitude < 0x38800000 ? tiny : min(normal, Int{} + 0x7c00);
  return code != 0 ? code | ((bits >> 16) & 0x8000) : code;
}

/// One block of one vector of rows.
template <int W, bool half>
struct RowBlock {
  using Int = typename Simd<W>::Int;
  using Float = typename Simd<W>::Float;

  const MmaPlan& plan;
  const ValueProduct& in;

  /// The sum of a block in units of 2^unit, before it is rounded.
  struct Sum {
    Int sum, unit, tiny;  ///< `tiny` is negative where the accumulator is the sum
  };

  /// Adds `count` products to an accumulator, from the operands' first ones on.
  template <int fixed>
  TILEVM_INLINE Sum add(const Int& accumulator, const float* a, const float* b, const Row& steps,
                        int m, int count, Int& bad) const {
    const auto c = half ? decode_f16<W>(accumulator) : decode_f32<W>(accumulator);
    typename Simd<W>::Narrow narrow;
    std::memcpy(&narrow, reinterpret_cast<const std::uint8_t*>(&steps) + m, sizeof narrow);
    const Int step = __builtin_convertvector(narrow, Int);
    const Int lowest = Int{} + plan.min_exponent;
    const Int products =
        step >= 2 * least_step ? step + (in.least_exponent - 2 * least_step) : lowest;
    const Int greatest = max(max(products, c.exponent), lowest);
    const Int unit = max(greatest - plan.fraction_bits, Int{} - 126);
    const Float factor = power_of_two<W>(-unit);
    const int first = fixed != 0 ? fixed : count / 2;
    const Int low =
        sum_products<W, fixed>(a + m, b, first, factor) + truncated<W>(c.value * factor);
    const Int high =
        sum_products<W, fixed>(a + m + first * mma_rows, b + first, count - first, factor);
    const Int sum = low + high;
    // A sum of -2^31 has no magnitude either.
    const Int magnitude = sum < 0 ? -sum : sum;
    bad |= c.special | ((((low ^ sum) & (high ^ sum)) | magnitude) & sign_bit);
    // Below 2^-126 units all products are zero.
    return {sum, unit, greatest - (plan.fraction_bits - 126)};
  }

  /// The accumulator after a block.
  TILEVM_INLINE Int finish(const Int& accumulator, const Sum& block) const {
    const Int magnitude = block.sum < 0 ? -block.sum : block.sum;
    const Int rounded = round(block.sum, magnitude, block.unit);
    if constexpr (half) return rounded;
    if (!any<W>(block.tiny & sign_bit)) return rounded;
    return block.tiny < 0 ? shortened(accumulator) : rounded;
  }

  TILEVM_INLINE Int round(const Int& sum, const Int& magnitude, const Int& unit) const {
    const Int bits = toward_zero<W>(magnitude);
    const Int sign = sum & sign_bit;
    if constexpr (half) {
      const Int back = truncated<W>(bits_of<Float>(bits));
      const Int odd = bits | min(magnitude - back, Int{} + 1) | sign;
      return round_f16<W>(bits_of<Float>(odd) * power_of_two<W>(unit));
    } else {
      const Int kept = (bits & kept_bits()) | sign;
      return bits_of<Int>(bits_of<Float>(kept) * power_of_two<W>(unit));
    }
  }

  [[nodiscard]] std::int32_t kept_bits() const {
    return plan.output == MmaRounding::e8m13_toward_zero ? ~0x3ff : ~0;
  }

  /// The accumulator alone, rounded.
  TILEVM_INLINE Int shortened(const Int& accumulator) const {
    const Int kept = accumulator & kept_bits();
    return (kept & 0x7fffffff) != 0 ? kept : Int{};
  }
};

/// a + b in IEEE arithmetic, of accumulators that are neither NaN nor Inf; `sum` has no -0.
template <int W, bool half>
TILEVM_INLINE typename Simd<W>::Int add_last(const typename Simd<W>::Int& c,
                                             const typename Simd<W>::Int& sum,
                                             typename Simd<W>::Int& bad) {
  const auto a = half ? decode_f16<W>(c) : decode_f32<W>(c);
  const auto b = half ? decode_f16<W>(sum) : decode_f32<W>(sum);
  bad |= a.special | b.special;
  if constexpr (half) return round_f16<W>(a.value + b.value);
  return bits_of<typename Simd<W>::Int>(a.value + b.value);
}

/// The bits of lanes from `m` on that are not zero.
template <int W>
TILEVM_INLINE std::uint32_t rows_of(const typename Simd<W>::Int& mask, int m) {
  if (!any<W>(mask)) return 0;
  std::array<std::int32_t, W> lanes;
  store(lanes.data(), mask);
  std::uint32_t rows = 0;
  for (int i = 0; i < W; ++i) {
    rows |= lanes[static_cast<std::size_t>(i)] != 0 ? 1U << (m + i) : 0U;
  }
  return rows;
}

/// The columns of one tile. Each of a block's three steps is done for all columns in turn, so that
/// the processor works on several at once.
template <int W, bool half, int fixed>
TILEVM_INLINE void multiply_columns(const MmaPlan& plan, const ValueProduct& in,
                                    const std::uint32_t* c, std::uint32_t* d, BadRows& bad) {
  using Int = typename Simd<W>::Int;
  using Rows = RowBlock<W, half>;
  constexpr int vectors = mma_rows / W;
  const Rows block{plan, in};
  Int accumulators[mma_max_columns * vectors], bad_lanes[mma_max_columns * vectors];
  typename Rows::Sum sums[mma_max_columns * vectors];
  Row steps[mma_max_columns];
  const int count = in.columns * vectors;
  for (int i = 0; i < count; ++i) {
    accumulators[i] = plan.add_accumulator_last ? Int{} : load<Int>(c + i * W);
    bad_lanes[i] = Int{};
  }
  for (int k = 0; k < plan.depth; k += plan.block) {
    const int products = k + plan.block < plan.depth ? plan.block : plan.depth - k;
    for (int n = 0; n < in.columns; ++n) {
      steps[n] = greatest_steps<W>(in.a_steps, in.b_steps + n * plan.depth, k, k + products);
    }
    const float* const a = in.a_values + k * mma_rows;
    for (int n = 0; n < in.columns; ++n) {
      const float* const b = in.b_values + n * plan.depth + k;
      for (int v = 0; v < vectors; ++v) {
        const int i = n * vectors + v;
        sums[i] = block.template add<fixed>(accumulators[i], a, b, steps[n], v * W, products,
                                            bad_lanes[i]);
      }
    }
    for (int i = 0; i < count; ++i) accumulators[i] = block.finish(accumulators[i], sums[i]);
  }
  for (int n = 0; n < in.columns; ++n) {
    std::uint32_t rows = 0;
    for (int v = 0; v < vectors; ++v) {
      const int i = n * vectors + v;
      if (plan.add_accumulator_last) {
        accumulators[i] = add_last<W, half>(load<Int>(c + i * W), accumulators[i], bad_lanes[i]);
      }
      store(d + i * W, accumulators[i]);
      rows |= rows_of<W>(bad_lanes[i], v * W);
    }
    bad[static_cast<std::size_t>(n)] = rows;
  }
}

template <int W, bool half>
TILEVM_INLINE void multiply_blocks(const MmaPlan& plan, const ValueProduct& in,
                                   const std::uint32_t* c, std::uint32_t* d, BadRows& bad) {
  if (plan.block == 16 && plan.depth % 16 == 0) {
    multiply_columns<W, half, 8>(plan, in, c, d, bad);
  } else {
    multiply_columns<W, half, 0>(plan, in, c, d, bad);
  }
}

template <int W>
TILEVM_INLINE void multiply_body(const MmaPlan& plan, const ValueProduct& in,
                                 const std::uint32_t* c, std::uint32_t* d, BadRows& bad) {
  if (plan.output == MmaRounding::f16_nearest_even) {
    multiply_blocks<W, true>(plan, in, c, d, bad);
  } else {
    multiply_blocks<W, false>(plan, in, c, d, bad);
  }
}

// Defines the functions of a level; `target` is their attribute.
// NOLINTBEGIN(bugprone-macro-parentheses): an attribute cannot be in parentheses
#define TILEVM_VALUE_KERNELS(name, lanes, target)                                              \
  target bool decode_values_##name(const FloatFields& fields, const std::uint32_t* codes,      \
                                   std::size_t count, float* values, std::uint8_t* steps,      \
                                   ExponentRange& range) {                                     \
    return decode_body<lanes>(fields, codes, count, values, steps, range);                     \
  }                                                                                            \
  target void multiply_values_##name(const MmaPlan& plan, const ValueProduct& in,              \
                                     const std::uint32_t* c, std::uint32_t* d, BadRows& bad) { \
    multiply_body<lanes>(plan, in, c, d, bad);                                                 \
  }                                                                                            \
  constexpr ValueKernels value_kernels_##name{decode_values_##name, multiply_values_##name};

TILEVM_VALUE_KERNELS(portable, 4, )
#if defined(__x86_64__)
TILEVM_VALUE_KERNELS(avx2, 8, [[gnu::target("avx2")]])
TILEVM_VALUE_KERNELS(avx512, 16, [[gnu::target("avx512f,avx512dq,avx512vl,avx512bw")]])
#endif
// NOLINTEND(bugprone-macro-parentheses)

}  // namespace

const ValueKernels& value_kernels(SimdLevel level) {
#if defined(__x86_64__)
  if (level == SimdLevel::avx512) return value_kernels_avx512;
  if (level == SimdLevel::avx2) return value_kernels_avx2;
#endif
  TILEVM_CHECK(level == SimdLevel::portable, "a level that this processor does not have");
  return value_kernels_portable;
}

bool supports_values(const MmaPlan& plan, int products) {
  // A product is less than 2^(fraction_bits + 2), and half of them fit 2^30.
  const bool fits = products <= 1 << (29 - plan.fraction_bits);
  // Four steps of b are loaded at a time.
  const bool whole = plan.depth % 4 == 0 && plan.block % 4 == 0;
  // The floor does not move an f32 accumulator that stands alone.
  const bool low_floor = plan.output == MmaRounding::f16_nearest_even || plan.min_exponent <= -126;
  return fits && whole && low_floor;
}

bool has_exact_products(const MmaPlan& plan, const ExponentRange& a, const ExponentRange& b) {
  const auto narrow = [](const ExponentRange& range) {
    return range.greatest - range.least <= max_exponent_span;
  };
  // The factor of an output with a product is 2^126 at most, and products are less than 2^128.
  return narrow(a) && narrow(b) && a.least + b.least >= plan.fraction_bits - 126 &&
         a.greatest + b.greatest <= 126;
}

}  // namespace tilevm::sim
