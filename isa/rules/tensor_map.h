// Tensor maps: how the copy engine sees a view of global memory and a tile of a shared tensor (CUDA
// Driver API, cuTensorMapEncodeTiled; PTX ISA, cp.async.bulk.tensor).
//
// A map has a view's extents and strides, a box and a swizzle. Its dimensions are those of the
// view, the one along which neighbours are side by side innermost. One instruction of the GPU moves
// one box between a place of the view and shared memory, where the rows of a box follow one
// another, each with the pitch of the swizzle. A tile that is laid out in panels, or that has more
// than 256 elements along a dimension, takes several boxes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "isa/inst/instruction_set.h"
#include "isa/inst/tensor_type.h"

namespace tilevm::isa {

/// What the copies of both directions have in common.
struct TensorCopy {
  VarId view, tensor;
  std::optional<OffsetList> view_offset, offset;  ///< offsets in the view and in the tensor
  bool stores = false;                            ///< whether the box moves to global memory
  bool fill_nan = false;                          ///< elements outside of the view become NaN
};

/// The copy that an instruction is; nothing if it is none by a tensor map.
[[nodiscard]] std::optional<TensorCopy> tensor_copy(const Instruction& inst);

/// Limits of a map: dimensions, elements of a box along one of them, extents, bytes of a stride.
inline constexpr int max_map_rank = 5;
inline constexpr std::int64_t max_box_extent = 256;
inline constexpr std::int64_t max_map_extent = std::int64_t{1} << 32;
inline constexpr std::int64_t max_map_stride = (std::int64_t{1} << 40) - 1;
/// Bytes of which a map's address, its strides, and the first coordinate of a copy along the last
/// dimension are multiples.
inline constexpr std::int64_t map_unit = 16;
/// Boxes of one instruction of a program at most.
inline constexpr std::size_t max_boxes = 64;

/// A kernel parameter that is a map: launches make it of the view.
struct TensorMap {
  VarId view;
  std::vector<std::size_t> order;  ///< the view's dimension, by dimension of the map
  Shape box;                       ///< extents by dimension of the map
  std::int64_t swizzle_bytes = 0;  ///< 0 (none), 32, 64 or 128
  bool fill_nan = false;
  friend bool operator==(const TensorMap&, const TensorMap&) = default;
};

/// The boxes of a copy.
struct TensorBoxes {
  TensorMap map;
  struct Box {
    Index start;             ///< first element in the tile, by dimension of the map
    std::int64_t bytes = 0;  ///< distance from the begin of the tensor, but for the indices below
  };
  std::vector<Box> boxes;
  /// Dimensions of the tensor with an index that is known only at run time, and their strides.
  struct RunTimeIndex {
    Expr value;
    std::int64_t stride_bytes = 0;
  };
  std::vector<RunTimeIndex> indices;

  /// Bytes of which the boxes begin at multiples: the swizzle is one of addresses.
  [[nodiscard]] std::int64_t alignment() const {
    return map.swizzle_bytes == 0 ? 128 : 8 * map.swizzle_bytes;
  }
};

/// The dimensions of a view in the order of a map: the innermost is the last one whose neighbours
/// are side by side, the others keep their order. Nothing if no dimension has such neighbours.
[[nodiscard]] std::optional<std::vector<std::size_t>> map_order(const GlobalType& view);

/// Why there is no map for a copy, and what to do.
struct NoTensorMap {
  std::string reason, advice;
};

/// The boxes of a copy whose offsets are well formed; nothing, with the reason, if the shared
/// tensor's layout is none that the copy engine writes.
[[nodiscard]] std::optional<TensorBoxes> plan_boxes(const TensorCopy& copy, const GlobalType& view,
                                                    const SharedType& tensor, NoTensorMap& why);

/// Why numbers of a map's dimensions make none; nothing if they do. Strides are in bytes, of all
/// dimensions but the last.
[[nodiscard]] std::optional<std::string> why_no_map(const std::vector<std::int64_t>& extents,
                                                    const std::vector<std::int64_t>& strides);

}  // namespace tilevm::isa
