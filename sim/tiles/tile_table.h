// The offsets of a register tile's elements in strided memory, as runs.
//
// The offset of element (t, i) is the sum of a thread's and a place's share. Consecutive places of
// a thread whose elements are consecutive in memory form a run, which is copied at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/tiles/coordinates.h"
#include "sim/tiles/intervals.h"
#include "sim/tiles/layout_parts.h"
#include "sim/tiles/register_slab.h"

namespace tilevm::sim {

/// Offsets in bits, relative to the tile's first element. Sums wrap modulo 2^64: only the total,
/// with the tile's own offset, must fit.
struct TileTable {
  bool built = false;
  Coordinates strides{};  ///< strides that it was built for, one a tile dimension, in elements
  std::vector<std::uint64_t> thread_bits;  ///< offsets in bits by thread
  std::vector<std::uint64_t> run_bits;     ///< offsets in bits by run of places
  std::size_t run_elements = 1;
  bool byte_aligned = false;  ///< all of the above are multiples of 8 bits
  bool one_piece = false;     ///< thread after thread, the tile is one dense piece of memory
  TouchedIntervals pieces;    ///< bits of the elements, from `lowest` on; built when requested
  std::uint64_t lowest = 0;

  bool even = false;  ///< each thread's runs are thread_stride after the previous thread's
  std::size_t thread_stride = 0;  ///< bytes

  /// Builds the table unless it was built for these strides.
  void prepare(const LayoutParts& parts, const Tile& tile, const Coordinates& tile_strides);
  /// The bits of the elements of a tile that begins at `base_bits`.
  [[nodiscard]] TouchedIntervals pieces_at(const LayoutParts& parts, const Tile& tile,
                                           std::uint64_t base_bits);

 private:
  void find_even_threads();
};

/// Fills a tile, or writes the first replica of each element; all elements are inside the memory.
/// `base_bits` is the bit offset of the tile's first element.
void copy_from_memory(const TileTable& table, const Tile& tile, const std::uint8_t* memory,
                      std::uint64_t base_bits, std::uint8_t* registers);
void copy_to_memory(const TileTable& table, const Tile& tile,
                    const std::vector<std::int32_t>& threads, const std::uint8_t* registers,
                    std::uint8_t* memory, std::uint64_t base_bits);

}  // namespace tilevm::sim
