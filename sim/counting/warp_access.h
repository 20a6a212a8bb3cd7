// One access that the threads of a warp make together, and what it costs: sectors of global memory
// or wavefronts of shared memory, as an NVIDIA GPU from sm_80 on counts them.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/api/counters.h"

namespace tilevm::sim {

/// An active thread: its lane in the warp, where its access begins, and how many bytes it moves.
struct LaneAccess {
  unsigned lane = 0;
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
};

/// The active threads of a warp, in ascending lanes. Accesses are aligned to their size, so two of
/// them are equal or apart.
using WarpAccess = std::vector<LaneAccess>;

inline constexpr std::uint64_t sector_bytes = 32, line_bytes = 128;

/// A load or store in global memory: every sector that is touched counts once, however many threads
/// touch it.
[[nodiscard]] AccessCount count_sectors(const WarpAccess& access);

/// A load or store in shared memory, `width` bytes a thread. Word w (of 4 bytes) lies in bank w %
/// 32; one wavefront serves one word of every bank, to all threads that ask for it. Accesses of 8
/// bytes are served half a warp at a time, those of 16 bytes a quarter.
[[nodiscard]] AccessCount count_wavefronts(const WarpAccess& access, unsigned width);

/// An asynchronous copy of 16 bytes a thread, which goes past the L1 cache straight into shared
/// memory. A sector is read once for each sector of shared memory that a part of it goes to; the
/// cache looks up, in each line of 128 bytes, the sectors of shared memory that are written from
/// it. `shared` has the same lanes as `global`.
[[nodiscard]] AccessCount count_copied_sectors(const WarpAccess& global, const WarpAccess& shared);

}  // namespace tilevm::sim
