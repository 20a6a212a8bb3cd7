// A launch of a debugged run: its plan, its memory, and an interpreter to step blocks with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "isa/base/result.h"
#include "isa/verify/verify.h"
#include "sim/access/semaphore.h"
#include "sim/api/sim.h"
#include "sim/checks/block_races.h"
#include "sim/checks/happens_before.h"
#include "sim/debug/record_table.h"
#include "sim/launch/block_interpreter.h"
#include "sim/launch/launch_plan.h"
#include "sim/launch/ordered_faults.h"
#include "sim/state/access_observer.h"

namespace tilevm::sim::debug {

/// A kernel, and its arguments: indices into the run's buffers, and scalars.
struct LaunchSpec {
  int kernel = 0;
  std::vector<Argument> arguments;
};

/// The plan of a kernel, which its launches share.
struct KernelPlan {
  KernelPlan(const isa::VerifiedProgram& program, int kernel, const Checks& checks);

  Plan plan;
  RegisterFile registers;
  RecordTable records;
};

/// Passes on what blocks access the first time that they do.
class FirstTimeSink final : public AccessSink {
 public:
  void note(std::size_t buffer, std::uint64_t block, const TouchedBits& touched) override {
    if (open && sink != nullptr) sink->note(buffer, block, touched);
  }
  [[nodiscard]] std::vector<Interval> written(std::size_t buffer) const override {
    return sink != nullptr ? sink->written(buffer) : std::vector<Interval>();
  }

  AccessSink* sink = nullptr;
  bool open = true;
};

class PreparedLaunch {
 public:
  /// `buffers` and `accesses` must outlive the launch. Errors: arguments that do not fit (usage),
  /// not enough memory (limit).
  [[nodiscard]] static Result<std::unique_ptr<PreparedLaunch>> make(
      const isa::VerifiedProgram& program, const LaunchSpec& spec,
      std::shared_ptr<const KernelPlan> plan, std::vector<Buffer>& buffers, const Options& options,
      AccessObserver* accesses);

  [[nodiscard]] int kernel_index() const { return kernel_; }
  [[nodiscard]] const isa::Kernel& kernel() const { return program_.kernel(kernel_); }
  [[nodiscard]] const isa::KernelInfo& info() const { return program_.info(kernel_); }
  [[nodiscard]] const Plan& plan() const { return plan_->plan; }
  [[nodiscard]] const RegisterFile& registers() const { return plan_->registers; }
  [[nodiscard]] const RecordTable& records() const { return plan_->records; }
  /// Workspaces, then the run's buffers.
  [[nodiscard]] const Memory& memory() const { return memory_.buffers; }
  [[nodiscard]] std::size_t workspaces() const { return memory_.workspaces.size(); }
  /// Not if grid_fault().
  [[nodiscard]] const LaunchPlan& launch() const { return *launch_; }
  [[nodiscard]] const std::optional<Fault>& grid_fault() const { return grid_fault_; }
  [[nodiscard]] const TurnLog& turns() const { return turns_; }
  [[nodiscard]] BlockInterpreter& interpreter() { return *interpreter_; }
  /// The block whose state the interpreter has.
  [[nodiscard]] const BlockState& running() const { return interpreter_->state(); }

  /// Compares a block that has ended with those before it. A fault if it races.
  [[nodiscard]] std::optional<BlockFault> race_of(std::uint64_t rank);
  /// Whether accesses of blocks that order themselves are compared.
  [[nodiscard]] bool compares_ordered() const { return ordered_.has_value(); }
  /// The step to a moment begins. What a step does is compared the first time that it is made.
  void begin_step(std::uint64_t moment);
  /// The race that this step has shown between blocks that order themselves.
  [[nodiscard]] std::optional<BlockFault> ordered_race(std::uint64_t moment);
  /// After the last block has ended: a wait that may never see its value.
  [[nodiscard]] std::optional<BlockFault> lost_wait() const;
  /// Forgets what blocks have accessed: after a change by hand their future is another one. What
  /// was done before `now` is compared no more, unless blocks order themselves: they do it again.
  void forget_accesses(std::uint64_t now);

 private:
  PreparedLaunch(const isa::VerifiedProgram& program, int kernel,
                 std::shared_ptr<const KernelPlan> plan, LaunchMemory memory,
                 std::vector<std::uint64_t> parameters, std::vector<BufferUse> uses);
  void prepare(const Options& options, AccessObserver* accesses);

  const isa::VerifiedProgram& program_;
  int kernel_;
  std::shared_ptr<const KernelPlan> plan_;
  LaunchMemory memory_;
  std::vector<std::uint64_t> parameters_;
  std::vector<BufferUse> uses_;
  std::optional<LaunchPlan> launch_;
  std::optional<Fault> grid_fault_;
  TurnLog turns_;
  RunSettings settings_;
  std::optional<BlockRaceDetector> detector_;  // unless blocks order themselves
  std::optional<HappensBeforeDetector> ordered_;
  FirstTimeSink first_time_;
  std::uint64_t compared_ = 0;             // the last moment whose step was compared
  std::optional<std::uint64_t> raced_at_;  // the moment at which a race was seen
  std::unique_ptr<BlockInterpreter> interpreter_;
};

}  // namespace tilevm::sim::debug
