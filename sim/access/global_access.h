// Tiles in global memory: where they lie, what of them exists, and the copy.
//
// One test decides for the whole tile whether it lies inside the view and inside the buffer; then
// whole runs are copied (tile_table.h). Otherwise each element is looked at.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sim/state/context.h"
#include "sim/state/preparation.h"
#include "sim/state/scalar_code.h"
#include "sim/tiles/layout_parts.h"

namespace tilevm::sim {

/// A LoadGlobal or StoreGlobal, prepared.
struct GlobalAccess {
  std::string_view mnemonic;
  std::string view_name;
  std::uint32_t statement = 0;  ///< in Plan::memory_statements
  std::string tile_name;        ///< of a StoreGlobal
  Span view_span{}, span{};
  std::size_t view = 0;  ///< slot
  isa::DType dtype;
  Tile tile;
  std::shared_ptr<const LayoutParts> parts;
  std::size_t table = 0;  ///< in Scratch::tables
  // One entry a dimension of the view:
  std::vector<ScalarCode> offsets;    ///< where the tile begins
  std::vector<int> tile_dims;         ///< the tile's dimension along it, or -1
  std::vector<std::int64_t> extents;  ///< the tile's extent along it, or 1
};

/// A tile of `shape` at `offset` in the view `view`.
[[nodiscard]] GlobalAccess make_global_access(std::string_view mnemonic, isa::VarId view,
                                              const isa::Shape& shape,
                                              const std::optional<isa::OffsetList>& offset,
                                              const Tile& tile,
                                              std::shared_ptr<const LayoutParts> parts,
                                              const Preparation& preparation);

/// Fills the tile: elements outside the view's extents become zero. False after a fault:
/// out_of_bounds for elements inside the extents but outside of the buffer.
[[nodiscard]] bool load(const GlobalAccess& access, Context& context);

/// The same into the copy's data; takes note of where the tile begins. Faults also if elements are
/// undefined.
[[nodiscard]] bool load_for_copy(const GlobalAccess& access, Context& context, PendingCopy& copy);

/// Finds the only element of an access without tile dimensions: its bit in the buffer. False after
/// a fault: it must lie in the view and in the buffer, whatever is checked.
[[nodiscard]] bool find_element(const GlobalAccess& access, Context& context, Numbers& index,
                                std::uint64_t& bit);

/// A copy is still under way behind a barrier between blocks: takes note of its source again. False
/// after a race.
[[nodiscard]] bool keep_reading(const PendingCopy& copy, Context& context);

/// Writes each element once; elements outside the view's extents are skipped. Faults as load,
/// and in_flight_access for elements that a pending copy reads.
[[nodiscard]] bool store(const GlobalAccess& access, Context& context);

}  // namespace tilevm::sim
