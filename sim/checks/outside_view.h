// Indices that data chose and that are outside of their view: elements that no mask of the program
// expects (Report::outside).
#pragma once

#include "sim/access/global_access.h"
#include "sim/access/tile_in_view.h"
#include "sim/state/context.h"

namespace tilevm::sim {

/// Counts an access whose offset fixes an index outside of the view (Checks::bounds), and elements
/// whose index tile places them outside (Checks::outside).
/// Loads past the end of a view by an index that counts iterations are those of loops that read
/// ahead.
void note_outside(const GlobalAccess& access, const TileInView& cursor, bool stores,
                  Context& context);

}  // namespace tilevm::sim
