// A run of launches, one step at a time, in one order that never changes: blocks that are
// independent run one after another; blocks that order themselves take turns as in
// sim/launch/block_scheduler.h.
//
// Going back is not its business (timeline.h): a machine takes a state and goes forward.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "isa/base/result.h"
#include "sim/api/sim.h"
#include "sim/debug/machine_state.h"
#include "sim/debug/page_log.h"
#include "sim/debug/prepared_launch.h"

namespace tilevm::sim::debug {

/// A write to global memory: bytes [begin, end) of a buffer include all of what was written. If
/// `pitch` is not 0 these are rows: of each `pitch` bytes the first `row`.
struct GlobalWrite {
  Moment moment = 0;  ///< moment after the step
  const std::uint8_t* buffer = nullptr;
  std::size_t begin = 0, end = 0, row = 0, pitch = 0;

  [[nodiscard]] bool may_include(const std::uint8_t* memory, std::size_t byte) const {
    return memory == buffer && begin <= byte && byte < end &&
           (pitch == 0 || (byte - begin) % pitch < row);
  }
};

/// Saves what accesses are about to write, and passes them on.
class WriteLog final : public AccessObserver {
 public:
  void global(const GlobalFootprint& footprint, const Context& context) override;
  void shared(const SharedAccess& access, const TileOrigin& origin, bool is_write,
              const Context& context) override;

  static constexpr std::size_t most_writes = std::size_t{1} << 20;

  Pages pages;         ///< saved since the last snapshot
  Moment moment = 0;   ///< moment after the step that runs
  Moment written = 0;  ///< moment after the last step that wrote global memory
  /// Each write of the run so far, in order, unless there were more than most_writes.
  std::vector<GlobalWrite> history;
  bool complete = true;                ///< whether `history` has them all
  AccessObserver* listener = nullptr;  ///< observer of every access, too; may be null
};

class Machine {
 public:
  /// `buffers` must outlive the machine. Errors: usage, limit.
  [[nodiscard]] static Result<std::unique_ptr<Machine>> make(
      const isa::VerifiedProgram& program, const std::vector<LaunchSpec>& launches,
      std::vector<Buffer>& buffers, const Options& options);

  /// Whether all launches have ended.
  [[nodiscard]] bool finished() const { return state_.launch >= launches_.size(); }
  [[nodiscard]] Moment moment() const { return state_.moment; }

  /// Makes a step. After a fault the state is that of a step half made: restore an earlier one.
  /// Not if finished().
  [[nodiscard]] std::optional<Fault> step();

  /// The launch that runs; not if finished().
  [[nodiscard]] PreparedLaunch& launch() { return *launches_[state_.launch]; }
  [[nodiscard]] const PreparedLaunch& launch() const { return *launches_[state_.launch]; }
  [[nodiscard]] const std::vector<std::unique_ptr<PreparedLaunch>>& launches() const {
    return launches_;
  }
  [[nodiscard]] std::size_t launch_index() const { return state_.launch; }
  /// Whether a block steps next: not if finished() or stuck.
  [[nodiscard]] bool has_current() const {
    return !finished() && state_.stuck == MachineState::Stuck::no;
  }
  /// The block that steps next, its state, and its next record; past the last one if it ends next.
  [[nodiscard]] const Resident& current() const { return *state_.residents[state_.position]; }
  [[nodiscard]] const BlockState& current_block() const {
    return loaded_ ? launch().running() : current().state;
  }
  [[nodiscard]] std::size_t next_record() const { return current_block().next; }

  /// Where the fault that was met last is, if it is of an earlier step: before the step of a block
  /// that had made so many steps, or before the turn of a block that had taken so many turns.
  struct FaultSite {
    std::size_t launch = 0;
    std::uint64_t rank = 0, steps = 0;
    std::optional<std::uint64_t> turn = {};
  };
  /// Whether the machine is before the step of the last fault.
  [[nodiscard]] bool at_fault_site() const;
  [[nodiscard]] const std::optional<FaultSite>& fault_site() const { return fault_site_; }

  /// The rank of the block that made the last step.
  [[nodiscard]] std::uint64_t stepped_rank() const { return stepped_rank_; }
  /// The whole state; blocks are up to date.
  [[nodiscard]] const MachineState& state() {
    unload();
    return state_;
  }
  void restore(const MachineState& state);
  /// A block that may be changed by hand.
  [[nodiscard]] BlockState& edit(std::size_t resident);

  /// Makes the copy of the current block that the next step would make.
  void own_current() { own(state_.position); }
  /// What other blocks did may be another future now.
  void change_future();

  [[nodiscard]] WriteLog& writes() { return writes_; }
  [[nodiscard]] const isa::VerifiedProgram& program() const { return program_; }

 private:
  Machine(const isa::VerifiedProgram& program, const Options& options)
      : program_(program), options_(options) {}

  void load();
  void unload();
  Resident& own(std::size_t resident);
  void enter_launch(std::size_t launch);
  void settle();
  [[nodiscard]] bool find_current();
  void end_phase();
  void admit();
  [[nodiscard]] std::optional<Fault> end_block();
  void publish_segments();
  [[nodiscard]] Fault met(Fault fault, std::uint64_t rank) const;
  [[nodiscard]] Fault met_earlier(BlockFault fault);
  [[nodiscard]] Fault why_stuck() const;

  const isa::VerifiedProgram& program_;
  Options options_;
  WriteLog writes_;
  std::vector<std::unique_ptr<PreparedLaunch>> launches_;
  MachineState state_;
  std::uint64_t stepped_rank_ = 0;
  std::optional<BlockFault> found_;  // by the present step, of blocks that order themselves
  std::optional<FaultSite> fault_site_;
  bool loaded_ = false;  // the interpreter has the state of the current block
};

}  // namespace tilevm::sim::debug
