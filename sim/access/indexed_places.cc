#include "sim/access/indexed_places.h"

#include <cstring>
#include <utility>

#include "isa/layout/broadcast.h"
#include "isa/type/bits.h"
#include "sim/tiles/lane_tiles.h"

namespace tilevm::sim {
namespace {

/// A code as an integer of 64 bits.
template <class Lane>
std::int64_t widened(Lane code, bool is_signed) {
  if constexpr (sizeof(Lane) == 4) {
    if (is_signed) return static_cast<std::int32_t>(code);
  }
  return static_cast<std::int64_t>(code);
}

/// What is the same for all runs.
struct IndexReader {
  const IndexedTable& table;
  std::size_t threads, locals;  ///< of the index
  std::uint64_t begin, extent;
  std::int64_t* along;

  /// Says whether all are inside.
  template <class Lane, bool is_signed>
  bool read(const std::uint8_t* lanes) const {
    std::uint64_t outside = 0;
    const auto put = [&](std::size_t run, Lane code) {
      const auto index = begin + static_cast<std::uint64_t>(widened<Lane>(code, is_signed));
      const bool inside = index < extent;
      outside |= inside ? 0 : 1;
      along[run] = inside ? static_cast<std::int64_t>(index) : IndexedPlaces::outside;
    };
    if (is_same_order()) {
      for (std::size_t r = 0; r < threads * locals; ++r) put(r, load_lane<Lane>(lanes, r));
      return outside == 0;
    }
    const std::int32_t* const places = table.index_places.data();
    for (std::size_t t = 0; t < threads; ++t) {
      for (std::size_t r = 0; r < table.runs; ++r) {
        const auto place = t * locals + static_cast<std::size_t>(places[r]);
        put(t * table.runs + r, load_lane<Lane>(lanes, place));
      }
    }
    return outside == 0;
  }

 private:
  /// Whether the indices stand in the order of the runs.
  [[nodiscard]] bool is_same_order() const {
    if (table.runs != locals) return false;
    for (std::size_t r = 0; r < locals; ++r) {
      if (table.index_places[r] != static_cast<std::int32_t>(r)) return false;
    }
    return true;
  }
};

/// Memory for the places of an access: that of the last execution, unless someone keeps it.
std::shared_ptr<IndexedPlaces> new_places(std::size_t number, Context& context) {
  std::shared_ptr<IndexedPlaces>& kept = context.scratch.indexed_places[number];
  if (!kept || kept.use_count() > 1) kept = std::make_shared<IndexedPlaces>();
  return kept;
}

}  // namespace

IndexedTile indexed_tile(const isa::IndexedDim& indexed, const isa::RegisterType& index,
                         std::size_t offset, const isa::RegisterLayout& layout) {
  IndexedTile tile;
  tile.dim = static_cast<std::size_t>(indexed.dim);
  tile.index = make_tile(index, offset);
  tile.is_signed = index.dtype.is_signed_int();
  tile.index_places = *isa::broadcast_places(layout, index.layout);
  return tile;
}

std::shared_ptr<const IndexedAccess> make_indexed_access(const isa::IndexedDim& indexed,
                                                         const isa::RegisterLayout& layout,
                                                         const std::vector<int>& tile_dims,
                                                         const Preparation& preparation) {
  const isa::RegisterType& index = preparation.register_type(indexed.index);
  IndexedAccess access;
  access.tile = indexed_tile(indexed, index, preparation.registers.offset(indexed.index), layout);
  access.tile.tile_dims = tile_dims;
  access.table = preparation.new_indexed_table(make_tile({index.dtype, layout}, 0));
  access.index_name = preparation.name(indexed.index);
  return std::make_shared<const IndexedAccess>(std::move(access));
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
  const Tile& index = access.tile.index;
  IndexedPlaces& places = *found.places;
  places.run_elements = table.run_elements;
  places.runs = table.runs;
  places.along.resize(table.base.size());
  const std::uint8_t* lanes = read_lanes({index, nullptr}, context.state.registers, 0,
                                         index.threads, context.scratch.lanes[0]);
  const IndexReader reader{table,
                           index.threads,
                           index.locals,
                           static_cast<std::uint64_t>(begin),
                           static_cast<std::uint64_t>(extent),
                           places.along.data()};
  found.inside = with_lane(index.bits, [&]<class Lane>() {
    return access.tile.is_signed ? reader.read<Lane, true>(lanes) : reader.read<Lane, false>(lanes);
  });
  return found;
}

std::int64_t index_value(const IndexedTile& tile, std::size_t thread, std::size_t place,
                         const RegisterSlab& registers) {
  const Tile& index = tile.index;
  const auto at = static_cast<std::size_t>(tile.index_places[place]);
  const std::uint64_t code = isa::get_bits(registers.at(index.offset + thread * index.thread_bytes),
                                           at * index.bits, index.bits);
  if (tile.is_signed && index.bits == 32) return static_cast<std::int32_t>(code);
  return static_cast<std::int64_t>(code);
}

}  // namespace tilevm::sim
