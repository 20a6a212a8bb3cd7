// The addresses of a tile's machine accesses: which part of the tile each thread moves in each of
// its accesses, and the address of that part in a view or in a shared tensor.
#pragma once

#include <algorithm>
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

/// The sum of an offset and of an index, which may be any number: modulo 2^64, and clamped to where
/// it is outside of every tensor.
[[nodiscard]] constexpr std::int64_t moved_index(std::int64_t offset, std::int64_t index) {
  constexpr std::int64_t far_away = std::int64_t{1} << 41;
  const auto sum = static_cast<std::int64_t>(static_cast<std::uint64_t>(offset) +
                                             static_cast<std::uint64_t>(index));
  return std::clamp(sum, -far_away, far_away);
}

/// An access plan with its kernel's thread count and register layout.
class AccessGrid {
 public:
  /// The plan must outlive the grid. `parts` is the tile's register layout, null for a copy.
  AccessGrid(const isa::AccessPlan& plan, std::int64_t threads,
             std::shared_ptr<const LayoutParts> parts)
      : plan_(&plan), threads_(threads), parts_(std::move(parts)) {}

  [[nodiscard]] const isa::AccessPlan& plan() const { return *plan_; }
  [[nodiscard]] std::int64_t threads() const { return threads_; }
  /// The index in the tile of the first element that access i of a thread moves, or of the matrix
  /// row that it addresses; false if there is none.
  [[nodiscard]] bool find(std::int64_t thread, std::int64_t i, isa::Index& index) const;

 private:
  void find_row(std::int64_t thread, std::int64_t i, isa::Index& index) const;

  const isa::AccessPlan* plan_;
  std::int64_t threads_;
  std::shared_ptr<const LayoutParts> parts_;  ///< parts of the layout of a tile in registers
};

/// A tile in a tensor, as far as it is known before the run.
struct TilePosition {
  TilePosition(const std::optional<isa::OffsetList>& offset, int tensor_rank,
               const isa::Shape& tile_shape, std::optional<int> indexed_dim = {},
               Wrapping wrapping = Wrapping::allowed);

  std::vector<ScalarCode> offsets;
  std::vector<int> tile_dims;  ///< dimension of the tile along each dimension of the tensor, or -1
  /// Extent of the tile along each dimension of the tensor, or 1.
  std::vector<std::int64_t> extents;

  /// Where the tile begins; false if that faults. Far origins are clamped and stay outside.
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

  /// The tile moved along a dimension.
  [[nodiscard]] GlobalAddresses moved(std::size_t dim, std::int64_t by) const {
    Coordinates origin = origin_;
    origin[dim] = moved_index(origin[dim], by);
    return {position_, view_, bits_, origin};
  }

  /// Appends what the addresses of the tile depend on, modulo cache lines.
  void add_key(std::vector<std::int64_t>& key) const;
  /// The number of elements inside the view from an element of the tile on, along the tile's last
  /// dimension; at most `count`.
  [[nodiscard]] std::int64_t elements_inside(const isa::Index& index, std::int64_t count) const;
  /// The first bit of an element inside the view, modulo cache lines.
  [[nodiscard]] std::uint64_t bit(const isa::Index& index) const;

 private:
  const TilePosition& position_;
  const GlobalView& view_;
  unsigned bits_;
  Coordinates origin_;
  Coordinates low_{}, high_{};  ///< the part of the tile inside the view
  std::uint64_t base_bits_ = 0;
};

/// A tile in a shared tensor.
struct SharedAddresses {
  const TilePosition* position;
  const isa::MemoryLayout* layout;
  unsigned bits;
  std::uint64_t tensor_bits;  ///< where the tensor begins
  Coordinates origin{};

  /// Whether the whole tile is in the tensor.
  [[nodiscard]] bool inside() const;
  [[nodiscard]] std::uint64_t bit(const isa::Index& index) const;
};

}  // namespace tilevm::sim
