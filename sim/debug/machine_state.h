// The state of a debugged run, as a value: where every block is, and which block runs next. Global
// memory is beside it (page_log.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "sim/state/state.h"

namespace tilevm::sim::debug {

/// The time of a debugged run: how many steps were made, over all blocks and launches. A step runs
/// one record of a plan, or ends a block.
using Moment = std::uint64_t;

/// A block that has begun and not ended.
struct Resident {
  std::uint64_t rank = 0;  ///< rank in the launch order
  Moment began = 0;
  bool ended = false;  ///< whether it has ended; it leaves when the others have come as far
  BlockState state;
  std::vector<Moment> last_run;  ///< moment after the last run of each record; 0 if it did not run
};

struct MachineState {
  /// A round of a launch whose blocks order themselves (sim/launch/block_scheduler.h). Blocks that
  /// do not are run one after another: a round has one block, and no turns.
  enum class Phase : std::uint8_t { segments, turns };
  /// Why no step can be made.
  enum class Stuck : std::uint8_t { no, deadlock, bad_grid };

  std::size_t launch = 0;  ///< the number of launches at the end of the run
  Moment moment = 0;
  Moment launch_began = 0;
  std::uint64_t next_rank = 0;  ///< rank of the block that begins next
  Phase phase = Phase::turns;
  std::size_t position = 0;  ///< index in `residents` of the block that runs next
  Stuck stuck = Stuck::no;
  /// Shared with snapshots; a block is copied before it changes.
  std::vector<std::shared_ptr<Resident>> residents;
  /// Number of executions of each record of the launch's plan, by all of its blocks.
  std::vector<std::uint64_t> executed;
};

/// What a block's state takes, in bytes, about.
[[nodiscard]] std::size_t bytes_of(const Resident& resident);

/// A hash of everything that a later step may depend on, but global memory.
[[nodiscard]] std::uint64_t hash_of(const MachineState& state);

}  // namespace tilevm::sim::debug
