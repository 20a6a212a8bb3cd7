#include "isa/layout/memory_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "isa/layout/digits.h"

namespace tilevm::isa {
namespace {

/// A mode's size and stride.
struct Mode {
  std::int64_t size, stride;
};

std::optional<Error> check_swizzle(const Swizzle& swizzle) {
  const auto bad = [](int field) { return field < 0 || field > 30; };
  if (bad(swizzle.base) || bad(swizzle.bits) || bad(swizzle.shift) ||
      swizzle.base + swizzle.bits + swizzle.shift > 48) {
    return layout_error(
        fmt::format("swizzle({}, {}, {}): base, bits and shift must lie between 0 and 30, and "
                    "their sum must be at most 48",
                    swizzle.base, swizzle.bits, swizzle.shift));
  }
  if (swizzle.bits > 0 && swizzle.shift < swizzle.bits) {
    return layout_error(
        fmt::format("swizzle({}, {}, {}): the shift must be at least the number of bits, else the "
                    "swizzle would change the bits it reads",
                    swizzle.base, swizzle.bits, swizzle.shift));
  }
  return std::nullopt;
}

/// The modes of each dimension; an error where they do not factor the shape.
Result<std::vector<std::vector<Mode>>> group_modes(const Shape& shape,
                                                   const std::vector<std::int64_t>& sizes,
                                                   const std::vector<std::int64_t>& strides) {
  std::vector<std::vector<Mode>> groups(shape.size());
  std::size_t next = 0;
  const auto is_one = [&] { return next < sizes.size() && sizes[next] == 1; };
  for (std::size_t d = 0; d < shape.size(); ++d) {
    std::int64_t rest = shape[d];
    for (; is_one() || (next < sizes.size() && rest > 1 && rest % sizes[next] == 0); ++next) {
      rest /= sizes[next];
      groups[d].push_back({sizes[next], strides[next]});
    }
    if (rest == 1) continue;
    return layout_error(
        fmt::format("mode shape {} does not factor shape {}: the modes of dimension {} must have "
                    "the product {}",
                    to_string(sizes), to_string(shape), d, shape[d]));
  }
  while (is_one()) ++next;
  if (next == sizes.size()) return groups;
  return layout_error(fmt::format("mode shape {} has more modes than factor shape {}",
                                  to_string(sizes), to_string(shape)));
}

/// Without modes of size 1, neighbours merged where one stride continues the other.
std::vector<Mode> merge_modes(const std::vector<Mode>& modes) {
  std::vector<Mode> merged;
  for (const auto& mode : modes) {
    if (mode.size == 1) continue;
    if (!merged.empty() && merged.back().stride == saturating_product(mode.stride, mode.size)) {
      merged.back().size *= mode.size;
      merged.back().stride = mode.stride;
    } else {
      merged.push_back(mode);
    }
  }
  return merged;
}

/// One more than the largest offset before a swizzle, saturating.
std::int64_t linear_size(const std::vector<std::int64_t>& sizes,
                         const std::vector<std::int64_t>& strides) {
  std::int64_t size = 1;
  for (std::size_t m = 0; m < sizes.size(); ++m) {
    const std::int64_t span = saturating_product(sizes[m] - 1, strides[m]);
    if (span > MemoryLayout::max_size) return span;  // more would overflow
    size += span;
  }
  return size;
}

std::optional<Error> check_modes(const Shape& shape, const std::vector<std::int64_t>& sizes,
                                 const std::vector<std::int64_t>& strides) {
  if (auto error = check_shape(shape, MemoryLayout::max_size)) return error;
  if (element_count(shape) > MemoryLayout::max_size) {
    return layout_error(fmt::format("shape {} has more than 2^48 elements", to_string(shape)));
  }
  if (sizes.size() != strides.size() || sizes.size() > RegisterLayout::max_modes) {
    return layout_error(
        fmt::format("{} modes with {} strides; each mode has one stride, and there "
                    "are at most {} modes",
                    sizes.size(), strides.size(), RegisterLayout::max_modes));
  }
  for (std::size_t m = 0; m < sizes.size(); ++m) {
    if (sizes[m] >= 1 && strides[m] >= 0) continue;
    return layout_error(fmt::format(
        "a mode of size {} with stride {}; sizes must be positive, strides not negative", sizes[m],
        strides[m]));
  }
  return std::nullopt;
}

Result<MemoryLayout> from_groups(Shape shape, const std::vector<std::vector<Mode>>& groups,
                                 std::optional<Swizzle> swizzle) {
  std::vector<std::int64_t> sizes, strides;
  for (const auto& group : groups) {
    for (const auto& mode : merge_modes(group)) {
      sizes.push_back(mode.size);
      strides.push_back(mode.stride);
    }
  }
  return MemoryLayout::make(std::move(shape), sizes, strides, swizzle);
}

/// The modes of each dimension of a layout that exists.
std::vector<std::vector<Mode>> groups_of(const MemoryLayout& layout) {
  return *group_modes(layout.shape(), layout.mode_shape(), layout.mode_strides());
}

/// Takes modes with the product `extent` from the back of a list, splitting the last one if need
/// be; nothing if a size does not divide.
std::optional<std::vector<Mode>> take_modes(std::vector<Mode>& modes, std::int64_t extent) {
  std::vector<Mode> taken;
  while (extent > 1) {
    if (modes.empty()) return std::nullopt;
    Mode& last = modes.back();
    const std::int64_t size = std::min(last.size, extent);
    if (last.size % size != 0 || extent % size != 0) return std::nullopt;
    taken.insert(taken.begin(), {size, last.stride});
    extent /= size;
    last = {last.size / size, last.stride * size};
    if (last.size == 1) modes.pop_back();
  }
  return taken;
}

}  // namespace

std::int64_t Swizzle::apply(std::int64_t offset) const {
  const auto o = static_cast<std::uint64_t>(offset);
  const std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
  return static_cast<std::int64_t>(o ^ ((o >> (base + shift) & mask) << base));
}

Result<MemoryLayout> MemoryLayout::make(Shape shape, const std::vector<std::int64_t>& mode_shape,
                                        const std::vector<std::int64_t>& mode_strides,
                                        std::optional<Swizzle> swizzle) {
  if (auto error = check_modes(shape, mode_shape, mode_strides)) return *error;
  if (swizzle) {
    if (auto error = check_swizzle(*swizzle)) return *error;
    if (swizzle->bits == 0) swizzle.reset();
  }
  auto groups = group_modes(shape, mode_shape, mode_strides);
  if (!groups) return groups.error();
  MemoryLayout layout;
  for (const auto& group : *groups) {
    for (const auto& mode : merge_modes(group)) {
      layout.mode_shape_.push_back(mode.size);
      layout.mode_strides_.push_back(mode.stride);
    }
  }
  layout.shape_ = std::move(shape);
  layout.swizzle_ = swizzle;
  if (linear_size(layout.mode_shape_, layout.mode_strides_) <= max_size) return layout;
  return layout_error(fmt::format("strides {} of modes {} reach an offset of 2^48 or more",
                                  to_string(layout.mode_strides_), to_string(layout.mode_shape_)));
}

std::int64_t MemoryLayout::offset(const Index& index) const {
  std::int64_t offset = 0;
  std::size_t mode = mode_shape_.size();
  for (std::size_t d = shape_.size(); d-- > 0;) {
    std::int64_t x = index[d];
    for (std::int64_t rest = shape_[d]; rest > 1; rest /= mode_shape_[mode]) {
      --mode;
      offset += x % mode_shape_[mode] * mode_strides_[mode];
      x /= mode_shape_[mode];
    }
  }
  return swizzle_ ? swizzle_->apply(offset) : offset;
}

std::int64_t MemoryLayout::storage_size() const {
  const std::int64_t size = linear_size(mode_shape_, mode_strides_);
  if (!swizzle_ || size <= std::int64_t{1} << (swizzle_->base + swizzle_->shift)) return size;
  const std::int64_t block = std::int64_t{1} << (swizzle_->base + swizzle_->bits);
  return (size + block - 1) / block * block;
}

Result<MemoryLayout> row_major(const Shape& shape) {
  return strided(shape, row_major_strides(shape));
}

Result<MemoryLayout> column_major(const Shape& shape) {
  std::vector<std::int64_t> strides(shape.size(), 1);
  for (std::size_t d = 1; d < shape.size(); ++d) {
    strides[d] = saturating_product(strides[d - 1], shape[d - 1]);
  }
  return strided(shape, strides);
}

Result<MemoryLayout> strided(const Shape& shape, const std::vector<std::int64_t>& strides) {
  if (shape.size() == strides.size()) return MemoryLayout::make(shape, shape, strides);
  return layout_error(fmt::format("{} strides for shape {}; each dimension has one stride",
                                  strides.size(), to_string(shape)));
}

Result<MemoryLayout> swizzled(const MemoryLayout& layout, Swizzle swizzle) {
  return MemoryLayout::make(layout.shape(), layout.mode_shape(), layout.mode_strides(), swizzle);
}

Result<MemoryLayout> compose(const MemoryLayout& outer, const MemoryLayout& inner) {
  if (outer.swizzle()) {
    return layout_error(
        "the outer factor of a product of memory layouts has a swizzle; only the "
        "inner one can have one");
  }
  const std::int64_t storage = inner.storage_size();
  if (inner.swizzle() && outer.storage_size() > 1) {
    const Swizzle& s = *inner.swizzle();
    const std::int64_t period = std::int64_t{1} << (s.base + s.shift + s.bits);
    if (storage % period != 0) {
      return layout_error(fmt::format(
          "a tile of {} elements has a swizzle of period {}; to be repeated, its size must be a "
          "multiple of the period",
          storage, period));
    }
  }
  const auto rank = static_cast<std::size_t>(std::max(outer.rank(), inner.rank()));
  const std::size_t outer_pad = rank - outer.shape().size();
  const std::size_t inner_pad = rank - inner.shape().size();
  Shape shape(rank, 1);
  std::vector<std::vector<Mode>> groups(rank);
  const auto outer_groups = groups_of(outer);
  const auto inner_groups = groups_of(inner);
  for (std::size_t d = 0; d < rank; ++d) {
    if (d >= outer_pad) {
      shape[d] = outer.shape()[d - outer_pad];
      for (const Mode& mode : outer_groups[d - outer_pad]) {
        groups[d].push_back({mode.size, saturating_product(mode.stride, storage)});
      }
    }
    if (d >= inner_pad) {
      shape[d] = saturating_product(shape[d], inner.shape()[d - inner_pad]);
      const auto& own = inner_groups[d - inner_pad];
      groups[d].insert(groups[d].end(), own.begin(), own.end());
    }
  }
  return from_groups(std::move(shape), groups, inner.swizzle());
}

Result<MemoryLayout> permute(const MemoryLayout& layout, const std::vector<int>& dims) {
  if (auto error = check_permutation(dims, layout.rank())) return *error;
  const auto old_groups = groups_of(layout);
  Shape shape;
  std::vector<std::vector<Mode>> groups;
  for (const int dim : dims) {
    shape.push_back(layout.shape()[static_cast<std::size_t>(dim)]);
    groups.push_back(old_groups[static_cast<std::size_t>(dim)]);
  }
  return from_groups(std::move(shape), groups, layout.swizzle());
}

Result<MemoryLayout> reshape(const MemoryLayout& layout, const Shape& shape) {
  if (auto error = check_shape(shape, MemoryLayout::max_size)) return *error;
  if (element_count(shape) != element_count(layout.shape())) {
    return layout_error(
        fmt::format("a tensor of shape {} cannot have shape {}: the numbers of "
                    "elements differ",
                    to_string(layout.shape()), to_string(shape)));
  }
  std::vector<Mode> linear;
  for (std::size_t m = 0; m < layout.mode_shape().size(); ++m) {
    linear.push_back({layout.mode_shape()[m], layout.mode_strides()[m]});
  }
  linear = merge_modes(linear);
  std::vector<std::vector<Mode>> groups(shape.size());
  for (std::size_t d = shape.size(); d-- > 0;) {
    auto taken = take_modes(linear, shape[d]);
    if (!taken) {
      return layout_error(
          fmt::format("memory layout `{}` has no form with shape {}: one of its "
                      "modes would lie across two dimensions",
                      to_string(layout), to_string(shape)));
    }
    groups[d] = *std::move(taken);
  }
  return from_groups(shape, groups, layout.swizzle());
}

}  // namespace tilevm::isa
