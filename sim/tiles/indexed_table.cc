#include "sim/tiles/indexed_table.h"

#include <algorithm>
#include <utility>

namespace tilevm::sim {
namespace {

/// The offset of a share of an index along one dimension, before the swizzle. Modes stand in the
/// order of the dimensions; the last mode of a dimension is its least significant digit.
std::uint64_t share_of(const isa::MemoryLayout& layout, std::size_t dim, std::int64_t index) {
  std::uint64_t offset = 0;
  std::size_t mode = layout.mode_shape().size();
  for (std::size_t d = layout.shape().size(); d-- > 0;) {
    std::int64_t rest = index;
    for (std::int64_t size = 1; size < layout.shape()[d];) {
      --mode;
      const std::int64_t values = layout.mode_shape()[mode];
      if (d == dim) {
        offset += static_cast<std::uint64_t>(rest % values * layout.mode_strides()[mode]);
        rest /= values;
      }
      size *= values;
    }
  }
  return offset;
}

/// Whether the elements of every group of `length` places are neighbours in memory with one index.
bool made_of_runs(const std::vector<std::uint64_t>& base, const isa::PlaceMap& index_places,
                  std::size_t length) {
  const std::size_t locals = index_places.size();
  for (std::size_t e = 0; e < base.size(); ++e) {
    const std::size_t i = e % locals;
    if (i % length == 0) continue;
    if (base[e] != base[e - 1] + 1 || index_places[i] != index_places[i - 1]) return false;
  }
  return true;
}

}  // namespace

void IndexedTable::build(const IndexedTile& tile, const LayoutParts& parts,
                         const TensorInMemory& tensor, const Coordinates& tile_origin) {
  built = true;
  strides = tensor.strides;
  origin = tile_origin;
  swizzle = tensor.layout != nullptr ? tensor.layout->swizzle() : std::nullopt;
  base.assign(parts.threads * parts.locals, 0);
  for (std::size_t d = 0; d < tensor.rank; ++d) {
    if (d == tile.dim) continue;
    const auto along = static_cast<std::size_t>(tile.tile_dims[d]);
    for (std::size_t e = 0; e < base.size(); ++e) {
      const std::int64_t part = tile.tile_dims[d] < 0
                                    ? 0
                                    : std::int64_t{parts.thread_part(e / parts.locals)[along]} +
                                          parts.local_part(e % parts.locals)[along];
      base[e] += tensor.layout != nullptr
                     ? share_of(*tensor.layout, d, tile_origin[d] + part)
                     : static_cast<std::uint64_t>(part) * static_cast<std::uint64_t>(strides[d]);
    }
  }
  stride = static_cast<std::uint64_t>(strides[tile.dim]);
  shares.clear();
  for (std::int64_t i = 0; tensor.layout != nullptr && i < tensor.extent; ++i) {
    shares.push_back(share_of(*tensor.layout, tile.dim, i));
  }
  keep_runs(tile, parts);
  shared.reset();
  if (tensor.bits > 0 && !swizzle) keep_shared(tensor);
}

void IndexedTable::keep_shared(const TensorInMemory& tensor) {
  SharedOffsets offsets;
  for (const std::uint64_t each : base) {
    offsets.base.push_back(static_cast<std::uint32_t>(each * tensor.bits));
  }
  for (std::int64_t i = 0; i < tensor.extent; ++i) {
    const std::uint64_t share = shares.empty() ? static_cast<std::uint64_t>(i) * stride
                                               : shares[static_cast<std::size_t>(i)];
    offsets.shares.push_back(static_cast<std::uint32_t>(share * tensor.bits));
  }
  const auto [base_low, base_high] = std::minmax_element(offsets.base.begin(), offsets.base.end());
  const auto [low, high] = std::minmax_element(offsets.shares.begin(), offsets.shares.end());
  offsets.low = *base_low + *low;
  offsets.high = *base_high + *high;
  const std::uint32_t step = tensor.extent > 1 ? offsets.shares[1] : 0;
  const auto is_multiple = [&, index = std::uint32_t{0}](std::uint32_t share) mutable {
    return share == index++ * step;
  };
  if (std::all_of(offsets.shares.begin(), offsets.shares.end(), is_multiple)) offsets.stride = step;
  shared = std::move(offsets);
}

/// Keeps the first element of each run.
void IndexedTable::keep_runs(const IndexedTile& tile, const LayoutParts& parts) {
  run_elements = swizzle ? 1 : parts.locals;
  while (parts.locals % run_elements != 0 || !made_of_runs(base, tile.index_places, run_elements)) {
    --run_elements;
  }
  runs = parts.locals / run_elements;
  index_places.clear();
  for (std::size_t r = 0; r < runs; ++r) {
    index_places.push_back(tile.index_places[r * run_elements]);
  }
  same_order = runs == tile.index.locals;
  for (std::size_t r = 0; r < runs; ++r) {
    same_order = same_order && index_places[r] == static_cast<std::int32_t>(r);
  }
  for (std::size_t r = 0; r < parts.threads * runs; ++r) base[r] = base[r * run_elements];
  base.resize(parts.threads * runs);
}

const IndexedTable& IndexedTables::find(const IndexedTile& tile, const LayoutParts& parts,
                                        const TensorInMemory& tensor, const Coordinates& origin) {
  const auto found = std::find_if(tables.begin(), tables.end(), [&](const IndexedTable& table) {
    return table.serves(tensor, origin);
  });
  if (found != tables.end()) return *found;
  if (tables.size() < most_tables) {
    tables.emplace_back();
    next = tables.size() - 1;
  } else {
    next = (next + 1) % most_tables;
  }
  tables[next].build(tile, parts, tensor, origin);
  return tables[next];
}

}  // namespace tilevm::sim
