// The offsets of a tile's elements in a tensor, without their share along the dimension in which an
// index says where they are.
//
// The offset of an element is swizzle(base[thread][run] + share of the index): modes of a layout
// are digits of one dimension each, so the shares of dimensions add up before the swizzle.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "isa/layout/broadcast.h"
#include "isa/layout/memory_layout.h"
#include "sim/arithmetic/index_loops.h"
#include "sim/tiles/coordinates.h"
#include "sim/tiles/layout_parts.h"

namespace tilevm::sim {

/// What is known before the run of a tile whose elements an index places.
struct IndexedTile {
  std::size_t dim = 0;         ///< dimension of the tensor along which the index counts
  std::vector<int> tile_dims;  ///< dimension of the tile along each dimension of the tensor, or -1
  Tile index;                  ///< the tile of indices
  bool is_signed = false;      ///< whether the index's elements are signed
  /// By the tile's place: the index's place in the same thread. In a copy, whose tile one thread
  /// holds: the number of a place among those of all threads.
  isa::PlaceMap index_places;
  IndexLoop find_indices;
  OffsetLoop find_offsets;
};

/// A tensor in memory: one stride a dimension, in elements, or a layout.
struct TensorInMemory {
  std::size_t rank = 0;
  std::int64_t extent = 0;  ///< extent of the index's dimension
  Coordinates strides{};
  const isa::MemoryLayout* layout = nullptr;  ///< memory layout instead of strides
  unsigned bits = 0;  ///< bits of an element, in shared memory: 32 bits hold all offsets
};

/// Offsets in shared memory in bits, of tensors without a swizzle.
struct SharedOffsets {
  std::vector<std::uint32_t> base;      ///< offsets as IndexedTable::base
  std::vector<std::uint32_t> shares;    ///< shares by index
  std::optional<std::uint32_t> stride;  ///< if each share is a multiple of its index
  /// Bounds of the first bits of all elements, whatever the index is.
  std::uint32_t low = 0, high = 0;
};

/// Sums wrap modulo 2^64: only the offset of an element in memory must fit.
struct IndexedTable {
  bool built = false;
  Coordinates strides{};  ///< strides that it was built for ..
  Coordinates origin{};   ///< .. or, for a layout, the origin

  std::size_t run_elements = 1;
  std::size_t runs = 0;               ///< number of runs of a thread
  std::vector<std::uint64_t> base;    ///< [thread][run], in elements; of strides, from the
                                      ///< tile's first element on
  isa::PlaceMap index_places;         ///< places of the index by run
  bool same_order = false;            ///< the indices of a thread are in the order of its runs
  std::uint64_t stride = 0;           ///< stride of the index
  std::vector<std::uint64_t> shares;  ///< shares by index, instead of the stride
  std::optional<isa::Swizzle> swizzle{};
  std::optional<SharedOffsets> shared{};

  /// Whether the table was built for this.
  [[nodiscard]] bool serves(const TensorInMemory& tensor, const Coordinates& tile_origin) const {
    return built && (tensor.layout != nullptr ? origin == tile_origin : strides == tensor.strides);
  }
  void build(const IndexedTile& tile, const LayoutParts& parts, const TensorInMemory& tensor,
             const Coordinates& tile_origin);

  /// The offset in elements of the run at a position in `base`; the index is inside the tensor.
  [[nodiscard]] std::uint64_t offset(std::size_t run, std::int64_t index) const {
    const auto number = static_cast<std::size_t>(index);
    const std::uint64_t sum = base[run] + (shares.empty() ? number * stride : shares[number]);
    return swizzle ? static_cast<std::uint64_t>(swizzle->apply(static_cast<std::int64_t>(sum)))
                   : sum;
  }

 private:
  void keep_runs(const IndexedTile& tile, const LayoutParts& parts);
  void keep_shared(const TensorInMemory& tensor);
};

/// The tables of one access for its last origins; those of strides serve all.
struct IndexedTables {
  static constexpr std::size_t most_tables = 8;
  std::vector<IndexedTable> tables;
  std::size_t next = 0;

  [[nodiscard]] const IndexedTable& find(const IndexedTile& tile, const LayoutParts& parts,
                                         const TensorInMemory& tensor, const Coordinates& origin);
};

}  // namespace tilevm::sim
