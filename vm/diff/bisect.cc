#include "vm/diff/bisect.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "backend/select/probe_plan.h"
#include "backend/select/select.h"
#include "isa/analysis/statements.h"
#include "isa/inst/instruction_set.h"
#include "vm/diff/probe_dump.h"
#include "vm/run/make_engine.h"

namespace tilevm::vm {

namespace {

using Logs = std::vector<isa::ProbeLog>;

constexpr std::uint64_t record_bytes = 16;
/// A window with fewer records of a block covers fewer blocks instead.
constexpr std::uint64_t least_records = 64;
constexpr std::uint64_t most_records = std::uint64_t{1} << 22;

/// The value of a scalar parameter of a launch.
isa::Scalar launch_scalar(const isa::Kernel& kernel, const isa::Launch& launch, isa::VarId var) {
  for (std::size_t i = 0; i < launch.arguments.size() && i < kernel.parameters.size(); ++i) {
    if (kernel.parameters[i] != var) continue;
    if (const auto* scalar = std::get_if<isa::Scalar>(&launch.arguments[i])) return *scalar;
  }
  return {};
}

/// The grid of a launch; extents that are out of range are 1, since no engine will run it.
std::array<std::int64_t, 3> grid_of_launch(const isa::Kernel& kernel, const isa::Launch& launch) {
  std::array<std::int64_t, 3> grid{1, 1, 1};
  for (std::size_t d = 0; d < kernel.grid.size() && d < grid.size(); ++d) {
    const auto value = isa::evaluate(
        kernel.grid[d], [&](isa::VarId var) { return launch_scalar(kernel, launch, var); });
    if (!value || value->as_int() < 1) continue;
    grid[d] = std::min<std::int64_t>(value->as_int(), std::numeric_limits<std::int32_t>::max());
  }
  return grid;
}

/// One block's records in both engines.
struct BlockPairOfRecords {
  const isa::BlockProbes& a;
  const isa::BlockProbes& b;
};

/// Where two blocks differ first.
struct RecordDifference {
  std::uint32_t record = 0;
  bool path = false;  ///< the statements are not the same
};

bool may_compare(const isa::ProbeRecord& a, const isa::ProbeRecord& b) {
  return !a.undefined && !b.undefined;
}

/// `cut`: an engine met a fault, so that its records may end early.
std::optional<RecordDifference> first_difference(const BlockPairOfRecords& blocks, bool cut) {
  const std::size_t common = std::min(blocks.a.records.size(), blocks.b.records.size());
  for (std::size_t i = 0; i < common; ++i) {
    const isa::ProbeRecord &a = blocks.a.records[i], &b = blocks.b.records[i];
    const auto number = static_cast<std::uint32_t>(i);
    if (a.statement != b.statement) return RecordDifference{number, true};
    if (a.sum != b.sum && may_compare(a, b)) return RecordDifference{number, false};
  }
  if (cut || blocks.a.records.size() == blocks.b.records.size()) return std::nullopt;
  return RecordDifference{static_cast<std::uint32_t>(common), true};
}

class Bisection {
 public:
  Bisection(const DiffCase& what, const Engines& engines, const std::vector<HostTensor>& inputs,
            const BisectOptions& options, BisectResult& result)
      : what_(what), engines_(engines), inputs_(inputs), options_(options), result_(result) {
    const backend::SelectedProgram selected = backend::select(what.program);
    for (int k = 0; k < static_cast<int>(what.program.program().kernels.size()); ++k) {
      plans_.push_back(backend::plan_probes(selected, k));
    }
  }

  std::optional<Error> run() {
    Logs a = make_windows(), b = a;
    if (auto error = run_engine(*engines_[result_.a], a)) return error;
    if (auto error = run_engine(*engines_[result_.b], b)) return error;
    for (std::size_t launch = 0; launch < a.size() && !result_.found; ++launch) {
      compare_launch(launch, a[launch], b[launch]);
    }
    note_what_is_left_out(a, b);
    if (!result_.found) return std::nullopt;
    return show_statement(a, b);
  }

