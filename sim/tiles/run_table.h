// Where the elements of a tile lie in shared memory, as runs.
//
// Swizzles make the places depend on where the tile begins in more than a base, so a table belongs
// to an origin; those of the last origins are kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "isa/layout/memory_layout.h"
#include "sim/tiles/coordinates.h"
#include "sim/tiles/layout_parts.h"

namespace tilevm::sim {

/// Runs of elements that lie one behind the other, both in a thread's places and in memory.
struct RunTable {
  Coordinates origin{};
  std::size_t run_elements = 1;
  std::size_t runs = 0;                 ///< of a thread
  std::vector<std::uint32_t> run_bits;  ///< [thread][run]: where it begins, in bits
  std::uint32_t low = 0, high = 0;      ///< where the first begins and the last ends, in bits
  bool overlaps = false;                ///< two elements that are no replicas share a place
  bool byte_aligned = false;            ///< all of it, and the runs' length
};

/// The tables of one access for its last origins.
struct RunTables {
  std::vector<RunTable> tables;
  std::size_t last = 0, next = 0;
};

/// A tile in a shared tensor, as far as it is known before the run.
struct SharedTileLayout {
  const isa::MemoryLayout* layout = nullptr;
  std::vector<int> tile_dims;         ///< by the tensor's dimension: the tile's along it, or -1
  std::vector<std::int64_t> extents;  ///< by the tensor's dimension: the tile's along it, or 1
  unsigned bits = 0;                  ///< of an element
  /// Strides by the tensor's dimension, if the layout is nothing else: then one table serves all.
  bool plain = false;
  std::vector<std::int64_t> strides;
};

/// The offset in elements of element (thread, place) of a tile at an origin.
[[nodiscard]] std::int64_t element_offset(const SharedTileLayout& tile, const LayoutParts& parts,
                                          const Coordinates& origin, std::size_t thread,
                                          std::size_t place);

/// At most as many tables as are kept for an access of this size.
[[nodiscard]] std::size_t kept_tables(std::size_t elements);

/// The table for an origin, and what is added to its bits; it may be gone after the next search.
struct TableLookup {
  const RunTable* table;
  std::uint64_t base_bits;
};
[[nodiscard]] TableLookup find_table(RunTables& tables, const SharedTileLayout& tile,
                                     const LayoutParts& parts, const Coordinates& origin);

}  // namespace tilevm::sim
