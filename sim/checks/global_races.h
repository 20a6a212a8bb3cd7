// Which elements of global memory a block touched, so that races are found: between its threads
// since the last barrier, and with other blocks at its end (block_races.h).
//
// Only buffers that the kernel writes are looked at. What was touched is a set of intervals of
// bits; threads are looked at only where intervals meet that are not the same tile in the same
// place.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sim/state/global_history.h"

namespace tilevm::sim {

class Context;

/// Whether a thread that now reads or writes a granule races with those whose marks are kept.
[[nodiscard]] bool conflicts(const BufferHistory& touches, std::uint64_t granule,
                             std::size_t thread, bool is_write);

/// Adds the intervals of a footprint, whatever its threads.
void add_intervals(BufferHistory& touches, const GlobalFootprint& footprint,
                   const TouchedIntervals& pieces);

/// Whether the footprint races with what a set holds; if not, it is added (a copy is not).
[[nodiscard]] bool conflicts_with_history(BufferHistory& touches, const GlobalFootprint& footprint,
                                          const TouchedIntervals& pieces, const Context& context);

/// All threads of the block meet.
void forget_history(GlobalHistory& touches);
/// The block has ended, or other blocks may follow: they are compared with what it touched.
void publish_accesses(Context& context);

}  // namespace tilevm::sim
