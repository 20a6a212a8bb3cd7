#include "sim/tiles/layout_parts.h"

#include <algorithm>

#include "isa/type/bits.h"

namespace tilevm::sim {

LayoutParts::LayoutParts(const isa::RegisterLayout& layout)
    : rank(static_cast<std::size_t>(layout.rank())),
      threads(static_cast<std::size_t>(layout.num_threads())),
      locals(static_cast<std::size_t>(layout.num_locals())) {
  const auto append = [](std::vector<std::int32_t>& table, const isa::Index& part) {
    for (const std::int64_t x : part) table.push_back(static_cast<std::int32_t>(x));
  };
  for (std::int64_t t = 0; t < layout.num_threads(); ++t) {
    append(thread_parts, layout.thread_part(t));
    const auto& replicas = layout.replica_terms();
    const bool first = std::all_of(replicas.begin(), replicas.end(), [t](const auto& term) {
      return t / term.divisor % term.size == 0;
    });
    if (first) first_threads.push_back(static_cast<std::int32_t>(t));
  }
  for (std::int64_t i = 0; i < layout.num_locals(); ++i) append(local_parts, layout.local_part(i));
}

LayoutParts::LayoutParts(const isa::Shape& shape)
    : rank(shape.size()), threads(1), locals(1), thread_parts(shape.size(), 0), first_threads{0} {
  for (const std::int64_t extent : shape) locals *= static_cast<std::size_t>(extent);
  local_parts.resize(locals * rank);
  for (std::size_t i = 0; i < locals; ++i) {
    auto rest = static_cast<std::int64_t>(i);
    for (std::size_t d = rank; d-- > 0; rest /= shape[d]) {
      local_parts[i * rank + d] = static_cast<std::int32_t>(rest % shape[d]);
    }
  }
}

isa::Index LayoutParts::index(std::size_t t, std::size_t i) const {
  isa::Index index(rank);
  for (std::size_t d = 0; d < rank; ++d) {
    index[d] = std::int64_t{thread_part(t)[d]} + local_part(i)[d];
  }
  return index;
}

std::optional<std::vector<std::int64_t>> plain_strides(const isa::MemoryLayout& layout) {
  if (layout.swizzle()) return std::nullopt;
  std::vector<std::int64_t> strides;
  std::size_t mode = 0;
  for (const std::int64_t extent : layout.shape()) {
    if (extent == 1) {
      strides.push_back(0);
      continue;
    }
    if (layout.mode_shape()[mode] != extent) return std::nullopt;
    strides.push_back(layout.mode_strides()[mode++]);
  }
  return strides;
}

Tile make_tile(const isa::RegisterType& type, std::size_t offset) {
  Tile tile;
  tile.offset = offset;
  tile.thread_bytes = isa::bytes_for_bits(static_cast<std::size_t>(type.bits_per_thread()));
  tile.threads = static_cast<std::size_t>(type.layout.num_threads());
  tile.locals = static_cast<std::size_t>(type.layout.num_locals());
  tile.bits = type.dtype.bits;
  return tile;
}

}  // namespace tilevm::sim
