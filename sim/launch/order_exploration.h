// Runs a launch whose blocks order themselves again in other orders of their turns.
//
// A run shows one order, and what a block does may depend on the number that an AtomicAdd gave it.
// So a small launch runs again from a copy of its memory: the last block first, the first block
// first, and in random orders. A fault in any order is a fault of the program.
#pragma once

#include <cstdint>
#include <optional>

#include "sim/launch/block_scheduler.h"
#include "sim/launch/launch_plan.h"
#include "sim/launch/memory_snapshot.h"

namespace tilevm::sim {

class OrderExploration {
 public:
  /// Whether all that a run of the launch leaves is in its memory, which is not large.
  [[nodiscard]] static bool is_possible(const LaunchPlan& launch, const RunSettings& settings);

  /// Made before the launch runs.
  OrderExploration(const LaunchPlan& launch, const RunSettings& settings, std::uint64_t resident,
                   std::uint64_t most_orders)
      : launch_(launch),
        settings_(settings),
        resident_(resident),
        most_orders_(most_orders),
        before_(launch.memory) {}

  /// Number of orders that run() takes after a launch of so many steps.
  [[nodiscard]] std::uint64_t orders(std::uint64_t steps) const;

  /// After the launch ran well in so many steps: the first fault in another order, with a note that
  /// names the order. Without a fault, memory is as it was after the first run.
  [[nodiscard]] std::optional<BlockFault> run(std::uint64_t steps) const;

 private:
  const LaunchPlan& launch_;
  const RunSettings& settings_;
  std::uint64_t resident_, most_orders_;
  MemorySnapshot before_;
};

}  // namespace tilevm::sim
