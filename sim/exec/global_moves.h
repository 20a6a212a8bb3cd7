// Tiles move between registers and global memory.
//
// If the whole tile is inside the view and inside the buffer, whole runs are copied (tile_table.h).
// Otherwise each element is checked.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/access/copy_plan.h"
#include "sim/access/global_access.h"
#include "sim/state/context.h"
#include "sim/state/global_history.h"

namespace tilevm::sim {

/// Tells the observer of accesses, if there is one, of an access that is about to happen.
void tell_observer(const GlobalFootprint& footprint, const Context& context);

/// Fills the tile: elements outside the view's extents become zero. False after a fault:
/// out_of_bounds for elements inside the extents but outside of the buffer.
[[nodiscard]] bool load(const GlobalAccess& access, Context& context);

/// Fills the copy's data as load fills a tile, and stores the tile's origin in the copy. Also
/// faults if elements are undefined.
[[nodiscard]] bool load_for_copy(const GlobalAccess& access, Context& context, PendingCopy& copy);

/// Finds the only element of an access without tile dimensions: its bit in the buffer. False after
/// a fault. The element must be inside the view and the buffer, whatever is checked.
[[nodiscard]] bool find_element(const GlobalAccess& access, Context& context, Coordinates& index,
                                std::uint64_t& bit);

/// Reads the only element of an access without tile dimensions, by all threads of its tile. Faults
/// as find_element and load, and if the element has no defined value.
[[nodiscard]] bool load_element(const GlobalAccess& access, Context& context, std::uint64_t& code);

/// What a copy to global memory moves: the tile that one thread holds, its undefined mask (empty if
/// all elements are defined; that of padding in a run that follows padding) and its shadow values
/// (empty unless the run keeps them).
struct CopiedTile {
  std::vector<std::uint8_t> data, undefined;
  Origin padding{};  ///< where the shared tensor's padding came from
  std::vector<ShadowSlot> shadow;
};

/// Where a tile begins in its view. False after a fault.
[[nodiscard]] bool find_origin(const GlobalAccess& access, Context& context, TileOrigin& origin);

/// Writes the elements of a copy that are inside the view's extents. Faults as store.
[[nodiscard]] bool store_copy(const GlobalAccess& access, const TileOrigin& origin,
                              const CopiedTile& copied, Context& context);

/// Records the source of a copy that is still pending after a barrier between blocks. False after a
/// race.
[[nodiscard]] bool keep_reading(const PendingCopy& copy, Context& context);

/// Writes each element once, or combines it with that of memory; elements outside the view's
/// extents are skipped. Faults as load, in_flight_access for elements that a pending copy reads,
/// and uninitialized_read if there is nothing to combine with.
[[nodiscard]] bool store(const GlobalAccess& access, Context& context);

}  // namespace tilevm::sim
