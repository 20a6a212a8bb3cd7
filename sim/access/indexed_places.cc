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
  std::size_t threads;  ///< of the tile
  std::size_t locals;   ///< of the index
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

/// Finds runs in shared memory.
struct RunFinder {
  const IndexedTable& table;
  std::size_t threads;  ///< of the tile
  std::size_t locals;   ///< of the index
  std::uint64_t begin;
  std::uint32_t moved;
  std::uint32_t* run_bits;

  /// Says whether all indices are inside.
  template <class Lane, bool is_signed>
  bool find(const std::uint8_t* lanes) const {
    const std::uint32_t* const base = table.shared->base.data();
    const std::uint32_t* const shares = table.shared->shares.data();
    const std::uint64_t extent = table.shared->shares.size();
    bool outside = false;
    const auto put = [&](std::size_t run, Lane code) {
      const std::uint64_t index =
          begin + static_cast<std::uint64_t>(widened<Lane>(code, is_signed));
      const bool inside = index < extent;
      outside |= !inside;
      run_bits[run] = moved + base[run] + shares[inside ? index : 0];
    };
    const std::int32_t* const places = table.index_places.data();
    for (std::size_t t = 0, run = 0; t < threads; ++t) {
      const std::uint8_t* const own = lanes + t * locals * sizeof(Lane);
      for (std::size_t r = 0; r < table.runs; ++r, ++run) {
        put(run, load_lane<Lane>(own, static_cast<std::size_t>(places[r])));
      }
    }
    return !outside;
  }
};

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
  const Tile& index = access.tile.index;
  IndexedPlaces& places = *found.places;
  places.run_elements = table.run_elements;
  places.runs = table.runs;
  places.along.resize(table.base.size());
  const std::uint8_t* lanes = read_lanes({index, nullptr}, context.state.registers, 0,
                                         index.threads, context.scratch.lanes[0]);
  const IndexReader reader{table,
                           table.base.size() / table.runs,
                           index.locals,
                           static_cast<std::uint64_t>(begin),
                           static_cast<std::uint64_t>(extent),
                           places.along.data()};
  found.inside = with_lane(index.bits, [&]<class Lane>() {
    return access.tile.is_signed ? reader.read<Lane, true>(lanes) : reader.read<Lane, false>(lanes);
  });
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
  const std::uint8_t* lanes = read_lanes({index, nullptr}, context.state.registers, 0,
                                         index.threads, context.scratch.lanes[0]);
  const std::size_t bytes = lane_bytes(index.bits);
  places.kept = {{},           bytes,
                 index.locals, access.tile.is_signed && index.bits == 32,
                 begin,        &access.tile.index_places};
  places.kept.lanes.assign(lanes, lanes + index.threads * index.locals * bytes);
  places.table.run_bits.resize(table.base.size());
  const RunFinder finder{table,        table.base.size() / table.runs,
                         index.locals, static_cast<std::uint64_t>(begin),
                         moved,        places.table.run_bits.data()};
  found.inside = with_lane(index.bits, [&]<class Lane>() {
    return access.tile.is_signed ? finder.find<Lane, true>(lanes) : finder.find<Lane, false>(lanes);
  });
  return found;
}

std::int64_t index_value(const IndexedTile& tile, std::size_t thread, std::size_t place,
                         const RegisterSlab& registers) {
  const Tile& index = tile.index;
  // Of a copy, the place counts through all threads; each begins with a byte of its own.
  const auto lane = thread * index.locals + static_cast<std::size_t>(tile.index_places[place]);
  const std::uint8_t* const own =
      registers.at(index.offset + lane / index.locals * index.thread_bytes);
  const std::uint64_t code = isa::get_bits(own, lane % index.locals * index.bits, index.bits);
  if (tile.is_signed && index.bits == 32) return static_cast<std::int32_t>(code);
  return static_cast<std::int64_t>(code);
}

}  // namespace tilevm::sim
