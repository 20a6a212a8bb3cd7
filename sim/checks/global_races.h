// The access history of a block in global memory. The history finds races between the
// block's threads since the last barrier, and races with other blocks at the block's end
// (block_races.h).
//
// Only buffers that the kernel writes are tracked. The history is a set of intervals of bits.
// Threads are compared only where intervals meet that are not the same tile at the same origin.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sim/state/global_history.h"

namespace tilevm::sim {

class Context;

/// Whether a thread of a footprint that touches a granule now races with a recorded access.
[[nodiscard]] bool is_race(const BufferHistory& history, const GlobalFootprint& footprint,
                           std::size_t thread, std::uint64_t granule, const Context& context);

/// Adds the intervals of a footprint, without its threads.
void add_intervals(BufferHistory& history, const GlobalFootprint& footprint,
                   const TouchedIntervals& pieces);

/// Whether a footprint races with the history. If not, the footprint is added, unless it is a copy.
[[nodiscard]] bool conflicts_with_history(BufferHistory& history, const GlobalFootprint& footprint,
                                          const TouchedIntervals& pieces, const Context& context);

/// All threads are at a barrier: the history since the last one is added to the block's.
void forget_history(GlobalHistory& history);
/// Hands the block's history to the detector of races between blocks, at a turn or at the end.
void publish_accesses(Context& context);

}  // namespace tilevm::sim
