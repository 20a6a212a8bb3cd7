// Whether the run needs each barrier and each wait of the text: would it have been wrong without
// it?
//
// A barrier is needed if two touches race that only it keeps apart, or if a copy is used that only
// it made visible. It is needed, too, if a tensor's place is another's behind it. So beside what
// happened since the last barrier, a block keeps what happened since the barrier before it, as if
// the last one did not exist; a conflict with that shows that the last one is needed. A wait is
// needed if a copy is used that no other wait has retired. Once a barrier or wait is known to be
// needed, nothing is kept for it, so programs whose barriers are all needed pay in their first loop
// iterations only.
#pragma once

#include <cstdint>

#include "sim/access/shared_access.h"
#include "sim/checks/global_races.h"
#include "sim/checks/shared_races.h"
#include "sim/state/context.h"

namespace tilevm::sim {

/// Nothing is kept for the last barrier any more.
void stop_counterfactuals(Context& context);
/// A barrier runs; called before what was touched is forgotten.
void begin_without_barrier(std::uint32_t barrier, Context& context);
/// A copy has become visible behind a barrier that ran last.
void note_visible(const PendingCopy& copy, Context& context);
/// A wait retires a copy; called before the data arrives.
void note_retired(const PendingCopy& copy, std::uint32_t wait, Context& context);
/// A wait runs: groups up to this one are retired, by it too.
void note_wait(std::uint64_t group, std::uint32_t wait, Context& context);

/// A tile is used that raced with nothing: would it without the last barrier, or without a wait?
void check_without_barrier(const SharedAccess& access, const Coordinates& origin, SharedUse use,
                           Context& context);
void check_without_barrier(const GlobalFootprint& footprint, const TouchedIntervals& pieces,
                           Context& context);

}  // namespace tilevm::sim
