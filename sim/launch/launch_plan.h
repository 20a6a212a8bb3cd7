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

  /// What runs by itself: blocks, or clusters of blocks.
  [[nodiscard]] std::uint64_t units() const { return grid.blocks() / plan.groups.blocks; }
  /// The grid of clusters, or of blocks.
  [[nodiscard]] Grid clusters() const {
    Grid result = grid;
    for (std::size_t d = 0; d < 3; ++d) result.extents[d] /= plan.groups.cluster[d];
    return result;
  }
  /// The block with a rank in the launch order, or the first one of a cluster.
  [[nodiscard]] std::array<std::int64_t, 3> block(std::uint64_t rank) const {
    std::array<std::int64_t, 3> first = clusters().block(sequence[rank]);
    for (std::size_t d = 0; d < 3; ++d) first[d] *= plan.groups.cluster[d];
    return first;
  }
  /// The number of the cluster of a block among all clusters.
  [[nodiscard]] std::uint64_t cluster_of(std::array<std::int64_t, 3> index) const {
    for (std::size_t d = 0; d < 3; ++d) index[d] /= plan.groups.cluster[d];
    return number_in(clusters(), index);
  }
  /// The number of a block in the grid; x is fastest.
  [[nodiscard]] std::uint64_t number(const std::array<std::int64_t, 3>& index) const {
    return number_in(grid, index);
  }
  /// The block's index as messages name it, with an entry for each extent of the grid.
  [[nodiscard]] std::vector<std::int64_t> block_index(std::uint64_t rank) const {
    return named(block(rank));
  }
  [[nodiscard]] std::vector<std::int64_t> named(const std::array<std::int64_t, 3>& index) const {
    return {index.begin(), index.begin() + static_cast<std::ptrdiff_t>(grid.rank)};
  }

 private:
  [[nodiscard]] static std::uint64_t number_in(const Grid& all,
                                               const std::array<std::int64_t, 3>& index) {
    const auto& extents = all.extents;
    return static_cast<std::uint64_t>(index[0] + extents[0] * (index[1] + extents[1] * index[2]));
  }
};

}  // namespace tilevm::sim
