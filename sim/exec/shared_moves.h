// Tiles move between registers and shared memory.
#pragma once

#include "sim/access/shared_access.h"
#include "sim/state/context.h"

namespace tilevm::sim {

/// Fills a tile. False after a fault: elements outside the tensor, a race, a copy in flight.
[[nodiscard]] bool load_tile(const SharedAccess& access, Context& context);

/// Writes each element once, or combines it with that of memory. Faults as load_tile, and if there
/// is nothing to combine with.
[[nodiscard]] bool store_tile(const SharedAccess& access, Context& context);

}  // namespace tilevm::sim
