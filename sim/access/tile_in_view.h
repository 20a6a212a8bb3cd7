// A tile of global memory at one origin in its view: which elements exist, and their addresses.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "sim/access/global_access.h"
#include "sim/state/context.h"

namespace tilevm::sim {

/// The addresses of a tile in a view, for one execution.
class TileInView {
 public:
  TileInView(const GlobalAccess& access, const Context& context, const TileOrigin& origin)
      : TileInView(access, context.state.views[access.view], context, origin) {}
  TileInView(const GlobalAccess& access, const GlobalView& view, const Context& context,
             const TileOrigin& origin)
      : access_(access),
        view_(view),
        buffer_(context.memory[static_cast<std::size_t>(view_.buffer)]),
        origin_(origin),
        rank_(static_cast<std::size_t>(view_.rank)) {
    if (origin_.places != nullptr) indexed_ = access.indexed->tile.dim;
  }

  [[nodiscard]] const GlobalView& view() const { return view_; }
  [[nodiscard]] const MemoryBuffer& buffer() const { return buffer_; }
  [[nodiscard]] const TileOrigin& origin() const { return origin_; }

  // With an index, the next three do not look at its dimension: they are about the tile as if the
  // index could have any value inside the view.

  /// Whether all elements are inside the view's extents.
  [[nodiscard]] bool inside_view() const {
    for (std::size_t d = 0; d < rank_; ++d) {
      if (d == indexed_) continue;
      if (origin_[d] < 0 || origin_[d] + access_.extents[d] > view_.extents[d]) return false;
    }
    return true;
  }

  /// Whether all elements are outside the view's extents.
  [[nodiscard]] bool outside_view() const {
    for (std::size_t d = 0; d < rank_; ++d) {
      if (d == indexed_) continue;
      if (origin_[d] >= view_.extents[d] || origin_[d] + access_.extents[d] <= 0) return true;
    }
    return false;
  }

  /// Whether all elements of a tile inside the view are inside the buffer. If so, `base_bits` is
  /// the first bit of the tile's first element. Strided views only.
  [[nodiscard]] bool inside_buffer(std::uint64_t& base_bits) const {
    Wide base = 0, lowest = 0, highest = 0;
    for (std::size_t d = 0; d < rank_; ++d) {
      const std::int64_t extent = d == indexed_ ? view_.extents[d] : access_.extents[d];
      const Wide reach = static_cast<Wide>(extent - 1) * view_.strides[d];
      if (d != indexed_) base += static_cast<Wide>(origin_[d]) * view_.strides[d];
      (reach < 0 ? lowest : highest) += reach;
    }
    base_bits = static_cast<std::uint64_t>(base) * access_.tile.bits;
    return base + lowest >= 0 && (base + highest + 1) * access_.tile.bits <= buffer_bits();
  }

  /// The strides of the tile's own dimensions.
  [[nodiscard]] Coordinates tile_strides() const {
    Coordinates strides{};
    for (std::size_t d = 0; d < rank_; ++d) {
      if (access_.tile_dims[d] < 0) continue;
      strides[static_cast<std::size_t>(access_.tile_dims[d])] = view_.strides[d];
    }
    return strides;
  }

  /// Finds element (t, i) and sets `index` and `bit` to its own; false if it is outside the view.
  [[nodiscard]] bool locate(std::size_t t, std::size_t i) {
    const std::int32_t* thread = access_.parts->thread_part(t);
    const std::int32_t* local = access_.parts->local_part(i);
    Wide offset = 0;
    index_.resize(rank_);
    for (std::size_t d = 0; d < rank_; ++d) {
      index_[d] = origin_[d];
      if (access_.tile_dims[d] >= 0) {
        const auto dim = static_cast<std::size_t>(access_.tile_dims[d]);
        index_[d] += thread[dim] + local[dim];
      }
      if (d == indexed_) index_[d] = origin_.places->at(t, i);
      if (index_[d] < 0 || index_[d] >= view_.extents[d]) return false;
      offset += static_cast<Wide>(index_[d]) * view_.strides[d];
    }
    if (view_.layout != nullptr) offset = view_.layout->offset(index_);
    bit_ = offset * access_.tile.bits;
    return true;
  }
  /// The element found last: whether it is in the buffer, its first bit, and its index.
  [[nodiscard]] bool in_buffer() const {
    return bit_ >= 0 && bit_ + access_.tile.bits <= buffer_bits();
  }
  [[nodiscard]] std::uint64_t bit() const { return static_cast<std::uint64_t>(bit_); }
  [[nodiscard]] const isa::Index& index() const { return index_; }
  /// The element's first byte, for messages; clamped at 2^62.
  [[nodiscard]] std::int64_t byte() const {
    constexpr Wide limit = static_cast<Wide>(1) << 62;
    const Wide bytes = (bit_ < 0 ? bit_ - 7 : bit_) / 8;
    return static_cast<std::int64_t>(std::clamp<Wide>(bytes, -limit, limit));
  }

 private:
  __extension__ using Wide = __int128;

  [[nodiscard]] Wide buffer_bits() const { return static_cast<Wide>(buffer_.bytes) * 8; }

  const GlobalAccess& access_;
  const GlobalView& view_;
  const MemoryBuffer& buffer_;
  TileOrigin origin_;
  std::size_t indexed_ = max_rank;  ///< the dimension of an index
  std::size_t rank_;
  isa::Index index_;  ///< empty until an element is located: most tiles are moved by tables
  Wide bit_ = 0;
};

}  // namespace tilevm::sim
