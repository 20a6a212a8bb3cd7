// The vector code of MmaTile, once per instruction set.
//
// A lane is a row m of the tile. Operands come decoded, as a float mantissa of the value and an
// integer exponent, so that one kernel serves every operand type:
//   a product is the float product of two mantissas, exact since they have 11 bits or fewer;
//   aligning and truncating it is a multiplication by a power of two, exact, and the conversion to
//   an integer, which truncates magnitudes;
//   eight products fit 32 bits; their sums are added in double, exactly;
//   the sum is rounded from the double once.
// NaN and Inf are not computed here: lanes with a NaN or an Inf are reported.
#pragma once

#include <cstddef>
#include <cstdint>

#include "isa/numeric/mma_rules.h"
#include "isa/type/dtype.h"
#include "sim/arithmetic/simd_level.h"
#include "sim/mma/float_fields.h"

namespace tilevm::sim {

inline constexpr int mma_rows = 16;        ///< m
inline constexpr int mma_max_columns = 8;  ///< n
inline constexpr int mma_max_depth = 64;   ///< k
/// Limit of alignment: eight products and an accumulator, less than 34 * 2^25, still fit 32 bits.
inline constexpr int mma_max_fraction_bits = 25;

/// One instruction as the kernel sees it.
struct MmaPlan {
  FloatFields accumulator;
  int depth;  ///< k
  int block;  ///< products of one block
  int fraction_bits;
  int min_exponent;
  isa::MmaRounding output;
  bool add_accumulator_last;  ///< the sum starts from +0; the caller adds c
};

/// The kernels of one level.
struct MmaKernels {
  /// Decodes `count` codes, a multiple of 16: value = mantissa * 2^exponent, NaN and Inf as zero.
  /// Says whether there was a NaN or an Inf.
  bool (*decode)(const FloatFields& fields, const std::uint32_t* codes, std::size_t count,
                 float* mantissa, std::int32_t* exponent);

  /// One column: d[16] = sum over k of a[k][16] * b[k], + c[16]. bad[m] is set to non-zero where an
  /// accumulator was NaN or Inf; d[m] is then undefined. Says whether there was one.
  bool (*column)(const MmaPlan& plan, const float* a_mantissa, const std::int32_t* a_exponent,
                 const float* b_mantissa, const std::int32_t* b_exponent, const std::uint32_t* c,
                 std::uint32_t* d, std::int32_t* bad);
};

/// The level must be one of simd_levels().
[[nodiscard]] const MmaKernels& mma_kernels(SimdLevel level);

}  // namespace tilevm::sim
