// Where an index says that the elements of a tile are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "isa/program/tile_move.h"
#include "sim/state/context.h"
#include "sim/state/preparation.h"
#include "sim/tiles/indexed_table.h"
#include "sim/tiles/tile_origin.h"

namespace tilevm::sim {

/// The index of an instruction, prepared.
struct IndexedAccess {
  IndexedTile tile;
  std::size_t table = 0;  ///< in Scratch::indexed_tables
  std::string index_name;
};

/// Without the dimensions of the tile, which only tables need. `offset` is that of the index in the
/// register slab, `layout` that of the tile whose elements the index places.
[[nodiscard]] IndexedTile indexed_tile(const isa::IndexedDim& indexed,
                                       const isa::RegisterType& index, std::size_t offset,
                                       const isa::RegisterLayout& layout);

/// `layout` is that of the tile whose elements the index places, `tile_dims` by the tensor's
/// dimension.
[[nodiscard]] std::shared_ptr<const IndexedAccess> make_indexed_access(
    const isa::IndexedDim& indexed, const isa::RegisterLayout& layout,
    const std::vector<int>& tile_dims, const Preparation& preparation);

/// The table of a tile at an origin in a tensor; valid until the next search for the same access.
[[nodiscard]] const IndexedTable& find_indexed_table(const IndexedAccess& access,
                                                     const LayoutParts& parts,
                                                     const TensorInMemory& tensor,
                                                     const Coordinates& origin, Context& context);

/// Reads the index. Sums of `begin` and an index of 64 bits wrap. Says whether all are inside the
/// tensor.
struct FoundPlaces {
  std::shared_ptr<IndexedPlaces> places;
  bool inside = true;
};
[[nodiscard]] FoundPlaces read_index(const IndexedAccess& access, const IndexedTable& table,
                                     std::int64_t begin, std::int64_t extent, Context& context);

/// The index that an element takes, before the offset is added.
[[nodiscard]] std::int64_t index_value(const IndexedTile& tile, std::size_t thread,
                                       std::size_t place, const RegisterSlab& registers);

}  // namespace tilevm::sim
