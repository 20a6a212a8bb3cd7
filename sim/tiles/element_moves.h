// Elements that move to other places, in their own threads or between threads, as a table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "isa/layout/register_layout.h"
#include "sim/tiles/layout_parts.h"

namespace tilevm::sim {

/// For each place of each thread of a result the element that it takes: of which source, and that
/// source's number `thread * locals + place`.
struct ElementMoves {
  struct From {
    std::uint32_t source = 0, number = 0;
  };
  std::vector<Tile> sources;
  Tile result;
  std::vector<From> from;
};

/// `find(index, source)` gives the source of the result's element at an index, and changes the
/// index to the one there. An element comes from the same thread, if that has it.
template <class Find>
std::vector<ElementMoves::From> find_moves(const isa::RegisterLayout& result,
                                           const std::vector<isa::RegisterLayout>& sources,
                                           Find&& find) {
  std::vector<ElementMoves::From> moves;
  for (std::int64_t t = 0; t < result.num_threads(); ++t) {
    for (std::int64_t i = 0; i < result.num_locals(); ++i) {
      isa::Index index = result.element(t, i);
      const std::uint32_t source = find(index);
      const isa::RegisterLayout& layout = sources[source];
      const std::int64_t place = layout.local_of(index);
      const bool here = layout.element(t, place) == index;
      const std::int64_t thread = here ? t : layout.first_thread_of(index);
      moves.push_back({source, static_cast<std::uint32_t>(thread * layout.num_locals() + place)});
    }
  }
  return moves;
}

}  // namespace tilevm::sim
