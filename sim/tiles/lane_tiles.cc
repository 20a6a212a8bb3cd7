#include "sim/tiles/lane_tiles.h"

#include <cstring>

#include "sim/tiles/packing.h"

namespace tilevm::sim {
namespace {

std::uint8_t* grown(std::vector<std::uint8_t>& bytes, std::size_t needed) {
  if (bytes.size() < needed) bytes.resize(needed);
  return bytes.data();
}

/// The length of the groups of neighbouring places that are made of one place (step 0), or of
/// places that follow one another (step 1): a power of two.
std::size_t group_length(const isa::PlaceMap& places, std::int32_t step) {
  // Where a place does not follow the place before it, a group begins; all begin at multiples of
  // their length.
  const std::int32_t* const place = places.data();
  const std::size_t size = places.size();
  std::size_t begins = size;
  for (std::size_t i = 1; i < size; ++i) begins |= place[i] - place[i - 1] != step ? i : 0;
  return begins & (~begins + 1);
}

/// The places of groups, each of one place `length` times.
template <class Lane>
void repeat(const isa::PlaceMap& places, const std::uint8_t* lanes, std::size_t locals,
            std::size_t count, std::size_t length, std::uint8_t* out) {
  const std::int32_t* const place = places.data();
  const std::size_t size = places.size();
  for (std::size_t t = 0; t < count; ++t, lanes += locals * sizeof(Lane)) {
    for (std::size_t i = 0; i < size; i += length, out += length * sizeof(Lane)) {
      const Lane lane = load_lane<Lane>(lanes, static_cast<std::size_t>(place[i]));
      for (std::size_t j = 0; j < length; ++j) store_lane(out, j, lane);
    }
  }
}

/// The places of groups, each of `length` places that follow one another; `bytes` is the length of
/// a group if it is known at compile time.
template <class Lane, std::size_t bytes>
void copy_groups(const isa::PlaceMap& places, const std::uint8_t* lanes, std::size_t locals,
                 std::size_t count, std::size_t length, std::uint8_t* out) {
  const std::int32_t* const place = places.data();
  const std::size_t size = places.size();
  const std::size_t group = bytes != 0 ? bytes : length * sizeof(Lane);
  for (std::size_t t = 0; t < count; ++t, lanes += locals * sizeof(Lane)) {
    for (std::size_t i = 0; i < size; i += length, out += group) {
      std::memcpy(out, lanes + static_cast<std::size_t>(place[i]) * sizeof(Lane), group);
    }
  }
}

template <class Lane>
void gather(const isa::PlaceMap& places, const std::uint8_t* lanes, std::size_t locals,
            std::size_t count, std::uint8_t* out) {
  const std::size_t equal = group_length(places, 0), ascending = group_length(places, 1);
  if (equal > 1) return repeat<Lane>(places, lanes, locals, count, equal, out);
  switch (ascending * sizeof(Lane)) {
    case 1:
      return copy_groups<Lane, 1>(places, lanes, locals, count, ascending, out);
    case 2:
      return copy_groups<Lane, 2>(places, lanes, locals, count, ascending, out);
    case 4:
      return copy_groups<Lane, 4>(places, lanes, locals, count, ascending, out);
    case 8:
      return copy_groups<Lane, 8>(places, lanes, locals, count, ascending, out);
    case 16:
      return copy_groups<Lane, 16>(places, lanes, locals, count, ascending, out);
    case 32:
      return copy_groups<Lane, 32>(places, lanes, locals, count, ascending, out);
    default:
      return copy_groups<Lane, 0>(places, lanes, locals, count, ascending, out);
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
  return gather_lanes(tile.bits, *operand.places, lanes, tile.locals, count, buffer);
}

const std::uint8_t* gather_lanes(unsigned bits, const isa::PlaceMap& places,
                                 const std::uint8_t* lanes, std::size_t locals, std::size_t count,
                                 LaneBuffer& buffer) {
  std::uint8_t* const out = grown(buffer.gathered, count * places.size() * lane_bytes(bits));
  with_lane(bits, [&]<class Lane>() { gather<Lane>(places, lanes, locals, count, out); });
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
