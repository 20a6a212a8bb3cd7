// A tile of global memory at one origin, and where strides place it in its buffer.
#pragma once

#include <cstdint>

#include "sim/access/global_access.h"
#include "sim/access/tile_in_view.h"
#include "sim/state/context.h"
#include "sim/tiles/tile_table.h"

namespace tilevm::sim {

/// Where a tile lies in its buffer if all of its elements exist and strides give their places.
struct StridedPlace {
  TileTable* table = nullptr;   ///< offsets of the elements; null: each element is located
  std::uint64_t base_bits = 0;  ///< position of the tile's first element, in bits
};

[[nodiscard]] inline StridedPlace find_strided_place(const GlobalAccess& access,
                                                     const TileInView& cursor, Context& context) {
  StridedPlace place;
  if (access.indexed != nullptr || cursor.view().layout != nullptr || !cursor.inside_view() ||
      !cursor.inside_buffer(place.base_bits)) {
    return place;
  }
  place.table = &context.scratch.tables[access.table];
  place.table->prepare(*access.parts, access.tile, cursor.tile_strides());
  return place;
}

/// A tile at its origin, with what an execution asks of it more than once.
struct PlacedTile {
  PlacedTile(const GlobalAccess& its_access, Context& context, const TileOrigin& origin)
      : PlacedTile(its_access, context.state.views[its_access.view], context, origin) {}
  PlacedTile(const GlobalAccess& its_access, const GlobalView& view, Context& context,
             const TileOrigin& origin)
      : access(its_access),
        cursor(its_access, view, context, origin),
        strided(find_strided_place(its_access, cursor, context)) {}

  const GlobalAccess& access;
  TileInView cursor;
  StridedPlace strided;
};

}  // namespace tilevm::sim
