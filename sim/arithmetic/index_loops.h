// Loops over lanes that are indices: where they lead along a dimension of a tensor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "sim/arithmetic/simd_level.h"

namespace tilevm::sim {

/// Lanes of indices, `begin` is added to each. Sums with 64 bits wrap.
struct IndexLanes {
  const std::uint8_t* lanes;
  std::size_t count;
  std::int64_t begin;
  std::int64_t extent;  ///< extent of the dimension
};

/// along[i] is index i in the tensor, or -1 if that is outside.
struct FoundIndices {
  std::int64_t* along;
  bool inside = true;  ///< all of them
};
using IndexLoop = std::function<void(const IndexLanes&, FoundIndices*)>;

/// Bits of elements: offsets[i] = moved + base[i] + the share of index i, which is shares[index],
/// or stride * index if there are no shares. Where an index is outside, some other bit.
struct FoundOffsets {
  const std::uint32_t* base;
  const std::uint32_t* shares;
  std::uint32_t stride;
  std::uint32_t moved;
  std::uint32_t* offsets;
  bool inside = true;  ///< all of the indices
};
using OffsetLoop = std::function<void(const IndexLanes&, FoundOffsets*)>;

/// Loops for indices of `bits` bits; only those of 32 and 64 bits may be signed.
[[nodiscard]] IndexLoop index_loop(unsigned bits, bool is_signed,
                                   SimdLevel level = best_simd_level());
[[nodiscard]] OffsetLoop offset_loop(unsigned bits, bool is_signed,
                                     SimdLevel level = best_simd_level());

}  // namespace tilevm::sim
