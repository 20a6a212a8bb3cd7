// Runs the blocks of a launch that order themselves by semaphores and counters.
//
// Blocks begin in the launch order, at most as many as a GPU holds at once (`resident`). A further
// block begins when a resident block ends. Blocks run in rounds. In a round each block that does
// not wait runs, on any host thread, up to an instruction that orders blocks. Then these
// instructions take effect one after another, each block in its turn. A block whose LockSemaphore
// does not find its value waits until its next turn. So nothing depends on host threads: neither
// which block comes first at a counter, nor which fault is found. If all blocks that have begun
// wait and no further block may begin, the launch is in a deadlock.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/access/semaphore.h"
#include "sim/checks/happens_before.h"
#include "sim/launch/block_interpreter.h"
#include "sim/launch/launch_plan.h"
#include "sim/launch/ordered_faults.h"

namespace tilevm::sim {

/// Blocks begin while fewer than this can run: enough for the host threads, few suspended states.
inline constexpr std::size_t enough_blocks = 16;
/// The order in which blocks come to their turns, one block at a time.
struct TurnOrder {
  enum class Kind : std::uint8_t {
    first,   ///< the first block in the launch order runs as far as it can, then the next one
    last,    ///< order from the last block on
    random,  ///< any block that can run, by the seed
    ranked,  ///< blocks have random ranks, and the one that ranks first runs as far as it can
  };
  Kind kind = Kind::first;
  std::uint64_t seed = 0;
};
/// "the last block first", for messages.
[[nodiscard]] std::string to_string(const TurnOrder& order);

class BlockScheduler {
 public:
  /// At most `resident` blocks have begun and not ended.
  BlockScheduler(const LaunchPlan& launch, const RunSettings& settings, std::uint64_t resident,
                 std::uint64_t threads);

  /// Runs all blocks, or stops in the first turn with faults and reports the fault of the block
  /// that is first in the launch order. Calls ended(rank, prints) for every block that has begun.
  std::optional<BlockFault> run(const std::function<void(std::uint64_t, isa::PrintRecords)>& ended);
  /// Runs all blocks one at a time in another order.
  std::optional<BlockFault> run_singly(const TurnOrder& order);
  /// The interpreters, with what they counted.
  [[nodiscard]] const std::vector<std::unique_ptr<BlockInterpreter>>& machines() const {
    return machines_;
  }
  /// What the blocks wrote; null if it is not followed.
  [[nodiscard]] const AccessSink* accesses() const { return detector_ ? &*detector_ : nullptr; }
  /// Whether the states of the blocks that wait take more memory than a run may.
  [[nodiscard]] bool too_large() const { return too_large_; }
  /// Whether no result is wanted any more (Progress::stop).
  [[nodiscard]] bool is_stopped() const { return settings_.stop->load(std::memory_order_relaxed); }

 private:
  struct Resident {
    std::uint64_t rank = 0;
    BlockState state;
    bool ended = false;
    std::optional<Fault> fault;
    [[nodiscard]] bool waits() const { return state.wait.has_value(); }
  };

  /// At most `enough` blocks that can run.
  void admit(std::size_t enough);
  [[nodiscard]] Resident* choose(const TurnOrder& order, std::uint64_t step);
  [[nodiscard]] std::optional<BlockFault> run_turn(Resident& resident);
  [[nodiscard]] std::optional<BlockFault> lost_wait() const;
  [[nodiscard]] bool run_segments();
  void run_segment(Resident& resident, BlockInterpreter& machine);
  [[nodiscard]] std::optional<BlockFault> look_at_segments();
  [[nodiscard]] std::optional<BlockFault> take_turns();
  [[nodiscard]] BlockFault deadlock() const;

  const LaunchPlan& launch_;
  const std::uint64_t blocks_, resident_;
  TurnLog log_;
  std::optional<HappensBeforeDetector> detector_;
  RunSettings settings_;
  std::vector<std::unique_ptr<BlockInterpreter>> machines_;  // one a host thread
  std::uint64_t next_ = 0;                                   // rank of the block that begins next
  std::vector<Resident> residents_;                          // ascending
  std::vector<BlockState> free_;                             // of blocks that have ended
  bool too_large_ = false;
};

}  // namespace tilevm::sim
