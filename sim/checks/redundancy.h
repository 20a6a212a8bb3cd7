// Finds redundant barriers and waits: those without which the run would have been right too.
//
// A barrier is needed in three cases: two accesses race that only this barrier orders, a copy is
// used that only this barrier made visible, or shared memory is reused by another tensor after the
// barrier. A block keeps two access histories: since the last barrier, and since the barrier before
// that, as if the last one did not exist. A conflict with the second history shows that the last
// barrier is needed. A wait is needed if a copy is used that no other wait has retired. No history
// is kept for a barrier or wait known to be needed. So programs whose barriers are all needed pay
// in their first loop iterations only.
#pragma once

#include <cstdint>

#include "sim/access/shared_access.h"
#include "sim/checks/global_races.h"
#include "sim/checks/shared_races.h"
#include "sim/state/context.h"

namespace tilevm::sim {

/// Drops the counterfactual history of the last barrier.
void stop_counterfactuals(Context& context);
/// The block takes a turn among blocks, which is a barrier too. From then on another block may
/// write what a copy reads, so the wait that retired the copy is needed.
void end_counterfactuals(Context& context);
/// A barrier runs; called before the access history is forgotten.
void begin_without_barrier(std::uint32_t barrier, Context& context);
/// The last barrier has made a copy visible.
void note_visible(const PendingCopy& copy, Context& context);
/// A wait retires a copy; called before the data arrives.
void note_retired(const PendingCopy& copy, std::uint32_t wait, Context& context);
/// A wait runs and retires the groups up to this one; another wait may have retired them before.
void note_wait(std::uint64_t group, std::uint32_t wait, Context& context);

/// Whether an access without a race would race without the last barrier, or without a wait.
void check_without_barrier(const ResolvedAccess& resolved, SharedUse use, Context& context);
void check_without_barrier(const GlobalFootprint& footprint, const TouchedIntervals& pieces,
                           Context& context);

}  // namespace tilevm::sim