 private:
  /// Windows that fit the memory: all blocks if possible, with as many records as there is room.
  Logs make_windows() const {
    Logs logs;
    const std::uint64_t share =
        options_.memory / std::max<std::size_t>(what_.entry.launches.size(), 1);
    for (const isa::Launch& launch : what_.entry.launches) {
      isa::ProbeLog log;
      log.kernel = launch.kernel;
      log.grid = grid_of_launch(what_.program.kernel(launch.kernel), launch);
      const auto blocks = static_cast<std::uint64_t>(log.grid[0] * log.grid[1] * log.grid[2]);
      const std::uint64_t room = std::max<std::uint64_t>(share / record_bytes, least_records + 1);
      log.window.blocks = std::min(blocks, room / (least_records + 1));
      log.window.records =
          static_cast<std::uint32_t>(std::min(room / log.window.blocks - 1, most_records));
      logs.push_back(std::move(log));
    }
    return logs;
  }

  /// A fault of the program leaves what was recorded before it.
  std::optional<Error> run_engine(Engine& engine, Logs& logs) {
    ProbeRun probes{plans_, std::move(logs)};
    std::vector<HostTensor> tensors = inputs_;
    const auto failure = engine.run_probed(what_.program, what_.entry, tensors, probes);
    logs = std::move(probes.launches);
    if (!failure) return std::nullopt;
    if (const auto* error = std::get_if<Error>(&*failure)) return *error;
    const auto sorted = std::get<Diagnostics>(*failure).sorted();
    if (!cut_) {
      result_.left_out.push_back(fmt::format("what comes after a fault in {}: {}", engine.name(),
                                             sorted.empty() ? "" : sorted.front().message));
    }
    cut_ = true;
    return std::nullopt;
  }

  /// The difference of a launch that comes first: by the number of records before it, then by the
  /// block. Where blocks wait for one another, what a block loads may be another block's fault, so
  /// differences of loads come last.
  void compare_launch(std::size_t launch, const isa::ProbeLog& a, const isa::ProbeLog& b) {
    const isa::Statements statements(what_.program.kernel(a.kernel));
    std::optional<std::tuple<bool, std::uint32_t, std::size_t>> best;
    for (std::size_t i = 0; i < std::min(a.blocks.size(), b.blocks.size()); ++i) {
      result_.compared += std::min(a.blocks[i].records.size(), b.blocks[i].records.size());
      const auto difference = first_difference({a.blocks[i], b.blocks[i]}, cut_);
      if (!difference) continue;
      const bool load =
          !difference->path && is_global_load(statements, a.blocks[i].records[difference->record]);
      const std::tuple rank{load && orders_blocks(statements), difference->record, i};
      if (!best || rank < *best) best = rank;
    }
    if (best) describe(launch, std::get<2>(*best), std::get<1>(*best), statements, a, b);
  }

  static bool is_global_load(const isa::Statements& statements, const isa::ProbeRecord& record) {
    const isa::InstStmt* stmt =
        statements.instruction(isa::StmtId{static_cast<std::int32_t>(record.statement)});
    return stmt != nullptr && std::holds_alternative<isa::LoadGlobal>(stmt->inst);
  }
  static bool orders_blocks(const isa::Statements& statements) {
    bool orders = false;
    statements.for_each_instruction([&](isa::StmtId, const isa::InstStmt& stmt) {
      orders = orders || isa::description(stmt.inst).orders_blocks;
    });
    return orders;
  }

  void describe(std::size_t launch, std::size_t in_window, std::uint32_t record,
                const isa::Statements& statements, const isa::ProbeLog& a, const isa::ProbeLog& b) {
    BisectedStatement found;
    found.launch = launch;
    found.kernel = a.kernel;
    found.block = a.window.first_block + in_window;
    const auto width = static_cast<std::uint64_t>(a.grid[0]);
    const auto height = static_cast<std::uint64_t>(a.grid[1]);
    found.block_index = {static_cast<std::int64_t>(found.block % width),
                         static_cast<std::int64_t>(found.block / width % height),
                         static_cast<std::int64_t>(found.block / width / height)};
    found.record = record;
    const isa::BlockProbes &mine = a.blocks[in_window], &theirs = b.blocks[in_window];
    const auto at = [&](const isa::BlockProbes& block) -> std::optional<isa::StmtId> {
      if (record >= block.records.size()) return std::nullopt;
      return isa::StmtId{static_cast<std::int32_t>(block.records[record].statement)};
    };
    const std::optional<isa::StmtId> next_a = at(mine), next_b = at(theirs);
    if (next_a != next_b) found.what = PathDifference{next_a, next_b};
    found.statement = next_a ? *next_a : *next_b;
    found.loops = trips(next_a ? mine : theirs, record, found.statement, statements);
    result_.found = std::move(found);
  }

