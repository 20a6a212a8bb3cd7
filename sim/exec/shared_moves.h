// Tiles move between registers and shared memory.
#pragma once

#include "sim/access/shared_access.h"
#include "sim/state/context.h"

namespace tilevm::sim {

/// Fills a tile. False after a fault: elements outside the tensor, a race, a copy in flight.
[[nodiscard]] bool load_tile(const SharedAccess& access, Context& context);

/// Writes each element once. Faults as load_tile.
[[nodiscard]] bool store_tile(const SharedAccess& access, Context& context);

}  // namespace tilevm::sim
