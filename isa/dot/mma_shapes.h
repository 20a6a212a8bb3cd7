// The tensor-core instructions that Dot uses: one table of types, extents and targets, from which
// the fragments follow.
//
// In every fragment, thread t of a warp holds registers of e elements (32 bits, or one element of
// 64) side by side along k; r is the register, j the element in it (PTX ISA, "Matrix Fragments for
// mma"):
//   A  row = t/4 + 8 * (r % (m/8)),  k = 4e * (r / (m/8)) + e * (t%4) + j
//   B  column = t/4,                 k = 4e * r + e * (t%4) + j
//   C  row = t/4 + 8 * (i/2),        column = 2 * (t%4) + i%2
//
// A sparse instruction stores two of each four elements of a row of A. Its A fragment is that of
// the stored elements; the places of all of them, 2 bits each, are in one register of some or all
// threads, which the instruction's sparsity selector names.
//
// A block-scaled instruction multiplies each product by a scale of A and one of B, which its
// neighbours along k share (isa/numeric/mma_rules.h, MmaScaling):
//   scales of A  row = t/4 + 8 * (t%2), all of k   in threads t and t + 2
//   scales of B  column = t/4, all of k            in the four threads of a quad
// Of kind::mxf8f6f4 every operand's element has a byte of a register, whatever its width.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "isa/layout/register_layout.h"
#include "isa/numeric/mma_rules.h"
#include "isa/numeric/target.h"
#include "isa/type/dtype.h"

namespace tilevm::isa {

inline constexpr std::int64_t warp_size = 32;

/// PTX `mma.sync.aligned.<name>`: D[m, n] = A[m, k] * B[k, n] + C[m, n]; of a sparse one
/// `mma.sp::ordered_metadata.sync.aligned.<name>`.
struct MmaShape {
  std::string name;  ///< "m16n8k16"
  std::int64_t m, n, k;
  DType a, b, accumulator;
  RegisterLayout a_layout, b_layout, c_layout;  ///< fragments over one warp
  int min_sm;                                   ///< 80 for sm_80 and later
  bool sparse = false;                          ///< A stores [m, k / 2]
  /// Sparse instructions: the fragment of the places, u2 of [m, selectors * k / 2], in one
  /// register. With two selectors, every thread's register serves one of two instructions side by
  /// side along k.
  RegisterLayout places_layout = {};
  int selectors = 1;
  /// Instructions on u1: the product of two bits is their XOR instead of their AND (`.xor.popc`).
  bool exclusive_or = false;
  MmaScaling scaling = MmaScaling::none;
  /// Block-scaled instructions: the type of the scales, and the layouts of those of A, [m, k / G],
  /// and of B, [k / G, n]. G elements of A and of B share a scale.
  DType scale = f8e8m0;
  RegisterLayout a_scales_layout = {}, b_scales_layout = {};

  /// The elements of a row of A that are multiplied.
  [[nodiscard]] std::int64_t stored_k() const { return sparse ? k / 2 : k; }
  /// The scales of a row of A.
  [[nodiscard]] std::int64_t scales() const {
    return scaling == MmaScaling::none ? 0 : k / products_per_scale(scaling);
  }
  /// "m16n8k16", "sp.m16n8k32", "mxf4.m16n8k64", "xor.m16n8k256": what tells it from other
  /// instructions on the same types.
  [[nodiscard]] std::string label() const;
};

/// Where the code of an operand's element is among the bits that it has in a register: all of
/// them, or of kind::mxf8f6f4 a part of a byte (PTX ISA, "Matrix fragments for mma.m16n8k32").
struct RegisterElement {
  int bits = 0;   ///< number of bits of an element in a register
  int shift = 0;  ///< position of the code's lowest bit
};
[[nodiscard]] RegisterElement register_element(const MmaShape& shape, const DType& operand);

/// PTX's name of the scaling without the type of scales: "mxf8f6f4", "mxf4", "mxf4nvf4".
[[nodiscard]] std::string_view kind_name(MmaScaling scaling);

/// Every instruction known. Instructions on the same types are ordered by m, larger first, then by
/// k.
[[nodiscard]] const std::vector<MmaShape>& mma_shapes();

/// The instructions that a target has for these types, in that order.
[[nodiscard]] std::vector<const MmaShape*> mma_shapes(const Target& target, const DType& a,
                                                      const DType& b, const DType& accumulator);

/// The types that a target's instructions take, for messages: "f16 x f16 + f32 or f16, ...".
[[nodiscard]] std::string list_mma_types(const Target& target);

/// Every known instruction on a sparse matrix.
[[nodiscard]] const std::vector<MmaShape>& sparse_mma_shapes();
[[nodiscard]] std::vector<const MmaShape*> sparse_mma_shapes(const Target& target, const DType& a,
                                                             const DType& b,
                                                             const DType& accumulator);
[[nodiscard]] std::string list_sparse_mma_types(const Target& target);

/// Every known instruction with block scales, ordered also by the type of the scales.
[[nodiscard]] const std::vector<MmaShape>& scaled_mma_shapes();
[[nodiscard]] std::vector<const MmaShape*> scaled_mma_shapes(const Target& target, const DType& a,
                                                             const DType& b, const DType& scale,
                                                             const DType& accumulator);
[[nodiscard]] std::string list_scaled_mma_types();
/// How many products share a scale of this type; 0 for other types.
[[nodiscard]] int products_per_scale(const DType& scale);

/// For one sparse instruction alone: every pair of threads that the selector leaves out holds the
/// places of the pair that it names.
[[nodiscard]] RegisterLayout single_places_layout(const MmaShape& shape);

/// How an instruction adds; nothing where the target does not have it.
[[nodiscard]] std::optional<MmaRule> mma_rule(const Target& target, const MmaShape& shape);

/// The instructions that count the ones of XORs, whose counts bipolar operands need not correct.
/// dot_shapes offers them below sm_90: from there on each becomes two machine instructions.
[[nodiscard]] const std::vector<MmaShape>& xor_mma_shapes();

/// The instructions that may compute a Dot of these types: those of the types themselves, or for
/// bipolar operands those of u1 (all bits by XOR or AND and population count), then of i8.
[[nodiscard]] std::vector<const MmaShape*> dot_shapes(const Target& target, const DType& a,
                                                      const DType& b, const DType& accumulator);

}  // namespace tilevm::isa
