#include "isa/rules/tensor_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include "isa/program/tile_move.h"
#include "isa/rules/rules.h"

namespace tilevm::isa {
namespace {

constexpr const char* use_layouts =
    "make it row-major, or take a layout of std/warp_groups.tile, such as a_k_major";

/// Bytes of the swizzle of a layout, 0 without one; nothing if the copy engine has none like it.
std::optional<std::int64_t> engine_swizzle(const SharedType& type) {
  const auto& swizzle = type.layout.swizzle();
  if (!swizzle) return 0;
  const int element = std::countr_zero(static_cast<unsigned>(type.dtype.bits / 8));
  if (swizzle->base + element != 4 || swizzle->shift != 3) return std::nullopt;
  if (swizzle->bits < 1 || swizzle->bits > 3) return std::nullopt;
  return map_unit << swizzle->bits;
}

/// Where the elements of a tensor are, dimension by dimension, in bytes before the swizzle: the sum
/// over the dimensions is the address.
class DimensionBytes {
 public:
  explicit DimensionBytes(const SharedType& type) : bytes_(type.dtype.bits / 8) {
    const auto plain = MemoryLayout::make(type.layout.shape(), type.layout.mode_shape(),
                                          type.layout.mode_strides());
    layout_ = *plain;
    at_.assign(static_cast<std::size_t>(layout_.rank()), 0);
  }
  [[nodiscard]] std::int64_t operator()(std::size_t dim, std::int64_t index) {
    at_[dim] = index;
    const std::int64_t result = layout_.offset(at_) * bytes_;
    at_[dim] = 0;
    return result;
  }

 private:
  MemoryLayout layout_;
  std::int64_t bytes_;
  Index at_;
};

class BoxPlanner {
 public:
  BoxPlanner(const TensorCopy& copy, const GlobalType& view, const SharedType& tensor,
             NoTensorMap& why)
      : copy_(copy), view_(view), tensor_(tensor), why_(why), bytes_(tensor) {}

  std::optional<TensorBoxes> run() {
    if (!find_swizzle() || !place_indices()) return std::nullopt;
    plan_.map.order = *map_order(view_);
    find_dimensions();
    plan_.map.view = copy_.view;
    plan_.map.fill_nan = copy_.fill_nan;
    if (!find_box() || !add_boxes()) return std::nullopt;
    return std::move(plan_);
  }

 private:
  bool fail(std::string reason, std::string advice = use_layouts) {
    why_ = {std::move(reason), std::move(advice)};
    return false;
  }
  [[nodiscard]] std::int64_t element_bytes() const { return tensor_.dtype.bits / 8; }
  [[nodiscard]] std::int64_t extent(std::size_t tile_dim) const {
    return tensor_.shape()[dims_[tile_dim]];
  }

  bool find_swizzle() {
    const auto bytes = engine_swizzle(tensor_);
    if (!bytes) {
      return fail(
          "its swizzle is none of the copy engine, which exchanges units of 16 bytes in "
          "rows of 32, 64 or 128 bytes");
    }
    plan_.map.swizzle_bytes = *bytes;
    return true;
  }

  /// What indices of dimensions without a colon add.
  bool place_indices() {
    if (!copy_.offset) return true;
    const auto& entries = copy_.offset->entries;
    for (std::size_t d = 0; d < entries.size(); ++d) {
      if (entries[d].tile) continue;
      if (const auto index = entries[d].value.constant_int()) {
        if (0 <= *index && *index < tensor_.shape()[d]) fixed_bytes_ += bytes_(d, *index);
        continue;
      }
      const std::int64_t stride = tensor_.shape()[d] > 1 ? bytes_(d, 1) : 0;
      for (std::int64_t i = 1; i < tensor_.shape()[d]; ++i) {
        if (bytes_(d, i) == i * stride && bytes_(d, i) % plan_.alignment() == 0) continue;
        return fail(
            fmt::format("its parts along dimension {} do not begin at multiples of {} "
                        "bytes, equally far apart",
                        d, plan_.alignment()));
      }
      plan_.indices.push_back({entries[d].value, stride});
    }
    return true;
  }

  /// The tensor's dimensions that the tile has, in the order of those of the map along which they
  /// lie.
  void find_dimensions() {
    for (std::size_t d = 0; d < tensor_.shape().size(); ++d) {
      if (!copy_.offset || copy_.offset->entries[d].tile) dims_.push_back(d);
    }
    const TilePlacement placement =
        place_tile(copy_.view_offset, view_.rank(), static_cast<int>(dims_.size()));
    const std::vector<std::size_t> of_tile = std::move(dims_);
    dims_.clear();
    for (std::size_t d = 0; d < plan_.map.order.size(); ++d) {
      const int dim = placement.dimensions[plan_.map.order[d]].tile_dim;
      if (dim < 0) continue;
      dims_.push_back(of_tile[static_cast<std::size_t>(dim)]);
      along_.push_back(d);
    }
  }

  /// The most elements along a dimension that follow one another at `step` bytes, in equal parts of
  /// the extent.
  std::int64_t part_along(std::size_t tile_dim, std::int64_t step, std::int64_t most) {
    const std::int64_t all = extent(tile_dim);
    if (all > max_box_extent * static_cast<std::int64_t>(max_boxes)) return 1;  // too many boxes
    for (std::int64_t part = std::min(most, all); part > 1; --part) {
      if (all % part == 0 && is_regular(tile_dim, step, part)) return part;
    }
    return 1;
  }
  bool is_regular(std::size_t tile_dim, std::int64_t step, std::int64_t part) {
    for (std::int64_t i = 0; i < extent(tile_dim); ++i) {
      const std::int64_t begin = i / part * part;
      if (bytes_(dims_[tile_dim], i) - bytes_(dims_[tile_dim], begin) != (i - begin) * step) {
        return false;
      }
    }
    return true;
  }

