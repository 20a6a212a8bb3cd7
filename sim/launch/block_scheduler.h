// Runs the blocks of a launch that order themselves by semaphores and counters.
//
// Blocks begin in the order of the launch, as many as a GPU would hold at once (`resident`), the
// others when those end. They run in rounds. In a round each block that does not wait runs, on any
// host thread, until it stands before an instruction that orders blocks; then these instructions
// take effect one after another, each block in its turn. A block whose LockSemaphore does not find
// its value is put aside until its next turn. So nothing depends on host threads: neither which
// block comes first at a counter, nor which fault is found. If all blocks that have begun wait and
// no further one may begin, they wait for ever.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "sim/access/semaphore.h"
#include "sim/checks/happens_before.h"
#include "sim/launch/block_interpreter.h"
#include "sim/launch/launch_plan.h"

namespace tilevm::sim {

class BlockScheduler {
 public:
  /// At most `resident` blocks have begun and not ended.
  BlockScheduler(const LaunchPlan& launch, const RunSettings& settings, std::uint64_t resident,
                 std::uint64_t threads);

  /// A fault, and the place in the order of the block that met it.
  struct BlockFault {
    std::uint64_t place;
    Fault fault;
  };
  /// Runs all blocks, or until one faults: of the first turn with faults, the block that comes
  /// first in the order. Calls ended(place, prints) for every block that has begun.
  std::optional<BlockFault> run(const std::function<void(std::uint64_t, isa::PrintRecords)>& ended);
  /// With what they counted.
  [[nodiscard]] const std::vector<std::unique_ptr<BlockInterpreter>>& machines() const {
    return machines_;
  }

 private:
  struct Resident {
    std::uint64_t place = 0;
    BlockState state;
    bool ended = false;
    std::optional<Fault> fault;
    [[nodiscard]] bool waits() const { return state.wait.has_value(); }
  };

  void admit();
  [[nodiscard]] bool run_segments();
  void run_segment(Resident& resident, BlockInterpreter& machine);
  [[nodiscard]] std::optional<BlockFault> look_at_segments();
  [[nodiscard]] std::optional<BlockFault> take_turns();
  [[nodiscard]] BlockFault find_race() const;
  [[nodiscard]] BlockFault deadlock() const;
  void explain_deadlock(const Resident& first, Diagnostic& diagnostic) const;

  const LaunchPlan& launch_;
  const std::uint64_t blocks_, resident_;
  TurnLog log_;
  std::optional<HappensBeforeDetector> shadow_;
  RunSettings settings_;
  std::vector<std::unique_ptr<BlockInterpreter>> machines_;  // one a host thread
  std::uint64_t next_ = 0;           // the place of the block that begins next
  std::vector<Resident> residents_;  // ascending
  std::vector<BlockState> free_;     // of blocks that have ended
};

}  // namespace tilevm::sim
