// Accesses whose result depends on timing: races in shared memory, and accesses to elements of an
// asynchronous copy in flight.
#pragma once

#include "sim/access/copy_plan.h"
#include "sim/access/shared_access.h"
#include "sim/checks/shared_races.h"

namespace tilevm::sim {

/// Whether a tile may be accessed now; records the access. False after a fault.
[[nodiscard]] bool check_shared_access(const ResolvedAccess& resolved, SharedUse use,
                                       Context& context);

/// Whether a copy may begin to fill a tile now, from any thread. Marks the tile as in flight.
[[nodiscard]] bool check_copy(const ResolvedAccess& destination, Context& context);

/// Adds notes to a fault: where the copy is, and which commit, wait or barrier is missing.
void explain_copy(const PendingCopy& copy, Context& context);

/// Clears the in-flight marks of a copy that has become visible.
void end_flight(const PendingCopy& copy, Context& context);

}  // namespace tilevm::sim
