#include "sim/tiles/lane_tiles.h"

#include "sim/tiles/packing.h"

namespace tilevm::sim {
namespace {

std::uint8_t* grown(std::vector<std::uint8_t>& bytes, std::size_t needed) {
  if (bytes.size() < needed) bytes.resize(needed);
  return bytes.data();
}

template <class Lane>
void gather(const isa::PlaceMap& places, const std::uint8_t* lanes, std::size_t locals,
            std::size_t count, std::uint8_t* out) {
  for (std::size_t t = 0; t < count; ++t) {
    for (std::size_t i = 0; i < places.size(); ++i) {
      const auto place = static_cast<std::size_t>(places[i]);
      store_lane(out, t * places.size() + i, load_lane<Lane>(lanes, t * locals + place));
    }
  }
}

}  // namespace

const std::uint8_t* read_lanes(const LaneOperand& operand, const RegisterSlab& registers,
                               std::size_t first, std::size_t count, LaneBuffer& buffer) {
  const Tile& tile = operand.tile;
  const std::uint8_t* lanes = registers.at(tile.offset);
  if (tile.bits >= 8) {
    lanes += first * tile.thread_bytes;
  } else {
    std::uint8_t* const unpacked = grown(buffer.lanes, count * tile.locals);
    unpack(tile, lanes, first, count, unpacked);
    lanes = unpacked;
  }
  if (!operand.places) return lanes;
  const isa::PlaceMap& places = *operand.places;
  std::uint8_t* const out = grown(buffer.gathered, count * places.size() * lane_bytes(tile.bits));
  with_lane(tile.bits, [&]<class Lane>() { gather<Lane>(places, lanes, tile.locals, count, out); });
  return out;
}

std::uint8_t* result_lanes(const Tile& result, RegisterSlab& registers, std::size_t first,
                           std::size_t count, LaneBuffer& buffer) {
  if (result.bits >= 8) return registers.at(result.offset) + first * result.thread_bytes;
  return grown(buffer.lanes, count * result.locals);
}

void finish_lanes(const Tile& result, RegisterSlab& registers, std::size_t first, std::size_t count,
                  const LaneBuffer& buffer) {
  if (result.bits >= 8) return;
  pack(result, buffer.lanes.data(), first, count, registers.at(result.offset));
}

}  // namespace tilevm::sim
