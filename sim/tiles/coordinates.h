// Coordinates in tensors, and views of global memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "isa/layout/memory_layout.h"
#include "isa/layout/register_layout.h"

namespace tilevm::sim {

inline constexpr std::size_t max_rank = isa::RegisterLayout::max_rank;

/// One number a dimension; entries beyond the rank are unused.
using Coordinates = std::array<std::int64_t, max_rank>;

/// A view of global memory after its extents and strides were evaluated. Extents are in
/// 0 .. 2^40, strides (in elements) in -2^48 .. 2^48.
struct GlobalView {
  int buffer = -1;  ///< index into Memory
  int rank = 0;
  Coordinates extents{}, strides{};
  /// The layout, instead of strides, if it has several modes or a swizzle.
  const isa::MemoryLayout* layout = nullptr;
};

}  // namespace tilevm::sim
