// What makes the result of a block depend on timing: races for shared memory, and accesses to what
// an asynchronous copy still moves.
#pragma once

#include "sim/access/copy_plan.h"
#include "sim/access/shared_access.h"
#include "sim/checks/shared_races.h"

namespace tilevm::sim {

/// Whether a tile may be touched now; takes note of who does. False after a fault. Runs found
/// before may be gone.
[[nodiscard]] bool check_shared_access(const SharedAccess& access, const Coordinates& origin,
                                       SharedUse use, Context& context);

/// Whether a copy may begin to fill a tile now, from any thread. Marks it as in flight.
[[nodiscard]] bool check_copy(const SharedAccess& access, const Coordinates& origin,
                              Context& context);

/// Says which copy fills or reads what, and what has to be waited for.
void explain_copy(const PendingCopy& copy, Context& context);

/// Takes back the marks of a copy that has become visible.
void end_flight(const PendingCopy& copy, Context& context);

}  // namespace tilevm::sim
