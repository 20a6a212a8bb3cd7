// Memory layouts as text, and their hash.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "isa/layout/hash_state.h"
#include "isa/layout/memory_layout.h"

namespace tilevm::isa {
namespace {

/// One stride per dimension (0 for an extent of 1); nothing if a dimension has several modes.
std::optional<std::vector<std::int64_t>> dimension_strides(const MemoryLayout& layout) {
  std::vector<std::int64_t> strides;
  std::size_t mode = 0;
  for (const std::int64_t extent : layout.shape()) {
    strides.push_back(extent == 1 ? 0 : layout.mode_strides()[mode]);
    if (extent == 1) continue;
    if (layout.mode_shape()[mode] != extent) return std::nullopt;
    ++mode;
  }
  return strides;
}

std::string unswizzled_text(const MemoryLayout& layout) {
  const auto same = [&](const Result<MemoryLayout>& other) {
    return other && other->mode_shape() == layout.mode_shape() &&
           other->mode_strides() == layout.mode_strides();
  };
  const auto extents = fmt::format("{}", fmt::join(layout.shape(), ", "));
  if (same(row_major(layout.shape()))) return fmt::format("row_major({})", extents);
  if (same(column_major(layout.shape()))) return fmt::format("column_major({})", extents);
  if (const auto strides = dimension_strides(layout)) {
    return fmt::format("strides({})", to_string(*strides));
  }
  return fmt::format("memory_layout({}, {}, {})", to_string(layout.shape()),
                     to_string(layout.mode_shape()), to_string(layout.mode_strides()));
}

}  // namespace

std::string to_string(const MemoryLayout& layout) {
  if (!layout.swizzle()) return unswizzled_text(layout);
  const Swizzle& swizzle = *layout.swizzle();
  return fmt::format("{}.swizzle({}, {}, {})", unswizzled_text(layout), swizzle.base, swizzle.bits,
                     swizzle.shift);
}

}  // namespace tilevm::isa

std::size_t std::hash<tilevm::isa::MemoryLayout>::operator()(
    const tilevm::isa::MemoryLayout& layout) const noexcept {
  tilevm::isa::HashState state;
  state.add_all(layout.shape());
  state.add_all(layout.mode_shape());
  state.add_all(layout.mode_strides());
  const auto swizzle = layout.swizzle().value_or(tilevm::isa::Swizzle{});
  for (const int field : {swizzle.base, swizzle.bits, swizzle.shift}) state.add(field);
  return state.value();
}
