// Races for shared memory between the threads of a block.
#pragma once

#include "sim/shared_access.h"

namespace tilevm::sim {

/// Whether every thread may touch its part of a tile; takes note of it. False after a fault. Runs
/// found before may be gone.
[[nodiscard]] bool check_race(const SharedAccess& access, const Numbers& origin, bool writes,
                              Context& context);

/// Whether nobody has touched since the last barrier what a copy, made by any thread, will fill.
[[nodiscard]] bool check_copy_race(const SharedAccess& access, const Numbers& origin,
                                   Context& context);

/// Forgets who touched what: all threads have met.
void forget_touches(SharedMemory& shared);

}  // namespace tilevm::sim
