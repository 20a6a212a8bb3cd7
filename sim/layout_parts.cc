#include "sim/layout_parts.h"

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
