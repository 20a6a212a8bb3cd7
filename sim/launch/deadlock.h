// The report of a launch in which every block that has begun waits, and no other may begin.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "sim/access/semaphore.h"
#include "sim/api/sim.h"
#include "sim/launch/launch_plan.h"
#include "sim/state/state.h"

namespace tilevm::sim {

struct WaitingBlock {
  std::uint64_t rank = 0;  ///< rank in the launch order
  const BlockState* state = nullptr;
};

/// How far a launch has come.
struct BegunBlocks {
  std::uint64_t next = 0;      ///< rank of the block that would begin next
  std::uint64_t resident = 1;  ///< most blocks that have begun and not ended
};

/// The fault, and the rank of the block that it is reported for: the one with the least index.
[[nodiscard]] std::pair<std::uint64_t, Fault> explain_deadlock(
    const LaunchPlan& launch, const std::vector<WaitingBlock>& waiting, const TurnLog& log,
    const BegunBlocks& begun);

}  // namespace tilevm::sim
