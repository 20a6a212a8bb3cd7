// Runs the records of a plan on the state of a block, one at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "sim/context.h"
#include "sim/plan.h"
#include "sim/sim.h"

namespace tilevm::sim {

/// One host thread's machine. The plan and the memory must outlive it.
class Machine {
 public:
  /// `initial` holds the values of the kernel's parameters; every block starts from a copy of its
  /// scalars.
  Machine(const Plan& plan, const Memory& memory, const std::vector<std::uint64_t>& parameters,
          std::uint64_t max_steps, const Checks& checks = {},
          std::uint64_t print_quota = isa::max_block_print_bytes);

  /// Runs one block from begin to end; the fault that stopped it, if one did.
  std::optional<Fault> run_block(const std::array<std::int64_t, 3>& block);

  /// Puts the machine at the beginning of a block.
  void start(const std::array<std::int64_t, 3>& block);
  /// Whether the block has ended.
  [[nodiscard]] bool done() const { return state_.next >= plan_.records.size(); }
  /// Runs the next record; false after a fault.
  bool step();

  [[nodiscard]] const BlockState& state() const { return state_; }
  /// What the block printed so far.
  [[nodiscard]] isa::PrintRecords take_prints() { return std::exchange(state_.prints, {}); }
  /// How often each record ran, over all blocks so far.
  [[nodiscard]] const std::vector<std::uint64_t>& executed() const { return executed_; }

 private:
  void start_shared_memory();
  bool enter_loop(const Record& record);
  void next_of_loop(const Record& record);
  bool step_limit(const Record& record);

  const Plan& plan_;
  const std::vector<std::uint64_t>& parameters_;
  std::uint64_t max_steps_;
  BlockState state_;
  Scratch scratch_;
  Context context_;
  std::vector<std::uint64_t> executed_;
};

}  // namespace tilevm::sim
