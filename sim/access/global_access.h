// A prepared LoadGlobal or StoreGlobal: which tile moves, and where it begins in its view.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/access/indexed_places.h"
#include "sim/state/context.h"
#include "sim/state/preparation.h"
#include "sim/state/scalar_code.h"
#include "sim/tiles/layout_parts.h"

namespace tilevm::sim {

/// A tile that moves from or to a view, prepared.
struct GlobalAccess {
  std::string_view mnemonic;
  std::string view_name;
  std::uint32_t statement = 0;  ///< index in Plan::memory_statements
  std::string tile_name;        ///< name of a StoreGlobal's tile
  Span view_span{}, span{};
  std::size_t view = 0;  ///< slot
  isa::DType dtype;
  Tile tile;
  std::shared_ptr<const LayoutParts> parts;
  std::size_t table = 0;  ///< index in Scratch::tables
  // By dimension of the view:
  std::vector<ScalarCode> offsets;    ///< where the tile begins
  std::vector<int> tile_dims;         ///< the tile's dimension along it, or -1
  std::vector<std::int64_t> extents;  ///< the tile's extent along it, or 1
  /// Whether an index without a colon counts iterations, and no data chooses it: a loop that reads
  /// ahead may go past the end.
  std::vector<bool> counts;
  std::shared_ptr<const IndexedAccess> indexed;  ///< null if no index places elements
  /// Operation by which a store combines its elements with memory's.
  std::optional<isa::ReduceOp> combines{};
  Combination combination = 0;  ///< how, as a number
};

/// What the access of a footprint does.
[[nodiscard]] inline AccessType type_of(const GlobalFootprint& footprint) {
  return {kind_of(footprint.use), footprint.access->combination};
}

/// What an index tile needs to know of a view.
[[nodiscard]] TensorInMemory tensor_of(const GlobalView& view, std::size_t indexed_dim);

/// A tile of `shape` at `offset` in the view `view`.
[[nodiscard]] GlobalAccess make_global_access(isa::VarId view, const isa::Shape& shape,
                                              const std::optional<isa::OffsetList>& offset,
                                              const Tile& tile,
                                              std::shared_ptr<const LayoutParts> parts,
                                              const Preparation& preparation,
                                              std::optional<int> indexed_dim = {});

}  // namespace tilevm::sim
