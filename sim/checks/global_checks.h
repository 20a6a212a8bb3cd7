// Whether an access to a tracked buffer of global memory races, and the report if it does.
#pragma once

#include "sim/state/context.h"
#include "sim/state/global_history.h"

namespace tilevm::sim {

/// Checks and records an access to a tracked buffer; false after a fault: threads race.
[[nodiscard]] bool check_global(const GlobalFootprint& footprint, const TouchedIntervals& pieces,
                                Context& context);

}  // namespace tilevm::sim