  /// The iterations of the loops around a statement, counted from the records before it.
  static std::vector<LoopTrip> trips(const isa::BlockProbes& block, std::uint32_t record,
                                     isa::StmtId statement, const isa::Statements& statements) {
    isa::StmtMap<std::uint64_t> counts(statements.size(), 0);
    for (std::uint32_t i = 0; i <= record && i < block.records.size(); ++i) {
      const isa::StmtId id{static_cast<std::int32_t>(block.records[i].statement)};
      if (statements.instruction(id) != nullptr) continue;
      ++counts[id];
      for (std::int32_t inner = id.index + 1; inner < statements.end(id); ++inner) {
        counts[isa::StmtId{inner}] = 0;
      }
    }
    std::vector<LoopTrip> loops;
    const bool is_loop = statements.end(statement) > statement.index + 1;
    isa::StmtId loop = is_loop ? statement : statements.loop(statement);
    for (; loop.valid(); loop = statements.loop(loop)) {
      loops.insert(loops.begin(), LoopTrip{loop, counts[loop], std::nullopt});
    }
    return loops;
  }

  /// Runs again, keeps the statement's values, and compares them.
  std::optional<Error> show_statement(const Logs& first_a, const Logs& first_b) {
    BisectedStatement& found = *result_.found;
    const bool path = std::holds_alternative<PathDifference>(found.what);
    Logs a = aim_at(first_a, path), b = aim_at(first_b, path);
    if (auto error = tell_operands(a)) return error;
    if (path) return std::nullopt;
    if (auto error = run_engine(*engines_[result_.a], a)) return error;
    if (auto error = run_engine(*engines_[result_.b], b)) return error;
    const isa::Statements statements(what_.program.kernel(found.kernel));
    found.what = compare_dumps(what_.program, found.kernel, statements[found.statement],
                               a[found.launch].dump, b[found.launch].dump);
    return std::nullopt;
  }

  /// Windows that hold only the block of the statement, which is the target.
  Logs aim_at(const Logs& logs, bool path) const {
    const BisectedStatement& found = *result_.found;
    Logs aimed;
    for (std::size_t i = 0; i < logs.size(); ++i) {
      isa::ProbeLog log;
      log.kernel = logs[i].kernel;
      log.grid = logs[i].grid;
      if (i == found.launch) {
        log.window = {found.block, 1, logs[i].window.records, {}};
        const bool exists = !path || found.record > 0;
        if (exists) {
          log.window.target = isa::ProbeWindow::Target{found.block, found.record};
        }
      }
      aimed.push_back(std::move(log));
    }
    return aimed;
  }

  /// What the simulator reads at the statement. A program that it cannot run has no operands.
  std::optional<Error> tell_operands(const Logs& aimed) {
    BisectedStatement& found = *result_.found;
    EngineOptions options{.threads = options_.threads};
    const Result<std::unique_ptr<Engine>> simulator = make_engine("sim", options);
    if (!simulator) return simulator.error();
    Logs logs = aimed;
    if (run_engine(**simulator, logs)) return std::nullopt;
    found.before = std::move(logs[found.launch].dump);
    const isa::Kernel& kernel = what_.program.kernel(found.kernel);
    const isa::Statements statements(kernel);
    for (LoopTrip& trip : found.loops) {
      const auto* loop = std::get_if<isa::ForStmt>(&statements[trip.loop].node);
      if (loop == nullptr || trip.loop == found.statement) continue;
      const auto slot = static_cast<std::size_t>(loop->var.index);
      const auto* type = std::get_if<isa::ScalarType>(&kernel.variable(loop->var).type);
      if (type == nullptr || slot >= found.before.scalars.size()) continue;
      trip.value = isa::Scalar{type->kind, found.before.scalars[slot]};
    }
    return std::nullopt;
  }

