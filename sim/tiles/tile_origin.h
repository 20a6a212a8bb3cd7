// Where a tile is in a tensor in one execution: where it begins, and, if an index says along one
// dimension where its elements are, what the index says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "sim/tiles/coordinates.h"
#include "sim/tiles/run_table.h"

namespace tilevm::sim {

/// Along the dimension of an index, where the elements of each thread's runs are: elements that are
/// consecutive both in the thread's places and in memory, and have one index.
struct IndexedPlaces {
  static constexpr std::int64_t outside = -1;

  std::size_t run_elements = 1;
  std::size_t runs = 0;             ///< of a thread
  std::vector<std::int64_t> along;  ///< [thread][run]: the index in the tensor, or `outside`
  RunTable table;                   ///< of a tile in shared memory

  [[nodiscard]] std::int64_t at(std::size_t thread, std::size_t place) const {
    return along[thread * runs + place / run_elements];
  }
};

struct TileOrigin {
  Coordinates begin{};
  std::shared_ptr<const IndexedPlaces> places{};  ///< null if there is no index

  [[nodiscard]] std::int64_t& operator[](std::size_t dim) { return begin[dim]; }
  [[nodiscard]] const std::int64_t& operator[](std::size_t dim) const { return begin[dim]; }
  friend bool operator==(const TileOrigin&, const TileOrigin&) = default;
};

/// The index in the tensor, and the offset in elements, of element (thread, place) of a tile.
[[nodiscard]] isa::Index element_index(const SharedTileLayout& tile, const LayoutParts& parts,
                                       const TileOrigin& origin, std::size_t thread,
                                       std::size_t place);
[[nodiscard]] std::int64_t element_offset(const SharedTileLayout& tile, const LayoutParts& parts,
                                          const TileOrigin& origin, std::size_t thread,
                                          std::size_t place);

}  // namespace tilevm::sim
