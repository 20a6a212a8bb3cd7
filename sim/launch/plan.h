// A kernel as a flat list of records: structured control flow has become jumps, every instruction
// is prepared. Built once, shared by all blocks and host threads.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "isa/base/result.h"
#include "isa/verify/verify.h"
#include "sim/checks/undefined_flow.h"
#include "sim/counting/access_meter.h"
#include "sim/exec/data_flow.h"
#include "sim/launch/traced.h"
#include "sim/probe/statement_probe.h"
#include "sim/shadow/shadow_flow.h"
#include "sim/state/context.h"
#include "sim/state/scalar_code.h"
#include "sim/tiles/register_file.h"

namespace tilevm::sim {

struct PlanOp {
  enum class Kind : std::uint8_t {
    instruction,  ///< action
    assign,       ///< scalar[slot] = values[0]
    jump,         ///< jump to target
    branch,       ///< jump to target unless values[0]
    loop_enter,   ///< counter[counter] = range(values[0], values[1], values[2])
    loop_next,    ///< scalar[slot] = the next of counter[counter], or to target at the end
    fork,         ///< `groups` begin; this one goes on at target when they have ended
    group_end,    ///< the current group ends
  };
  /// A group that a fork begins, and where.
  struct Begin {
    std::uint16_t group = 0;
    std::size_t record = 0;
  };
  Kind kind = Kind::instruction;
  Span span{};
  Span loop{};  ///< range of the innermost enclosing loop, or empty
  Action action{};
  UndefinedTransfer undefined{};
  std::size_t instruction = 0;  ///< index in isa::Instruction
  std::size_t target = 0;
  std::size_t slot = 0;
  std::size_t counter = 0;  ///< slot of the loop's next value; the count and the step follow
  isa::ScalarKind scalar_kind = isa::ScalarKind::i32;  ///< kind of the loop variable
  std::array<ScalarCode, 3> values{};
  bool orders_blocks = false;             ///< whether an instruction takes effect in a turn
  bool orders_groups = false;             ///< whether another group may run after an instruction
  std::string_view mnemonic{};            ///< mnemonic of an instruction
  std::vector<TracedVariable> written{};  ///< variables that the record writes
  Meter meter{};   ///< meter of an instruction that moves a tile, if accesses are counted
  MmaCount mma{};  ///< counts of a Dot, if accesses are counted
  std::uint64_t special_functions = 0;  ///< instructions of that unit, if accesses are counted
  ShadowFlow shadow{};                  ///< if shadow values are kept
  DataFlow flow{};                      ///< if flows are kept
  isa::StmtId statement{};
  std::vector<Begin> groups{};  ///< beginnings of the groups of a fork
};

struct Plan {
  std::vector<PlanOp> records;
  std::vector<StatementProbe> probes;     ///< probes by record; empty if there are none
  std::vector<Span> conditional_commits;  ///< CopyAsyncCommitGroup in branches
  std::size_t scalar_slots = 0;           ///< one a variable (by index), then three a loop
  std::size_t view_slots = 0;             ///< one a variable
  std::size_t register_bytes = 0;         ///< bytes of the slab
  std::size_t table_count = 0;            ///< size of Scratch::tables
  std::size_t shared_table_count = 0;     ///< size of Scratch::shared_tables
  std::size_t indexed_table_count = 0;    ///< size of Scratch::indexed_tables
  std::size_t shared_bytes = 0;           ///< bytes of a block's shared memory
  SharedContents shared_contents;         ///< contents of shared memory at the begin of a block
  unsigned granule_shift = 0;             ///< RunSettings
  std::int64_t threads = 1;               ///< threads of a block
  unsigned global_granule_shift = 0;      ///< RunSettings
  bool counts_accesses = false;           ///< whether records have meters
  bool keeps_shadow = false;              ///< whether records have shadow flows
  bool orders_blocks = false;             ///< whether a record orders blocks
  bool has_products = false;              ///< whether a record begins an asynchronous product
  bool one_by_one = false;                ///< a result depends on the order of the blocks' steps
  std::size_t shadow_registers = 0;       ///< ShadowValues::registers
  std::size_t shadow_shared = 0;          ///< ShadowValues::shared
  std::vector<MemoryStatement> memory_statements;
  std::vector<Barrier> barriers;
  std::vector<std::size_t> barrier_records;  ///< records by barrier
  std::size_t table_bytes = 0;               ///< upper bound for all tables
  GroupsPlan groups;
};

/// What a plan does besides running.
struct PlanExtras {
  bool count_accesses = false;
  bool keep_shadow = false;
  const isa::ProbePlan* probes = nullptr;
  bool keep_flows = false;  ///< PlanOp::flow
  /// Wrapping of addresses, and of what they are computed from.
  Wrapping wrapping = Wrapping::allowed;
  bool follow_padding = false;  ///< Checks::padding
};

[[nodiscard]] Plan build_plan(const isa::VerifiedProgram& program, int kernel,
                              const PlanExtras& extras = {});

/// What is the same in every run of a plan: of one block or many, at once or step by step. Callers
/// add buffers to track and observers. The plan must live as long as the settings.
[[nodiscard]] RunSettings run_settings(const Options& options, const Plan& plan);

/// Error (limit): one block takes more memory than the simulator gives it.
[[nodiscard]] Status check_size(const Plan& plan, const isa::Kernel& kernel);

}  // namespace tilevm::sim
