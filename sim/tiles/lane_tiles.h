// Tiles as lanes (lanes.h): directly in the registers, or unpacked, or gathered to broadcast.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "isa/layout/broadcast.h"
#include "sim/arithmetic/lanes.h"
#include "sim/tiles/coordinates.h"
#include "sim/tiles/intervals.h"
#include "sim/tiles/layout_parts.h"
#include "sim/tiles/register_slab.h"

namespace tilevm::sim {

/// Memory for the lanes of one operand, kept from call to call.
struct LaneBuffer {
  std::vector<std::uint8_t> lanes, gathered;
};

/// An operand, and the operand's place for each place of the result (isa/layout/broadcast.h). Null:
/// the places are the same.
struct LaneOperand {
  Tile tile;
  std::shared_ptr<const isa::PlaceMap> places;

  /// Whether the operand's lanes are the tile itself.
  [[nodiscard]] bool in_place() const { return !places && tile.bits >= 8; }
};

/// The operand's lanes for the result's places in the threads [first, first + count).
[[nodiscard]] const std::uint8_t* read_lanes(const LaneOperand& operand,
                                             const RegisterSlab& registers, std::size_t first,
                                             std::size_t count, LaneBuffer& buffer);

/// The lanes of `locals` lanes of each of `count` threads at places of the thread.
[[nodiscard]] const std::uint8_t* gather_lanes(unsigned bits, const isa::PlaceMap& places,
                                               const std::uint8_t* lanes, std::size_t locals,
                                               std::size_t count, LaneBuffer& buffer);

/// The memory for the lanes of a result; finish_lanes must be called after they are written.
[[nodiscard]] std::uint8_t* result_lanes(const Tile& result, RegisterSlab& registers,
                                         std::size_t first, std::size_t count, LaneBuffer& buffer);
void finish_lanes(const Tile& result, RegisterSlab& registers, std::size_t first, std::size_t count,
                  const LaneBuffer& buffer);

/// Calls f(lanes of each operand, lanes of the result, how many) until all of the result is
/// written: at once, or in pieces that fit a cache.
template <std::size_t n, class F>
void for_lanes(const std::array<LaneOperand, n>& operands, const Tile& result,
               RegisterSlab& registers, std::array<LaneBuffer, 4>& buffers, F&& f) {
  static_assert(n < 4);
  constexpr std::size_t elements = 4096;
  bool in_place = result.bits >= 8;
  for (const LaneOperand& operand : operands) in_place = in_place && operand.in_place();
  const std::size_t piece = result.locals >= elements ? 1 : elements / result.locals;
  const std::size_t step = in_place ? result.threads : piece;
  for (std::size_t t = 0; t < result.threads; t += step) {
    const std::size_t count = result.threads - t < step ? result.threads - t : step;
    std::array<const std::uint8_t*, n> in;
    for (std::size_t i = 0; i < n; ++i) {
      in[i] = read_lanes(operands[i], registers, t, count, buffers[i]);
    }
    f(in, result_lanes(result, registers, t, count, buffers[n]), count * result.locals);
    finish_lanes(result, registers, t, count, buffers[n]);
  }
}

}  // namespace tilevm::sim
