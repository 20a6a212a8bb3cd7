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

/// Registers of 32 bits of a multiprocessor. A thread has at most 255; a group of warps may take a
/// multiple of 8 from 24 to 256 (PTX ISA, setmaxnreg), and only for whole warp groups of 4 warps.
inline constexpr std::int64_t max_registers = 65536;
inline constexpr std::int64_t max_thread_registers = 255;
inline constexpr std::int64_t register_step = 8;
inline constexpr std::int64_t min_group_registers = 24, max_group_registers = 256;
inline constexpr std::int64_t warp_group_warps = 4;

/// Named barriers of a block (PTX ISA, barrier); 0 is that of the whole block.
inline constexpr std::int64_t named_barriers = 16;
/// Arrivals at a phase of a barrier and bytes that one instruction expects are below this.
inline constexpr std::int64_t max_arrivals = std::int64_t{1} << 20;
/// Stages of all barriers of a kernel, of 8 bytes each.
inline constexpr std::int64_t max_barrier_stages = 1024;
/// How deep groups of warps are nested at most.
inline constexpr int max_group_depth = 8;

/// Blocks of a cluster that every GPU with clusters has room for (CUDA C++ Programming Guide).
inline constexpr std::int64_t max_cluster_blocks = 8;

/// Extents of a grid in x, y and z, as in CUDA.
inline constexpr std::array<std::int64_t, 3> max_grid_extents{2147483647, 65535, 65535};

/// Elements of all shared tensors of a kernel: more than fit any target, unless strides of 0 lay
/// them one on the other.
inline constexpr std::int64_t max_shared_elements = 1 << 21;
/// Shared tensors of a kernel; placing them takes time that grows with the square of their number.
inline constexpr std::size_t max_shared_tensors = 1024;

}  // namespace tilevm::isa
