// Races in global memory within a block, between its parties (group_races.h).
#pragma once

#include "sim/state/context.h"
#include "sim/state/global_history.h"

namespace tilevm::sim {

/// Whether the threads of the current group may touch these elements of global memory now, as far
/// as other threads of the block go; records the access. False after a fault.
[[nodiscard]] bool check_group_global(const GlobalFootprint& footprint,
                                      const TouchedIntervals& pieces, Context& context);

}  // namespace tilevm::sim