  void note_what_is_left_out(const Logs& a, const Logs& b) {
    for (std::size_t i = 0; i < a.size(); ++i) {
      const isa::ProbeLog &mine = a[i], &theirs = b[i];
      const std::string& name = what_.program.kernel(mine.kernel).name;
      const auto all = static_cast<std::uint64_t>(mine.grid[0] * mine.grid[1] * mine.grid[2]);
      if (mine.window.blocks < all) {
        result_.left_out.push_back(
            fmt::format("{} of {} blocks of `{}`", all - mine.window.blocks, all, name));
      }
      note_rest(name, mine, theirs);
    }
    note_statements();
  }

  /// Records beyond the window.
  void note_rest(const std::string& name, const isa::ProbeLog& a, const isa::ProbeLog& b) {
    std::uint64_t beyond = 0;
    bool differs = false;
    for (std::size_t k = 0; k < std::min(a.blocks.size(), b.blocks.size()); ++k) {
      const isa::BlockProbes &x = a.blocks[k], &y = b.blocks[k];
      if (x.count > a.window.records) beyond = std::max(beyond, x.count - a.window.records);
      differs = differs || (x.rest != y.rest && !x.rest_undefined && !y.rest_undefined);
    }
    if (beyond == 0) return;
    result_.left_out.push_back(
        fmt::format("what blocks of `{}` do after {} records, up to {} more{}", name,
                    a.window.records, beyond, differs ? "; their sums differ" : ""));
  }

  /// Statements of the launched kernels whose results no record has.
  void note_statements() {
    for (std::size_t k = 0; k < plans_.size(); ++k) {
      const auto kernel = static_cast<int>(k);
      const auto launched = [&](const isa::Launch& launch) { return launch.kernel == kernel; };
      const auto& launches = what_.entry.launches;
      if (std::none_of(launches.begin(), launches.end(), launched)) continue;
      std::size_t elided = 0, counters = 0;
      isa::for_each_statement(what_.program.kernel(kernel).body, [&](const isa::Stmt& stmt) {
        const auto* inst = std::get_if<isa::InstStmt>(&stmt.node);
        if (inst == nullptr || plans_[k][inst->id] != isa::ProbeMode::none) return;
        if (std::holds_alternative<isa::AtomicAdd>(inst->inst)) ++counters;
        elided += has_tile(*inst, what_.program.kernel(kernel)) ? 1 : 0;
      });
      const std::string& name = what_.program.kernel(kernel).name;
      if (elided > 0) {
        result_.left_out.push_back(
            fmt::format("{} statement{} of `{}` that machine code does together with the next",
                        elided, elided == 1 ? "" : "s", name));
      }
      if (counters > 0) {
        result_.left_out.push_back(fmt::format(
            "AtomicAdd in `{}`: which block comes first is not the same in all engines, "
            "and what depends on it differs without harm",
            name));
      }
    }
  }

  static bool has_tile(const isa::InstStmt& stmt, const isa::Kernel& kernel) {
    return std::any_of(stmt.results.begin(), stmt.results.end(), [&](isa::VarId var) {
      return std::holds_alternative<isa::RegisterType>(kernel.variable(var).type);
    });
  }

  const DiffCase& what_;
  const Engines& engines_;
  const std::vector<HostTensor>& inputs_;
  const BisectOptions& options_;
  BisectResult& result_;
  std::vector<isa::ProbePlan> plans_;
  bool cut_ = false;  ///< an engine met a fault
};

}  // namespace

Result<BisectResult> bisect(const DiffCase& what, const Engines& engines, std::size_t a,
                            std::size_t b, const std::vector<HostTensor>& inputs,
                            const BisectOptions& options) {
  BisectResult result;
  result.a = a;
  result.b = b;
  if (auto error = Bisection(what, engines, inputs, options, result).run()) {
    return *std::move(error);
  }
  return result;
}

std::optional<std::pair<std::size_t, std::size_t>> differing_pair(const SeedVerdict& verdict) {
  const auto& groups = verdict.agreement.groups;
  if (groups.size() < 2) return std::nullopt;
  return std::pair{groups[0].front(), groups[1].front()};
}

}  // namespace tilevm::vm
