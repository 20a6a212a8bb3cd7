// One access that the threads of a warp make together, and its cost: sectors of global memory or
// wavefronts of shared memory, as NVIDIA GPUs from sm_80 on count them.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/api/counters.h"

namespace tilevm::sim {

inline constexpr std::int64_t warp_size = 32;

/// An active thread: its lane in the warp, where its access begins, and how many bytes it moves.
struct LaneAccess {
  unsigned lane = 0;
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
};

/// The active threads of a warp, in ascending lanes. Accesses are aligned to their size, so two of
/// them are equal or disjoint.
using WarpAccess = std::vector<LaneAccess>;

inline constexpr std::uint64_t sector_bytes = 32, line_bytes = 128;

/// A load or store in global memory: each touched sector counts once, for any number of threads.
[[nodiscard]] AccessCount count_sectors(const WarpAccess& access);

/// Threads of a warp whose accesses of `width` bytes to shared memory are served together: all,
/// half of them for 8 bytes, a quarter for 16.
[[nodiscard]] constexpr unsigned lanes_served_together(unsigned width) {
  return width > 4 ? 128 / width : 32;
}

/// Banks of shared memory, each a word of 4 bytes wide.
inline constexpr unsigned shared_banks = 32;

/// A load or store in shared memory, `width` bytes a thread. Word w (of 4 bytes) is in bank w % 32.
/// One wavefront serves one word of every bank, to all threads that ask for that word. Accesses of
/// 8 bytes are served half a warp at a time, accesses of 16 bytes a quarter.
[[nodiscard]] AccessCount count_wavefronts(const WarpAccess& access, unsigned width);

/// An asynchronous copy of 16 bytes a thread, which bypasses the L1 cache on its way to shared
/// memory. A sector of global memory is read once for each sector of shared memory that receives a
/// part of it. A line of 128 bytes is looked up once for each sector of shared memory that is
/// written from the line. `shared` has the same lanes as `global`.
[[nodiscard]] AccessCount count_copied_sectors(const WarpAccess& global, const WarpAccess& shared);

}  // namespace tilevm::sim
