// The tensor-core instructions of warp groups (PTX ISA, "wgmma.mma_async"): 64 rows of m over four
// warps, 32 bytes of k, and any multiple of 8 columns up to 256.
//
// Thread t of the group holds registers of e elements side by side; w is its warp:
//   A  row = 16 w + t%32/4 + 8 * (r%2),  k = 4e * (r/2) + e * (t%4) + j, where A is in registers
//   D  row = 16 w + t%32/4 + 8 * (i/2%2),  column = 8 * (i/4) + 2 * (t%4) + i%2
// B, and A if it is not in registers, lie in shared memory (shared_matrix.h).
#pragma once

#include <string>
#include <vector>

#include "isa/dot/mma_shapes.h"

namespace tilevm::isa {

inline constexpr std::int64_t warp_group_size = 128;

/// Every instruction known. Instructions on the same types are ordered by columns, more first.
[[nodiscard]] const std::vector<MmaShape>& wgmma_shapes();

/// The instructions that a target has for these types, in that order.
[[nodiscard]] std::vector<const MmaShape*> wgmma_shapes(const Target& target, const DType& a,
                                                        const DType& b, const DType& accumulator);

/// Whether a matrix of these elements may have consecutive m or n beside one another in shared
/// memory; otherwise consecutive k are.
[[nodiscard]] bool may_be_mn_major(const DType& type);

/// The types that the instructions take, for messages.
[[nodiscard]] std::string list_wgmma_types();

}  // namespace tilevm::isa
