// The offsets of a tile's elements in shared memory, as runs.
//
// With a swizzle a different origin of the tile changes the offsets by more than a base. So a table
// belongs to an origin; the tables of the last origins are kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "isa/layout/memory_layout.h"
#include "sim/tiles/coordinates.h"
#include "sim/tiles/layout_parts.h"

namespace tilevm::sim {

/// Runs of elements that are consecutive both in a thread's places and in memory.
struct RunTable {
  Coordinates origin{};
  std::size_t run_elements = 1;
  std::size_t runs = 0;                 ///< number of runs of a thread
  std::vector<std::uint32_t> run_bits;  ///< [thread][run]: the run's first bit
  std::uint32_t low = 0, high = 0;      ///< the first bit and the end of all runs, in bits
  bool overlaps = false;                ///< two elements that are not replicas share bits
  bool byte_aligned = false;            ///< offsets and lengths of all runs are whole bytes
};

/// The tables of one access for its last origins. A table that is replaced stays alive while a
/// lookup holds it.
struct RunTables {
  std::vector<std::shared_ptr<const RunTable>> tables;
  std::size_t last = 0, next = 0;
};

/// What is known of a tile in a shared tensor before the run.
struct SharedTileLayout {
  const isa::MemoryLayout* layout = nullptr;
  std::vector<int> tile_dims;  ///< dimension of the tile along each dimension of the tensor, or -1
  /// Extent of the tile along each dimension of the tensor, or 1.
  std::vector<std::int64_t> extents;
  std::optional<std::size_t> indexed;  ///< the dimension along which an index places elements
  unsigned bits = 0;                   ///< bits of an element
  /// Whether the layout is only strides. Then one table serves all origins.
  bool plain = false;
  std::vector<std::int64_t> strides;  ///< if plain, by the tensor's dimension
};

/// The offset in elements of element (thread, place) of a tile at an origin, without an index.
[[nodiscard]] std::int64_t element_offset(const SharedTileLayout& tile, const LayoutParts& parts,
                                          const Coordinates& origin, std::size_t thread,
                                          std::size_t place);

/// Most tables that are kept for an access of this size.
[[nodiscard]] std::size_t kept_tables(std::size_t elements);

/// The table for an origin, and the base of its bits.
struct TableLookup {
  std::shared_ptr<const RunTable> table;
  std::uint64_t base_bits = 0;

  /// The first bit of an element of a thread, for elements of `bits` bits.
  [[nodiscard]] std::uint64_t bit_of(std::size_t thread, std::size_t place, unsigned bits) const {
    return base_bits + table->run_bits[thread * table->runs + place / table->run_elements] +
           place % table->run_elements * bits;
  }
};
[[nodiscard]] TableLookup find_table(RunTables& tables, const SharedTileLayout& tile,
                                     const LayoutParts& parts, const Coordinates& origin);

}  // namespace tilevm::sim
