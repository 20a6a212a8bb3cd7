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
#pragma once

#include <cstdint>
#include <optional>
#include <string>
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
  /// Of a sparse one: the fragment of the places, u2 of [m, selectors * k / 2], in one register.
  /// With two selectors, every thread's register serves one of two instructions side by side along
  /// k.
  RegisterLayout places_layout = {};
  int selectors = 1;

  /// The elements of a row of A that are multiplied.
  [[nodiscard]] std::int64_t stored_k() const { return sparse ? k / 2 : k; }
  /// "m16n8k16", "sp.m16n8k32": what tells it from other instructions on the same types.
  [[nodiscard]] std::string label() const { return sparse ? "sp." + name : name; }
};

/// Every instruction known. Of the same types those with larger m come first, then larger k.
[[nodiscard]] const std::vector<MmaShape>& mma_shapes();

/// The instructions that a target has for these types, in that order.
[[nodiscard]] std::vector<const MmaShape*> mma_shapes(const Target& target, const DType& a,
                                                      const DType& b, const DType& accumulator);

/// The types that a target's instructions take, for messages: "f16 x f16 + f32 or f16, ...".
[[nodiscard]] std::string list_mma_types(const Target& target);

/// The same of sparse instructions.
[[nodiscard]] const std::vector<MmaShape>& sparse_mma_shapes();
[[nodiscard]] std::vector<const MmaShape*> sparse_mma_shapes(const Target& target, const DType& a,
                                                             const DType& b,
                                                             const DType& accumulator);
[[nodiscard]] std::string list_sparse_mma_types(const Target& target);

/// For one sparse instruction alone: every pair of threads that the selector leaves out holds the
/// places of the pair that it names.
[[nodiscard]] RegisterLayout single_places_layout(const MmaShape& shape);

/// How an instruction adds; nothing where the target does not have it.
[[nodiscard]] std::optional<MmaRule> mma_rule(const Target& target, const MmaShape& shape);

/// The instructions that may compute a Dot of these types: those of the types themselves, or for
/// bipolar operands those of u1 (all bits by AND and population count), then of i8.
[[nodiscard]] std::vector<const MmaShape*> dot_shapes(const Target& target, const DType& a,
                                                      const DType& b, const DType& accumulator);

}  // namespace tilevm::isa
