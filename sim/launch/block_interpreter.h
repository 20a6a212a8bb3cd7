// Runs the records of a plan on the state of a block, one at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "sim/api/sim.h"
#include "sim/checks/global_races.h"
#include "sim/launch/plan.h"
#include "sim/state/cluster.h"
#include "sim/state/context.h"

namespace tilevm::sim {

/// The interpreter of one host thread. The plan and the memory must outlive the interpreter.
class BlockInterpreter {
 public:
  /// Every block starts with the kernel's parameters as scalars.
  BlockInterpreter(const Plan& plan, const Memory& memory,
                   const std::vector<std::uint64_t>& parameters, const RunSettings& settings);

  /// Runs one block from begin to end, or a cluster, of which it is the first block; or until the
  /// run is stopped. Gives the fault that stopped it, if any. `order` is its rank in the launch
  /// order.
  std::optional<Fault> run_block(const std::array<std::int64_t, 3>& block, std::uint64_t order);

  /// Resets the interpreter to the beginning of a block.
  void start(const std::array<std::int64_t, 3>& block, std::uint64_t order);
  /// Whether the block has ended.
  [[nodiscard]] bool done() const { return state_.next >= plan_.records.size(); }
  /// Runs the next record; false after a fault, and without one where the run is stopped.
  bool step();

  // For blocks that order themselves (block_scheduler.h): an interpreter switches between blocks.
  /// Resumes a suspended block and suspends the current one.
  void exchange(BlockState& state) { std::swap(state_, state); }
  /// A state in which a block may start.
  [[nodiscard]] BlockState new_state() const;
  /// Runs until the block has ended or the next record orders blocks; false as step().
  bool run_segment();
  /// Runs the record that orders blocks, unless the block must wait; false after a fault.
  bool take_turn();
  /// Runs until the block has taken this many turns; for a replay, in which no turn waits.
  void run_turns(std::uint32_t turns);
  /// Publishes the block's accesses, so that other blocks are compared with them.
  void publish();
  /// The fault that stopped the block; in a cluster it names its block.
  [[nodiscard]] std::optional<Fault> take_fault();

  [[nodiscard]] const BlockState& state() const { return state_; }
  /// Calls f(block, records) for each block, of a cluster all, that has printed.
  template <class F>
  void take_prints(F&& f) {
    for_each_member(state_, [&] {
      if (!state_.prints.empty()) f(state_.block, std::exchange(state_.prints, {}));
    });
  }
  /// How often each record ran, over all blocks so far.
  [[nodiscard]] const std::vector<std::uint64_t>& executed() const { return executed_; }
  /// What the accesses of each record cost, over all blocks so far; empty unless
  /// the plan counts accesses.
  [[nodiscard]] const std::vector<AccessCounts>& accesses() const { return accesses_; }
  /// How often each store ran, by Plan::memory_statements.
  [[nodiscard]] const std::vector<StoreCount>& stores() const { return scratch_.stores; }
  /// Indices outside of views, by Plan::memory_statements.
  [[nodiscard]] const std::vector<OutsideCounts>& outside() const { return scratch_.outside; }
  /// The errors of each record's results, over all blocks so far; empty unless the plan keeps
  /// shadow values.
  [[nodiscard]] const std::vector<InstructionErrors>& errors() const { return errors_; }

 private:
  [[nodiscard]] OwnState new_own_state() const;
  [[nodiscard]] std::array<std::int64_t, 3> member(const std::array<std::int64_t, 3>& first,
                                                   std::uint32_t rank) const;
  void start_member(const std::array<std::int64_t, 3>& block);
  void start_shared_memory();
  void start_products();
  bool execute(const PlanOp& record);
  bool step_groups(std::size_t number);
  bool run_action(const PlanOp& record);
  bool step_shadow(const PlanOp& record);
  bool emit_trace(const PlanOp& record);
  void keep_operands_of(const PlanOp& record);
  void run_probe_of(const PlanOp& record);
  bool step_undefined(const PlanOp& record);
  bool enter_loop(const PlanOp& record);
  void next_of_loop(const PlanOp& record);
  bool step_limit(const PlanOp& record);

  const Plan& plan_;
  const std::vector<std::uint64_t>& parameters_;
  BlockState state_;
  Scratch scratch_;
  Context context_;
  std::vector<std::uint64_t> executed_;
  std::vector<AccessCounts> accesses_;
  std::vector<InstructionErrors> errors_;
  MeterCache meter_cache_;
};

}  // namespace tilevm::sim
