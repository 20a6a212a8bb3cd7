// Actions that work on whole tiles as lanes (sim/arithmetic/lanes.h).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>

#include "sim/state/preparation.h"
#include "sim/tiles/lane_tiles.h"

namespace tilevm::sim {

/// An operand, with the places that the result's elements are taken from.
[[nodiscard]] inline LaneOperand lane_operand(isa::VarId var, const Preparation& preparation) {
  const isa::RegisterLayout& layout = preparation.register_type(var).layout;
  const isa::RegisterLayout& result = preparation.register_type(preparation.result()).layout;
  return {preparation.tile(var), preparation.tables.places(result, layout)};
}

/// result = loop(operands).
template <std::size_t n, class Loop>
Action on_lanes(std::array<LaneOperand, n> operands, const Tile& result, Loop loop) {
  return [operands = std::move(operands), result, loop = std::move(loop)](Context& context) {
    for_lanes(operands, result, context.state.registers, context.scratch.lanes,
              [&](const auto& in, std::uint8_t* out, std::size_t count) {
                std::apply([&](auto... lanes) { loop(lanes..., out, count); }, in);
              });
    return true;
  };
}

}  // namespace tilevm::sim
