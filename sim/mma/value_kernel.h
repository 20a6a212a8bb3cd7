// The vector code of MmaTile for operands whose products are exact floats, which are those of f16,
// of floats of 8 bits and, within a window of exponents, of bf16 and tf32.
//
// A lane is a row m of the tile. An operand comes as floats, and with a step for each: how far its
// exponent is above the least of the operand.
//   The greatest exponent of an output's products is a maximum of sums of steps, which fit a byte.
//   A product times one factor of the output, a power of two, is aligned; the conversion to an
//   integer truncates its magnitude.
//   Half of a block's products fit 32 bits. So do both halves, but for inputs near the limits of
//   all terms at once; such lanes are reported.
//   The sum is rounded once, and its unit is a power of two that a float holds.
// Every lane with a NaN or an Inf is reported, or (of an operand) known to the caller.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "sim/mma/mma_kernel.h"

namespace tilevm::sim {

/// Exponents of the elements of an operand that are not zero: all the same if there is none.
struct ExponentRange {
  std::int32_t least, greatest;
};

/// The step of the least exponent; zero has the step 0. The sum of two steps of 64 and more is
/// above every sum with a zero's.
inline constexpr int least_step = 64;
/// Exponents of an operand are at most so far apart.
inline constexpr int max_exponent_span = 62;

/// Two operands and what to do with them.
struct ValueProduct {
  const float* a_values;        ///< [k][16]
  const std::uint8_t* a_steps;  ///< [k][16]
  const float* b_values;        ///< [n][k]
  const std::uint8_t* b_steps;  ///< [n][k]
  int columns;                  ///< n
  int least_exponent;           ///< the sum of the operands' least exponents
};

/// Lanes that a kernel leaves to the model, by columns: bit m: row m.
using BadRows = std::array<std::uint32_t, mma_max_columns>;

struct ValueKernels {
  /// Decodes `count` codes, a multiple of 16, NaN and Inf as zero. Steps are of no use where the
  /// range is wider than max_exponent_span. Says whether there was a NaN or an Inf.
  bool (*decode)(const FloatFields& fields, const std::uint32_t* codes, std::size_t count,
                 float* values, std::uint8_t* steps, ExponentRange& range);

  /// d = a * b + c, codes [n][16]; d is not c.
  void (*multiply)(const MmaPlan& plan, const ValueProduct& in, const std::uint32_t* c,
                   std::uint32_t* d, BadRows& bad);
};

/// The level must be one of simd_levels().
[[nodiscard]] const ValueKernels& value_kernels(SimdLevel level);

/// Whether the kernels compute a plan whose blocks hold at most `products` products that are not
/// zero, as many in each half, where the operands' exponents allow.
[[nodiscard]] bool supports_values(const MmaPlan& plan, int products);

/// Whether products of elements in these ranges are exact floats for the plan.
[[nodiscard]] bool has_exact_products(const MmaPlan& plan, const ExponentRange& a,
                                      const ExponentRange& b);

}  // namespace tilevm::sim
