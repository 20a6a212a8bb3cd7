// Block-scaled tensor-core instructions on whole tiles, fast: 16 rows of m are the lanes of a
// vector.
//
// D[m, n] = (A SA)[m, k] * (B SB)[k, n] + C[m, n], m = 16, n <= 8, with scales of ue8m0 or ue4m3
// (isa/numeric/mma_rules.h, MmaScaling). The bits are those of mma_model.h on every input.
//
//   mxf8f6f4       a scale adds to the exponents of its elements, so that the kernels of MmaTile
//                  multiply them as they are
//   mxf4, mxf4nvf4 the sums of a group of 16 products, in quarters, fit 16 bits; a group and the
//                  accumulator are at most five terms, aligned in 64 bits
//
// Rows and columns with a NaN, and accumulators that are NaN or Inf, are computed by the model.
//
// Layouts, all dense:   A codes [k][16], scales [scale][16]   B codes [n][k], scales [n][scale]
//                       C and D codes [n][16]
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "isa/dot/mma_shapes.h"
#include "isa/numeric/mma_rules.h"
#include "sim/mma/mma_tile.h"

namespace tilevm::sim {

inline constexpr std::size_t most_scales = 4;  ///< most scales of a row of an instruction

/// Scales as the kernels take them. A significand counts in units of 2^exponent, of f8e4m3 of
/// 2^(exponent - 3): the exponent is that of its own field.
struct DecodedScales {
  std::array<std::uint8_t, most_scales * mma_rows> codes;  ///< codes by row of a or column of b
  std::array<std::int32_t, most_scales * mma_rows> exponent;
  std::array<std::int32_t, most_scales * mma_rows> significand;
};

struct ScaledOperandA {
  MmaOperandA elements;
  DecodedScales scales;                                          ///< [row][scale]
  alignas(64) std::array<std::int16_t, mma_max_codes_a> halves;  ///< values of f4e2m1, doubled
};

struct ScaledOperandB {
  MmaOperandB elements;
  DecodedScales scales;  ///< [column][scale]
  alignas(64) std::array<std::int16_t, mma_max_codes_b> halves;
};

/// One instruction at one level of vector instructions.
class ScaledTile {
 public:
  /// The tile of a shape that has scales, and its rule.
  ScaledTile(const isa::MmaRule& rule, const isa::MmaShape& shape,
             SimdLevel level = best_simd_level());

  void load_a(const std::uint32_t* codes, const std::uint32_t* scales, ScaledOperandA& out) const;
  void load_b(const std::uint32_t* codes, const std::uint32_t* scales, int n,
              ScaledOperandB& out) const;
  /// d = (a sa) (b sb) + c; d may be c.
  void multiply(const ScaledOperandA& a, const ScaledOperandB& b, const std::uint32_t* c,
                std::uint32_t* d) const;

 private:
  /// Bit m: row m of a column cannot be computed here.
  using Rows = std::uint32_t;
  [[nodiscard]] bool has_groups() const { return rule_.group != 0; }
  [[nodiscard]] bool decode_scale(std::uint32_t code, std::size_t at, DecodedScales& out) const;
  [[nodiscard]] Rows multiply_column(const ScaledOperandA& a, const ScaledOperandB& b, int n,
                                     const std::uint32_t* c, std::uint32_t* d) const;
  [[nodiscard]] Rows add_groups(const ScaledOperandA& a, const ScaledOperandB& b, int n,
                                const std::uint32_t* c, std::uint32_t* d) const;
  [[nodiscard]] std::uint32_t redo(const ScaledOperandA& a, const ScaledOperandB& b, int n, int m,
                                   std::uint32_t c) const;

  isa::MmaRule rule_;
  isa::DType a_type_, b_type_;
  std::size_t k_, scales_;
  MmaPlan plan_;
  const MmaKernels* kernels_;
};

}  // namespace tilevm::sim
