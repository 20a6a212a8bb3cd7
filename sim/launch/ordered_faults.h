// Faults of blocks that order themselves, told from what the detector of races has seen.
#pragma once

#include <cstdint>
#include <optional>

#include "sim/api/sim.h"
#include "sim/checks/happens_before.h"
#include "sim/launch/block_interpreter.h"
#include "sim/launch/launch_plan.h"

namespace tilevm::sim {

/// A fault, and the rank in the launch order of the block that met the fault.
struct BlockFault {
  std::uint64_t rank = 0;
  Fault fault;
  /// Number of steps that the block had made before; unset for a lost wait.
  std::uint64_t steps = 0;
  /// Number of turns that the block of a lost wait had taken.
  std::optional<std::uint64_t> turn = {};
};

/// Locates a race: both blocks run again up to the race, and write to memory what they wrote.
[[nodiscard]] BlockFault locate_race(const LaunchPlan& launch, const RunSettings& settings,
                                     const OrderedRace& race);

/// After all blocks have ended: a wait that found its value only since another block was slow.
[[nodiscard]] std::optional<BlockFault> find_lost_wait(const LaunchPlan& launch,
                                                       const HappensBeforeDetector& detector);

}  // namespace tilevm::sim
