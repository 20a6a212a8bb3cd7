#include "sim/tiles/run_table.h"

#include <algorithm>
#include <utility>

namespace tilevm::sim {
namespace {

/// Whether every aligned group of `length` of a thread's offsets is consecutive.
bool made_of_runs(const std::vector<std::int64_t>& offsets, std::size_t locals,
                  std::size_t length) {
  for (std::size_t e = 0; e < offsets.size(); ++e) {
    if (e % locals % length != 0 && offsets[e] != offsets[e - 1] + 1) return false;
  }
  return true;
}

std::size_t longest_run(const std::vector<std::int64_t>& offsets, std::size_t locals) {
  std::size_t length = 1;
  while (length < locals && offsets[length] == offsets[length - 1] + 1) ++length;
  while (locals % length != 0 || !made_of_runs(offsets, locals, length)) --length;
  return length;
}

/// Whether two elements of a tile, replicas aside, have one offset.
bool shares_places(const std::vector<std::int64_t>& offsets, const LayoutParts& parts) {
  std::vector<std::int64_t> sorted;
  for (const std::int32_t thread : parts.first_threads) {
    const auto first = offsets.begin() + thread * static_cast<std::ptrdiff_t>(parts.locals);
    sorted.insert(sorted.end(), first, first + static_cast<std::ptrdiff_t>(parts.locals));
  }
  std::sort(sorted.begin(), sorted.end());
  return std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end();
}

std::shared_ptr<const RunTable> build_table(const SharedTileLayout& tile, const LayoutParts& parts,
                                            const Coordinates& origin) {
  std::vector<std::int64_t> offsets(parts.threads * parts.locals);
  for (std::size_t e = 0; e < offsets.size(); ++e) {
    offsets[e] = element_offset(tile, parts, origin, e / parts.locals, e % parts.locals);
  }
  RunTable table;
  table.origin = origin;
  table.run_elements = longest_run(offsets, parts.locals);
  table.runs = parts.locals / table.run_elements;
  table.byte_aligned = table.run_elements * tile.bits % 8 == 0;
  for (std::size_t e = 0; e < offsets.size(); e += table.run_elements) {
    table.run_bits.push_back(static_cast<std::uint32_t>(offsets[e]) * tile.bits);
    table.byte_aligned = table.byte_aligned && table.run_bits.back() % 8 == 0;
  }
  table.overlaps = shares_places(offsets, parts);
  const auto [low, high] = std::minmax_element(table.run_bits.begin(), table.run_bits.end());
  table.low = *low;
  table.high = *high + static_cast<std::uint32_t>(table.run_elements) * tile.bits;
  return std::make_shared<const RunTable>(std::move(table));
}

}  // namespace

std::int64_t element_offset(const SharedTileLayout& tile, const LayoutParts& parts,
                            const Coordinates& origin, std::size_t thread, std::size_t place) {
  const std::int32_t* thread_part = parts.thread_part(thread);
  const std::int32_t* local_part = parts.local_part(place);
  isa::Index index(tile.tile_dims.size());
  std::int64_t offset = 0;
  for (std::size_t d = 0; d < index.size(); ++d) {
    index[d] = origin[d];
    if (tile.tile_dims[d] >= 0) {
      const auto dim = static_cast<std::size_t>(tile.tile_dims[d]);
      index[d] += thread_part[dim] + local_part[dim];
    }
    if (tile.plain) offset += index[d] * tile.strides[d];
  }
  return tile.plain ? offset : tile.layout->offset(index);
}

std::size_t kept_tables(std::size_t elements) {
  constexpr std::size_t most_bytes = std::size_t{1} << 21, most = 64;
  return std::clamp<std::size_t>(most_bytes / (elements * sizeof(std::uint32_t)), 1, most);
}

TableLookup find_table(RunTables& tables, const SharedTileLayout& tile, const LayoutParts& parts,
                       const Coordinates& origin) {
  if (tile.plain) {
    if (tables.tables.empty()) tables.tables.push_back(build_table(tile, parts, Coordinates{}));
    std::int64_t base = 0;
    for (std::size_t d = 0; d < tile.strides.size(); ++d) base += origin[d] * tile.strides[d];
    return {tables.tables.front(), static_cast<std::uint64_t>(base) * tile.bits};
  }
  auto& all = tables.tables;
  if (tables.last < all.size() && all[tables.last]->origin == origin) {
    return {all[tables.last], 0};
  }
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const auto& table) { return table->origin == origin; });
  if (found != all.end()) {
    tables.last = static_cast<std::size_t>(found - all.begin());
  } else if (all.size() < kept_tables(parts.threads * parts.locals)) {
    tables.last = all.size();
    all.push_back(build_table(tile, parts, origin));
  } else {
    tables.last = tables.next++ % all.size();
    all[tables.last] = build_table(tile, parts, origin);
  }
  return {all[tables.last], 0};
}

}  // namespace tilevm::sim
