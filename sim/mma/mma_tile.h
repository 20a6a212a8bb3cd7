// Tensor-core instructions on whole tiles, fast: 16 rows of m are the lanes of a vector.
//
// D[m, n] = A[m, k] * B[k, n] + C[m, n] for the floating classes that work in blocks (operands of
// f16, bf16, tf32 and narrower floats without scales; f32 and f16 results), m = 16, n <= 8, k
// <= 64. The bits are those of mma_model.h on every input and in every variant.
//
// A sparse instruction is computed as the dense one of the same k, with zeros where nothing is
// stored: a block of the rule, which counts stored products, takes twice as many k. A zero adds
// nothing to a block unless it meets a NaN or Inf, and lanes with these are computed by the model.
//
// Layouts, all dense:   A codes [k][16]   B codes [n][k]   C and D codes [n][16]
// so that the caller gathers fragments column by column. Operands are decoded once and may be used
// in many multiplications:
//
//   MmaTile unit(rule, f16, f16, 16);
//   unit.load_a(a_codes, a);  unit.load_b(b_codes, 8, b);  unit.multiply(a, b, c_codes, c_codes);
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "isa/numeric/mma_rules.h"
#include "isa/type/dtype.h"
#include "sim/mma/mma_kernel.h"
#include "sim/mma/value_kernel.h"

namespace tilevm::sim {

/// The most codes of an operand.
inline constexpr std::size_t mma_max_codes_a = std::size_t{mma_max_depth} * mma_rows;
inline constexpr std::size_t mma_max_codes_b = std::size_t{mma_max_columns} * mma_max_depth;

/// Decoded operand A: value of (k, m) = mantissa * 2^exponent; zero has a very low exponent. k
/// is in the order of the rule's blocks. A NaN or Inf code counts as zero here and marks its row.
/// For most operands the values and steps (value_kernel.h) serve, and `has_parts` is false.
struct MmaOperandA {
  alignas(64) std::array<float, mma_max_codes_a> mantissa;
  alignas(64) std::array<std::int32_t, mma_max_codes_a> exponent;
  alignas(64) std::array<float, mma_max_codes_a> values;
  alignas(64) std::array<std::uint8_t, mma_max_codes_a> steps;
  ExponentRange range;
  bool has_parts;                                    ///< mantissas and exponents
  std::array<std::uint32_t, mma_max_codes_a> codes;  ///< [k][16], as loaded
  std::uint32_t special_rows;                        ///< bit m: NaN or Inf in row m
  /// Stored elements of a sparse matrix, by row: bit k.
  std::array<std::uint64_t, mma_rows> stored;
};

/// Decoded operand B, the same by columns: [n][k].
struct MmaOperandB {
  alignas(64) std::array<float, mma_max_codes_b> mantissa;
  alignas(64) std::array<std::int32_t, mma_max_codes_b> exponent;
  alignas(64) std::array<float, mma_max_codes_b> values;
  alignas(64) std::array<std::uint8_t, mma_max_codes_b> steps;
  ExponentRange range;
  bool has_parts;
  std::array<std::uint32_t, mma_max_codes_b> codes;  ///< [n][k], as loaded
  std::uint32_t special_columns;
  int columns;  ///< n
};

/// One instruction of one class at one level.
class MmaTile {
 public:
  /// Whether the kernel supports the rule and the depth. Integers, f64, block scales and longer k
  /// are not supported.
  [[nodiscard]] static bool supports(const isa::MmaRule& rule, int k, bool sparse = false);

  /// `k` is the instruction's; supports(rule, k, sparse) must hold.
  MmaTile(const isa::MmaRule& rule, const isa::DType& a_type, const isa::DType& b_type, int k,
          SimdLevel level = best_simd_level(), bool sparse = false);

  /// Decodes k * 16 codes [k][16].
  void load_a(const std::uint32_t* codes, MmaOperandA& out) const;
  /// The operand of a sparse instruction: decodes k / 2 * 16 codes [k / 2][16] and puts them to
  /// their places, below 4, in the same order. The second of two equal places in a pair counts.
  void load_sparse_a(const std::uint32_t* codes, const std::uint32_t* places,
                     MmaOperandA& out) const;
  /// Decodes n * k codes [n][k], n <= 8.
  void load_b(const std::uint32_t* codes, int n, MmaOperandB& out) const;

  /// d = a * b + c, [n][16]; d may be c. f32 codes, or f16 codes in the low halves.
  void multiply(const MmaOperandA& a, const MmaOperandB& b, const std::uint32_t* c,
                std::uint32_t* d) const;

 private:
  [[nodiscard]] bool is_reordered() const { return plan_.add_accumulator_last; }
  template <class Operand>
  bool decode(const std::uint32_t* ordered, std::size_t count, const isa::DType& type,
              Operand& out) const;
  BadRows multiply_values(const MmaOperandA& a, const MmaOperandB& b, const std::uint32_t* c,
                          std::uint32_t* d) const;
  BadRows multiply_parts(const MmaOperandA& a, const MmaOperandB& b, const std::uint32_t* c,
                         std::uint32_t* d) const;
  void redo(const MmaOperandA& a, const MmaOperandB& b, const std::uint32_t* c, int n, int m,
            std::uint32_t* d) const;

  isa::MmaRule rule_;
  isa::DType a_type_, b_type_;
  /// The types that are decoded: the operands' own, or f16 (MmaMethod::fp8_split).
  isa::DType a_decoded_, b_decoded_;
  int k_;
  bool sparse_;
  MmaPlan plan_;
  const MmaKernels* kernels_;
  const ValueKernels* value_kernels_;               ///< null: not for this plan
  std::array<std::size_t, mma_max_depth> order_{};  ///< order of k: first, second, ...
};

/// All steps of MmaTile at once, for one tile.
void mma_tile(const isa::MmaRule& rule, const isa::DType& a_type, const isa::DType& b_type, int n,
              int k, const std::uint32_t* a, const std::uint32_t* b, const std::uint32_t* c,
              std::uint32_t* d);

}  // namespace tilevm::sim
