// Where an index says that the elements of a tile are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "isa/program/tile_move.h"
#include "sim/state/context.h"
#include "sim/state/preparation.h"
#include "sim/tiles/indexed_table.h"
#include "sim/tiles/tile_origin.h"

namespace tilevm::sim {

/// The index of an instruction, prepared.
struct IndexedAccess {
  IndexedTile tile;
  std::size_t table = 0;  ///< index in Scratch::indexed_tables
  std::string index_name;
};

/// Without the dimensions of the tile, which only tables need. `offset` is that of the index in the
/// register slab, `layout` that of the tile whose elements the index places.
[[nodiscard]] IndexedTile indexed_tile(const isa::IndexedDim& indexed,
                                       const isa::RegisterType& index, std::size_t offset,
                                       const isa::RegisterLayout& layout);

/// By the element of a tile of `shape`: the row-major number of the element that it takes of a tile
/// that broadcasts to it.
[[nodiscard]] std::vector<std::int64_t> index_numbers(const isa::Shape& index,
                                                      const isa::Shape& shape);

/// The places of a copy of a tile of `shape`, which one thread holds in row-major order.
[[nodiscard]] IndexedTile indexed_copy(const isa::IndexedDim& indexed,
                                       const isa::RegisterType& index, std::size_t offset,
                                       const isa::Shape& shape);

/// `tile_dims` by the tensor's dimension; `moved` is the tile whose elements the index places.
[[nodiscard]] std::shared_ptr<const IndexedAccess> make_indexed_access(
    IndexedTile tile, const std::vector<int>& tile_dims, const Tile& moved, std::string index_name,
    const Preparation& preparation);

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

/// The runs of a tile in a shared tensor whose table has offsets (SharedOffsets): finds the runs of
/// the tile, `moved` bits after those of the table, instead of IndexedPlaces::along. Not to be used
/// if an index is outside.
[[nodiscard]] FoundPlaces find_shared_runs(const IndexedAccess& access, const IndexedTable& table,
                                           std::int64_t begin, std::uint32_t moved,
                                           Context& context);

/// The index that an element takes, before the offset is added.
[[nodiscard]] std::int64_t index_value(const IndexedTile& tile, std::size_t thread,
                                       std::size_t place, const RegisterSlab& registers);

}  // namespace tilevm::sim