  bool find_box() {
    const auto rank = static_cast<std::size_t>(view_.rank());
    plan_.map.box.assign(rank, 1);
    const std::int64_t span = plan_.map.swizzle_bytes;
    const std::size_t last = dims_.size() - 1;
    if (dims_.empty() || along_[last] + 1 != rank) {
      return fail(
          fmt::format("dimension {} of the view, whose neighbours are side by side, has no colon, "
                      "and a box has 16 bytes along it at least",
                      plan_.map.order.back()),
          "give the box an extent along that dimension");
    }
    const std::int64_t most =
        span == 0 ? max_box_extent : std::min(max_box_extent, span / element_bytes());
    box_.assign(dims_.size(), 1);
    box_[last] = part_along(last, element_bytes(), most);
    const std::int64_t row = box_[last] * element_bytes();
    if (row % map_unit != 0) {
      return fail(
          fmt::format("{} bytes lie side by side along its dimension {}; the copy engine moves "
                      "rows of multiples of 16 bytes",
                      row, dims_[last]));
    }
    std::int64_t step = span == 0 ? row : span;
    for (std::size_t d = last; d-- > 0;) {
      box_[d] = part_along(d, step, max_box_extent);
      step *= box_[d];
    }
    for (std::size_t d = 0; d < dims_.size(); ++d) plan_.map.box[along_[d]] = box_[d];
    return true;
  }

  bool add_boxes() {
    std::size_t count = 1;
    for (std::size_t d = 0; d < dims_.size(); ++d) {
      count *= static_cast<std::size_t>(extent(d) / box_[d]);
      if (count > max_boxes) {
        return fail(fmt::format("it takes more than {} boxes, of {} elements each", max_boxes,
                                to_string(plan_.map.box)));
      }
    }
    for (std::size_t number = 0; number < count; ++number) {
      TensorBoxes::Box box{Index(static_cast<std::size_t>(view_.rank()), 0), fixed_bytes_};
      auto rest = static_cast<std::int64_t>(number);
      for (std::size_t d = dims_.size(); d-- > 0;) {
        const std::int64_t parts = extent(d) / box_[d], begin = rest % parts * box_[d];
        rest /= parts;
        box.start[along_[d]] = begin;
        box.bytes += bytes_(dims_[d], begin);
      }
      if (box.bytes % plan_.alignment() != 0) {
        return fail(
            fmt::format("a box of it would begin at byte {}, and boxes begin at multiples "
                        "of {}",
                        box.bytes, plan_.alignment()));
      }
      plan_.boxes.push_back(std::move(box));
    }
    return true;
  }

  const TensorCopy& copy_;
  const GlobalType& view_;
  const SharedType& tensor_;
  NoTensorMap& why_;
  DimensionBytes bytes_;
  TensorBoxes plan_;
  std::int64_t fixed_bytes_ = 0;  ///< distance by indices that are constants
  // By dimension of the tile, in the order of the map:
  std::vector<std::size_t> dims_;   ///< dimension of the tensor
  std::vector<std::size_t> along_;  ///< dimension of the map
  Shape box_;
};

}  // namespace

std::optional<TensorCopy> tensor_copy(const Instruction& inst) {
  if (const auto* load = std::get_if<CopyAsyncTensorGlobalToShared>(&inst)) {
    const bool fills = load->fill_nan && load->fill_nan->value.constant_value() &&
                       load->fill_nan->value.constant_value()->as_bool();
    return TensorCopy{load->src.var,       load->dst.var, load->offset,
                      load->shared_offset, false,         fills};
  }
  if (const auto* store = std::get_if<CopyAsyncTensorSharedToGlobal>(&inst)) {
    return TensorCopy{store->dst.var,       store->src.var, store->offset,
                      store->shared_offset, true,           false};
  }
  return std::nullopt;
}

std::optional<std::vector<std::size_t>> map_order(const GlobalType& view) {
  const auto* strides = view.layout.strides();
  if (strides == nullptr) return std::nullopt;
  std::vector<std::size_t> order(strides->size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::size_t d = strides->size(); d-- > 0;) {
    if ((*strides)[d].constant_int() != std::int64_t{1}) continue;
    std::rotate(order.begin() + static_cast<std::ptrdiff_t>(d),
                order.begin() + static_cast<std::ptrdiff_t>(d) + 1, order.end());
    return order;
  }
  return std::nullopt;
}

std::optional<TensorBoxes> plan_boxes(const TensorCopy& copy, const GlobalType& view,
                                      const SharedType& tensor, NoTensorMap& why) {
  return BoxPlanner(copy, view, tensor, why).run();
}

std::optional<std::string> why_no_map(const std::vector<std::int64_t>& extents,
                                      const std::vector<std::int64_t>& strides) {
  for (std::size_t d = 0; d < extents.size(); ++d) {
    if (1 <= extents[d] && extents[d] <= max_map_extent) continue;
    return fmt::format("extent {} is {}; a tensor map has extents of 1 to 2^32", d, extents[d]);
  }
  for (std::size_t d = 0; d < strides.size(); ++d) {
    if (strides[d] % map_unit != 0 || strides[d] < 0 || strides[d] > max_map_stride) {
      return fmt::format(
          "stride {} is {} bytes; a tensor map has strides of multiples of 16 "
          "bytes, below 2^40",
          d, strides[d]);
    }
  }
  return std::nullopt;
}

}  // namespace tilevm::isa
