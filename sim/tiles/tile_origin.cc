#include "sim/tiles/tile_origin.h"

#include <cstring>

namespace tilevm::sim {

std::int64_t KeptIndices::at(std::size_t thread, std::size_t place) const {
  const std::size_t lane = thread * locals + static_cast<std::size_t>((*places)[place]);
  std::uint64_t code = 0;
  std::memcpy(&code, lanes.data() + lane * lane_bytes, lane_bytes);
  if (is_signed && lane_bytes == 4) {
    code = static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<std::int32_t>(code)));
  }
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(begin) + code);
}

isa::Index element_index(const SharedTileLayout& tile, const LayoutParts& parts,
                         const TileOrigin& origin, std::size_t thread, std::size_t place) {
  const std::int32_t* thread_part = parts.thread_part(thread);
  const std::int32_t* local_part = parts.local_part(place);
  isa::Index index(tile.tile_dims.size());
  for (std::size_t d = 0; d < index.size(); ++d) {
    index[d] = origin[d];
    if (tile.tile_dims[d] < 0) continue;
    const auto dim = static_cast<std::size_t>(tile.tile_dims[d]);
    index[d] += thread_part[dim] + local_part[dim];
  }
  if (tile.indexed && origin.places) index[*tile.indexed] = origin.places->at(thread, place);
  return index;
}

std::int64_t element_offset(const SharedTileLayout& tile, const LayoutParts& parts,
                            const TileOrigin& origin, std::size_t thread, std::size_t place) {
  if (!origin.places) return element_offset(tile, parts, origin.begin, thread, place);
  const isa::Index index = element_index(tile, parts, origin, thread, place);
  if (!tile.plain) return tile.layout->offset(index);
  std::int64_t offset = 0;
  for (std::size_t d = 0; d < index.size(); ++d) offset += index[d] * tile.strides[d];
  return offset;
}

}  // namespace tilevm::sim
