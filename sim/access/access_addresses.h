// Where the machine accesses of a tile go: which part of the tile each thread moves in each of its
// accesses, and where that part lies in a view or in a shared tensor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "isa/access/access_plan.h"
#include "isa/rules/rules.h"
#include "sim/state/scalar_code.h"
#include "sim/state/state.h"
#include "sim/tiles/layout_parts.h"

namespace tilevm::sim {

/// A plan with the numbers of its kernel.
class AccessGrid {
 public:
  /// The plan must outlive it; `parts` is of the layout of a tile in registers, none for a copy.
  AccessGrid(const isa::AccessPlan& plan, std::int64_t threads,
             std::shared_ptr<const LayoutParts> parts)
      : plan_(&plan), threads_(threads), parts_(std::move(parts)) {}

  [[nodiscard]] const isa::AccessPlan& plan() const { return *plan_; }
  [[nodiscard]] std::int64_t threads() const { return threads_; }
  /// The index in the tile of the first element that access i of a thread moves, or of the row of a
  /// matrix that it names; false if there is none.
  [[nodiscard]] bool find(std::int64_t thread, std::int64_t i, isa::Index& index) const;

 private:
  void find_row(std::int64_t thread, std::int64_t i, isa::Index& index) const;

  const isa::AccessPlan* plan_;
  std::int64_t threads_;
  std::shared_ptr<const LayoutParts> parts_;  ///< of a tile in registers
};

/// A tile in a tensor, as far as it is known before the run.
struct TilePosition {
  TilePosition(const std::optional<isa::OffsetList>& offset, int tensor_rank,
               const isa::Shape& tile_shape);

  std::vector<ScalarCode> offsets;
  std::vector<int> tile_dims;         ///< by the tensor's dimension: the tile's along it, or -1
  std::vector<std::int64_t> extents;  ///< by the tensor's dimension: the tile's along it, or 1

  /// Where the tile begins; false if that faults. What lies far outside is cut, and stays outside.
  [[nodiscard]] bool find_origin(const BlockState& state, Coordinates& origin) const;
  /// The share of a tile's index along a dimension of the tensor.
  [[nodiscard]] std::int64_t share(std::size_t dim, const isa::Index& index) const {
    return tile_dims[dim] < 0 ? 0 : index[static_cast<std::size_t>(tile_dims[dim])];
  }
};

/// A tile in a view of global memory, for one execution.
class GlobalAddresses {
 public:
  /// `origin` is where the tile begins in the view.
  GlobalAddresses(const TilePosition& position, const GlobalView& view, unsigned bits,
                  const Coordinates& origin);

  /// Appends what the addresses of the tile depend on, modulo lines of memory.
  void add_key(std::vector<std::int64_t>& key) const;
  /// The elements inside the view, from an element of the tile on, at most `count` of them along
  /// its last dimension.
  [[nodiscard]] std::int64_t elements_inside(const isa::Index& index, std::int64_t count) const;
  /// The bit at which an element inside the view begins, up to a multiple of lines.
  [[nodiscard]] std::uint64_t bit(const isa::Index& index) const;

 private:
  const TilePosition& position_;
  const GlobalView& view_;
  unsigned bits_;
  Coordinates origin_;
  Coordinates low_{}, high_{};  ///< the part of the tile that lies inside
  std::uint64_t base_bits_ = 0;
};

/// A tile in a shared tensor.
struct SharedAddresses {
  const TilePosition* position;
  const isa::MemoryLayout* layout;
  unsigned bits;
  std::uint64_t tensor_bits;  ///< where the tensor begins
  Coordinates origin{};

  /// Whether all of it lies in the tensor.
  [[nodiscard]] bool inside() const;
  [[nodiscard]] std::uint64_t bit(const isa::Index& index) const;
};

}  // namespace tilevm::sim
