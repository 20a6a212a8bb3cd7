// Elements from outside of a view, and what depends on them (Checks::padding).
//
// A run that follows padding keeps it in the masks of undefined elements: no element is undefined
// then. What passes it on is said by the same transfers (undefined_flow.h), but for elements that
// change nothing: those that are neutral for what combines them (neutral_elements.h).
#pragma once

#include <cstdint>
#include <vector>

#include "sim/access/placed_tile.h"
#include "sim/access/shared_access.h"
#include "sim/state/context.h"

namespace tilevm::sim {

/// The mask of a tile's elements that are outside of the view, padding in a workspace, or placed by
/// an index that is padding.
[[nodiscard]] std::vector<std::uint8_t> padding_of(PlacedTile& placed, const Context& context);

/// Marks these elements of a tile that was loaded.
void load_padding(PlacedTile& placed, Context& context);

void load_shared_padding(const ResolvedAccess& from, Context& context);

/// Moves the mask of a tile to a workspace. In other memory, no element that is stored inside the
/// view may be marked; false after a fault.
[[nodiscard]] bool store_padding(PlacedTile& placed, Context& context);

/// Moves the mask of what a copy brings from shared to global memory, as store_padding.
[[nodiscard]] bool store_copied_padding(PlacedTile& placed, const std::vector<std::uint8_t>& mask,
                                        const Origin& origin, Context& context);

/// Moves the mask of a tile, or of a copy, to shared memory.
void store_shared_padding(const ResolvedAccess& to, Context& context);
void arrive_padding(const PendingCopy& copy, const ResolvedAccess& to, Context& context);
/// Adds the mask of a tile to that of the elements with which it is combined.
void combine_shared_padding(const ResolvedAccess& to, Context& context);

}  // namespace tilevm::sim
