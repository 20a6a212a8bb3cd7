#include "sim/access/indexed_places.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "isa/layout/broadcast.h"
#include "isa/layout/shape.h"
#include "isa/type/bits.h"
#include "sim/tiles/lane_tiles.h"

namespace tilevm::sim {
namespace {

/// The indices of the runs, in their order.
IndexLanes lanes_of(const IndexedAccess& access, const IndexedTable& table, std::int64_t begin,
                    std::int64_t extent, const std::uint8_t* lanes, Context& context) {
  const Tile& index = access.tile.index;
  if (!table.same_order) {
    lanes = gather_lanes(index.bits, table.index_places, lanes, index.locals,
                         table.base.size() / table.runs, context.scratch.lanes[0]);
  }
  return {lanes, table.base.size(), begin, extent};
}

/// All indices, thread after thread.
const std::uint8_t* read_all(const IndexedAccess& access, Context& context) {
  const Tile& index = access.tile.index;
  return read_lanes({index, nullptr}, context.state.registers, 0, index.threads,
                    context.scratch.lanes[0]);
}

/// Memory for the places of an access: that of an execution before, unless someone keeps it.
std::shared_ptr<IndexedPlaces> new_places(std::size_t number, Context& context) {
  constexpr std::size_t most_kept = 4;
  std::vector<std::shared_ptr<IndexedPlaces>>& kept = context.scratch.indexed_places[number];
  const auto unused = std::find_if(kept.begin(), kept.end(),
                                   [](const auto& places) { return places.use_count() == 1; });
  if (unused != kept.end()) return *unused;
  if (kept.size() == most_kept) kept.erase(kept.begin());
  kept.push_back(std::make_shared<IndexedPlaces>());
  return kept.back();
}

/// What does not depend on where each index is.
IndexedTile without_places(const isa::IndexedDim& indexed, const isa::RegisterType& index,
                           std::size_t offset) {
  IndexedTile tile;
  tile.dim = static_cast<std::size_t>(indexed.dim);
  tile.index = make_tile(index, offset);
  tile.is_signed = index.dtype.is_signed_int();
  tile.find_indices = index_loop(tile.index.bits, tile.is_signed);
  tile.find_offsets = offset_loop(tile.index.bits, tile.is_signed);
  return tile;
}

}  // namespace

IndexedTile indexed_tile(const isa::IndexedDim& indexed, const isa::RegisterType& index,
                         std::size_t offset, const isa::RegisterLayout& layout) {
  IndexedTile tile = without_places(indexed, index, offset);
  tile.index_places = *isa::broadcast_places(layout, index.layout);
  return tile;
}

std::vector<std::int64_t> index_numbers(const isa::Shape& index, const isa::Shape& shape) {
  std::vector<std::int64_t> numbers;
  for (std::int64_t i = 0; i < isa::element_count(shape); ++i) {
    const isa::Index at = isa::unravel(i, shape);
    isa::Index own(at.end() - static_cast<std::ptrdiff_t>(index.size()), at.end());
    for (std::size_t d = 0; d < own.size(); ++d) {
      if (index[d] == 1) own[d] = 0;
    }
    numbers.push_back(isa::ravel(own, index));
  }
  return numbers;
}

IndexedTile indexed_copy(const isa::IndexedDim& indexed, const isa::RegisterType& index,
                         std::size_t offset, const isa::Shape& shape) {
  IndexedTile tile = without_places(indexed, index, offset);
  for (const std::int64_t number : index_numbers(index.shape(), shape)) {
    const isa::Index at = isa::unravel(number, index.shape());
    const std::int64_t lane =
        index.layout.first_thread_of(at) * index.layout.num_locals() + index.layout.local_of(at);
    tile.index_places.push_back(static_cast<std::int32_t>(lane));
  }
  return tile;
}

std::shared_ptr<const IndexedAccess> make_indexed_access(IndexedTile tile,
                                                         const std::vector<int>& tile_dims,
                                                         const Tile& moved, std::string index_name,
                                                         const Preparation& preparation) {
  tile.tile_dims = tile_dims;
  return std::make_shared<const IndexedAccess>(
      IndexedAccess{std::move(tile), preparation.new_indexed_table(moved), std::move(index_name)});
}

const IndexedTable& find_indexed_table(const IndexedAccess& access, const LayoutParts& parts,
                                       const TensorInMemory& tensor, const Coordinates& origin,
                                       Context& context) {
  Coordinates begin = origin;
  begin[access.tile.dim] = 0;
  return context.scratch.indexed_tables[access.table].find(access.tile, parts, tensor, begin);
}

FoundPlaces read_index(const IndexedAccess& access, const IndexedTable& table, std::int64_t begin,
                       std::int64_t extent, Context& context) {
  FoundPlaces found{new_places(access.table, context)};
  IndexedPlaces& places = *found.places;
  places.run_elements = table.run_elements;
  places.runs = table.runs;
  places.along.resize(table.base.size());
  FoundIndices indices{places.along.data()};
  access.tile.find_indices(
      lanes_of(access, table, begin, extent, read_all(access, context), context), &indices);
  found.inside = indices.inside;
  return found;
}

FoundPlaces find_shared_runs(const IndexedAccess& access, const IndexedTable& table,
                             std::int64_t begin, std::uint32_t moved, Context& context) {
  FoundPlaces found{new_places(access.table, context)};
  const Tile& index = access.tile.index;
  IndexedPlaces& places = *found.places;
  places.run_elements = table.run_elements;
  places.runs = table.runs;
  places.along.clear();
  const std::uint8_t* lanes = read_all(access, context);
  const std::size_t bytes = lane_bytes(index.bits);
  places.kept = {{},           bytes,
                 index.locals, access.tile.is_signed && index.bits == 32,
                 begin,        &access.tile.index_places};
  places.kept.lanes.assign(lanes, lanes + index.threads * index.locals * bytes);
  places.table.run_bits.resize(table.base.size());
  const SharedOffsets& shared = *table.shared;
  FoundOffsets offsets{shared.base.data(), shared.stride ? nullptr : shared.shares.data(),
                       shared.stride.value_or(0), moved, places.table.run_bits.data()};
  const auto extent = static_cast<std::int64_t>(shared.shares.size());
  access.tile.find_offsets(lanes_of(access, table, begin, extent, lanes, context), &offsets);
  found.inside = offsets.inside;
  return found;
}

std::int64_t index_value(const IndexedTile& tile, std::size_t thread, std::size_t place,
                         const RegisterSlab& registers) {
  const Tile& index = tile.index;
  // The place in a copy counts through all threads; each begins with a byte of its own.
  const auto lane = thread * index.locals + static_cast<std::size_t>(tile.index_places[place]);
  const std::uint8_t* const own =
      registers.at(index.offset + lane / index.locals * index.thread_bytes);
  const std::uint64_t code = isa::get_bits(own, lane % index.locals * index.bits, index.bits);
  if (tile.is_signed && index.bits == 32) return static_cast<std::int32_t>(code);
  return static_cast<std::int64_t>(code);
}

}  // namespace tilevm::sim
