// A launch, ready to run.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "sim/launch/block_sequence.h"
#include "sim/launch/launch.h"
#include "sim/launch/plan.h"

namespace tilevm::sim {

/// Must outlive the interpreters that run the launch.
struct LaunchPlan {
  const Plan& plan;
  const Memory& memory;
  const std::vector<std::uint64_t>& parameters;
  Grid grid;
  std::vector<BufferUse> uses;  ///< uses by buffer
  BlockSequence sequence;
  std::size_t workspaces = 0;  ///< the first of `memory`

  /// The block with a rank in the launch order.
  [[nodiscard]] std::array<std::int64_t, 3> block(std::uint64_t rank) const {
    return grid.block(sequence[rank]);
  }
  /// The block's index as messages name it, with an entry for each extent of the grid.
  [[nodiscard]] std::vector<std::int64_t> block_index(std::uint64_t rank) const {
    const auto index = block(rank);
    return {index.begin(), index.begin() + static_cast<std::ptrdiff_t>(grid.rank)};
  }
};

}  // namespace tilevm::sim
