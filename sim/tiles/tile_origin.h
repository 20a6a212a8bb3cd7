// Where a tile is in a tensor in one execution: where it begins, and, if an index says along one
// dimension where its elements are, what the index says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "isa/layout/broadcast.h"
#include "sim/tiles/coordinates.h"
#include "sim/tiles/run_table.h"

namespace tilevm::sim {

/// The indices of a tile that an index places, as they were: what `along` says without being
/// written out.
struct KeptIndices {
  std::vector<std::uint8_t> lanes;  ///< the tile of indices (sim/arithmetic/lanes.h)
  std::size_t lane_bytes = 1;
  std::size_t locals = 0;                 ///< number of local places of a thread
  bool is_signed = false;                 ///< whether the lanes are signed, of 32 bits
  std::int64_t begin = 0;                 ///< is added
  const isa::PlaceMap* places = nullptr;  ///< map by the tile's place

  friend bool operator==(const KeptIndices&, const KeptIndices&) = default;

  [[nodiscard]] std::int64_t at(std::size_t thread, std::size_t place) const;
};

/// Along the dimension of an index, where the elements of each thread's runs are: elements that are
/// consecutive both in the thread's places and in memory, and have one index.
struct IndexedPlaces {
  static constexpr std::int64_t outside = -1;

  std::size_t run_elements = 1;
  std::size_t runs = 0;  ///< number of runs of a thread
  /// [thread][run]: the index in the tensor, or `outside`. Empty if `kept` says it.
  std::vector<std::int64_t> along;
  KeptIndices kept;
  RunTable table;  ///< table of a tile in shared memory

  /// Whether both say the same; unlike forms never do.
  friend bool operator==(const IndexedPlaces& a, const IndexedPlaces& b) {
    return a.run_elements == b.run_elements && a.runs == b.runs && a.along == b.along &&
           a.kept == b.kept;
  }
  [[nodiscard]] std::int64_t at(std::size_t thread, std::size_t place) const {
    return along.empty() ? kept.at(thread, place) : along[thread * runs + place / run_elements];
  }
};

struct TileOrigin {
  Coordinates begin{};
  std::shared_ptr<const IndexedPlaces> places{};  ///< null if there is no index

  [[nodiscard]] std::int64_t& operator[](std::size_t dim) { return begin[dim]; }
  [[nodiscard]] const std::int64_t& operator[](std::size_t dim) const { return begin[dim]; }
  /// Places are compared by what they say.
  friend bool operator==(const TileOrigin& a, const TileOrigin& b) {
    return a.begin == b.begin &&
           (a.places == b.places || (a.places && b.places && *a.places == *b.places));
  }
};

/// The index in the tensor, and the offset in elements, of element (thread, place) of a tile.
[[nodiscard]] isa::Index element_index(const SharedTileLayout& tile, const LayoutParts& parts,
                                       const TileOrigin& origin, std::size_t thread,
                                       std::size_t place);
[[nodiscard]] std::int64_t element_offset(const SharedTileLayout& tile, const LayoutParts& parts,
                                          const TileOrigin& origin, std::size_t thread,
                                          std::size_t place);

}  // namespace tilevm::sim
