// Limits on tiles and blocks. Programs come from strangers, so that sizes are bounded before
// anything is allocated.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace tilevm::isa {

/// Limits on one tile, since programs come from strangers: bits per thread, and threads per block
/// (CUDA's 1024).
inline constexpr std::int64_t max_tile_bits_per_thread = 1 << 15;
inline constexpr std::int64_t max_threads = 1024;
/// Threads of all blocks that a multiprocessor works on at a time.
inline constexpr std::int64_t max_resident_threads = 2048;

/// Extents of a grid in x, y and z, as in CUDA.
inline constexpr std::array<std::int64_t, 3> max_grid_extents{2147483647, 65535, 65535};

/// Elements of all shared tensors of a kernel: more than fit any target, unless strides of 0 lay
/// them one on the other.
inline constexpr std::int64_t max_shared_elements = 1 << 21;
/// Shared tensors of a kernel; placing them takes time that grows with the square of their number.
inline constexpr std::size_t max_shared_tensors = 1024;

}  // namespace tilevm::isa
