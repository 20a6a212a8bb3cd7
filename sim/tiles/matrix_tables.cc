#include "sim/tiles/matrix_tables.h"

namespace tilevm::sim {
namespace {

std::size_t position_of(const LayoutParts& parts, std::size_t t, std::size_t i,
                        const MatrixOrder& order) {
  const auto index = [&](std::size_t d) {
    const std::int32_t x = parts.thread_part(t)[d] + parts.local_part(i)[d];
    return static_cast<std::size_t>(x);
  };
  return order.position(index(0), index(1), index(2));
}

}  // namespace

std::vector<std::uint32_t> find_owners(const LayoutParts& parts, const Tile& tile,
                                       const MatrixOrder& order) {
  std::vector<std::uint32_t> owners(parts.first_threads.size() * parts.locals);
  for (const std::int32_t first : parts.first_threads) {
    const auto t = static_cast<std::size_t>(first);
    for (std::size_t i = 0; i < parts.locals; ++i) {
      owners[position_of(parts, t, i, order)] =
          static_cast<std::uint32_t>(t * tile.thread_bytes * 8 + i * tile.bits);
    }
  }
  return owners;
}

std::vector<std::uint32_t> find_positions(const LayoutParts& parts, const MatrixOrder& order) {
  std::vector<std::uint32_t> positions;
  positions.reserve(parts.threads * parts.locals);
  for (std::size_t t = 0; t < parts.threads; ++t) {
    for (std::size_t i = 0; i < parts.locals; ++i) {
      positions.push_back(static_cast<std::uint32_t>(position_of(parts, t, i, order)));
    }
  }
  return positions;
}

}  // namespace tilevm::sim
