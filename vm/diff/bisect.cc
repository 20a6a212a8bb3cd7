#include "vm/diff/bisect.h"

#include <algorithm>
#include <chrono>
#include <compare>
#include <utility>

#include <fmt/format.h>

#include "isa/analysis/statements.h"
#include "isa/inst/slot_table.h"
#include "vm/diff/probe_windows.h"
#include "vm/diff/probed_runs.h"
#include "vm/diff/record_comparison.h"
#include "vm/diff/show_statement.h"

namespace tilevm::vm {

namespace {

using Clock = std::chrono::steady_clock;

/// A block of which only a sum is known to differ.
struct Suspect {
  std::uint64_t block = 0;
  std::uint64_t records = 0;  ///< number of records that it made
  bool sure = false;          ///< the difference does not come from undefined values
};

/// Which of a launch's differences comes first: by the number of records before it, then by the
/// block. Where blocks wait for one another, what a block loads may be another block's fault, so
/// differences of loads come last.
struct DifferenceRank {
  bool load = false;
  std::uint32_t record = 0;
  std::uint64_t block = 0;
  friend auto operator<=>(const DifferenceRank&, const DifferenceRank&) = default;
};

/// What is known of one launch.
struct LaunchSearch {
  std::optional<BisectedStatement> found;
  DifferenceRank rank;
  std::vector<Suspect> suspects;

  [[nodiscard]] bool settled() const { return suspects.empty() || (found && !rank.load); }
};

class Bisection {
 public:
  Bisection(const DiffCase& what, const Engines& engines, const std::vector<HostTensor>& inputs,
            const BisectOptions& options, BisectResult& result)
      : what_(what),
        a_(*engines[result.a]),
        b_(*engines[result.b]),
        options_(options),
        result_(result),
        runs_(what, inputs) {}

  std::optional<Error> run() {
    searches_.resize(what_.entry.launches.size());
    if (auto error = cover_all()) return error;
    for (std::size_t launch = 0; launch < searches_.size() && !result_.found; ++launch) {
      if (auto error = settle(launch)) return error;
      result_.found = std::move(searches_[launch].found);
    }
    note_statements();
    if (runs_.fault()) result_.left_out.push_back(*runs_.fault());
    if (!result_.found) return std::nullopt;
    return show_statement(runs_, a_, b_, options_.threads, *result_.found);
  }

 private:
  /// Runs both engines with probes on every block. One run suffices unless there are so many blocks
  /// that not even their sums fit the memory.
  std::optional<Error> cover_all() {
    for (std::uint64_t turn = 0;; ++turn) {
      ProbeLogs logs = make_logs(what_);
      cover_all_blocks(logs, options_.memory, turn);
      const bool done = std::all_of(logs.begin(), logs.end(),
                                    [](const auto& log) { return log.window.blocks == 0; });
      if (done) return std::nullopt;
      if (turn > 0 && late()) {
        note_uncovered(logs);
        return std::nullopt;
      }
      if (auto error = compare_runs(std::move(logs), true)) return error;
    }
  }

  /// Looks at the records of blocks whose sums differ, until one says where.
  std::optional<Error> settle(std::size_t launch) {
    LaunchSearch& search = searches_[launch];
    while (!search.settled() && !late()) {
      if (auto error = look_closer(launch)) return error;
    }
    if (search.found || search.suspects.empty()) return std::nullopt;
    result_.left_out.push_back(fmt::format(
        "{} blocks of `{}` whose sums differ: the time was over", search.suspects.size(),
        what_.program.kernel(what_.entry.launches[launch].kernel).name));
    return std::nullopt;
  }

  /// Runs both engines with a window that begins with the first suspect.
  std::optional<Error> look_closer(std::size_t launch) {
    std::vector<Suspect>& suspects = searches_[launch].suspects;
    const Suspect first =
        *std::min_element(suspects.begin(), suspects.end(), [](const auto& x, const auto& y) {
          return std::pair(!x.sure, x.block) < std::pair(!y.sure, y.block);
        });
    ProbeLogs logs = make_logs(what_);
    logs[launch].window = window_from(logs[launch], first.block, first.records, options_.memory);
    const isa::ProbeWindow window = logs[launch].window;
    std::erase_if(suspects, [&](const Suspect& one) {
      return one.block - window.first_block < window.blocks;
    });
    if (auto error = compare_runs(std::move(logs), false)) return error;
    const auto same = [&](const Suspect& one) { return one.block == first.block; };
    if (std::erase_if(suspects, same) > 0 && first.sure && !searches_[launch].found) {
      const isa::Kernel& kernel = what_.program.kernel(what_.entry.launches[launch].kernel);
      result_.left_out.push_back(fmt::format("what block {} of `{}` does after {} records",
                                             first.block, kernel.name, window.records));
    }
    return std::nullopt;
  }

  [[nodiscard]] bool late() const { return Clock::now() - start_ > options_.time; }

  /// Runs both engines and compares what the windows have.
  std::optional<Error> compare_runs(ProbeLogs a, bool counts) {
    ProbeLogs b = a;
    if (auto error = runs_.run(a_, a)) return error;
    shrink_windows(a, b);
    if (auto error = runs_.run(b_, b)) return error;
    for (std::size_t launch = 0; launch < a.size(); ++launch) {
      compare_launch(launch, a[launch], b[launch], counts);
    }
    return std::nullopt;
  }

  /// The second engine needs room for one record more than the first one made, by which a longer
  /// way through the program shows.
  void shrink_windows(const ProbeLogs& ran, ProbeLogs& logs) const {
    for (std::size_t i = 0; i < logs.size() && !runs_.cut(); ++i) {
      std::uint64_t most = 0;
      for (const isa::BlockProbes& block : ran[i].blocks) most = std::max(most, block.count);
      std::uint32_t& records = logs[i].window.records;
      records = static_cast<std::uint32_t>(std::min<std::uint64_t>(records, most + 1));
    }
  }

  /// Keeps the first difference of the blocks of a window, and which blocks remain suspect.
  void compare_launch(std::size_t launch, const isa::ProbeLog& a, const isa::ProbeLog& b,
                      bool counts) {
    const isa::Statements statements(what_.program.kernel(a.kernel));
    LaunchSearch& search = searches_[launch];
    const bool ordered = orders_blocks(statements);
    for (std::size_t i = 0; i < std::min(a.blocks.size(), b.blocks.size()); ++i) {
      const isa::BlockProbes &mine = a.blocks[i], &theirs = b.blocks[i];
      if (counts) result_.compared += std::min(mine.count, theirs.count);
      const std::uint64_t block = a.window.first_block + i;
      const auto [first, rest] = compare_records(mine, theirs, runs_.cut());
      if (first) {
        const bool load = !first->path && is_global_load(statements, mine.records[first->record]);
        const DifferenceRank rank{load && ordered, first->record, block};
        if (search.found && search.rank <= rank) continue;
        search.rank = rank;
        search.found = describe(launch, block, first->record, statements, a, {mine, theirs});
      } else if (rest != BlockComparison::Rest::equal) {
        search.suspects.push_back(
            {block, std::max(mine.count, theirs.count), rest == BlockComparison::Rest::differs});
      }
    }
  }

  static bool is_global_load(const isa::Statements& statements, const isa::ProbeRecord& record) {
    const isa::InstStmt* stmt =
        statements.instruction(isa::StmtId{static_cast<std::int32_t>(record.statement)});
    return stmt != nullptr && isa::reads_global_memory(stmt->inst) &&
           !isa::updates_memory(stmt->inst);  // its record has what it adds, not what it found
  }
  static bool orders_blocks(const isa::Statements& statements) {
    bool orders = false;
    statements.for_each_instruction([&](isa::StmtId, const isa::InstStmt& stmt) {
      orders = orders || isa::description(stmt.inst).orders_blocks();
    });
    return orders;
  }

  /// One block's records in both engines.
  struct BlockPair {
    const isa::BlockProbes& a;
    const isa::BlockProbes& b;
  };

  [[nodiscard]] static BisectedStatement describe(std::size_t launch, std::uint64_t block,
                                                  std::uint32_t record,
                                                  const isa::Statements& statements,
                                                  const isa::ProbeLog& log,
                                                  const BlockPair& records) {
    BisectedStatement found;
    found.launch = launch;
    found.kernel = log.kernel;
    found.block = block;
    const auto width = static_cast<std::uint64_t>(log.grid[0]);
    const auto height = static_cast<std::uint64_t>(log.grid[1]);
    found.block_index = {static_cast<std::int64_t>(block % width),
                         static_cast<std::int64_t>(block / width % height),
                         static_cast<std::int64_t>(block / width / height)};
    found.record = record;
    const auto at = [&](const isa::BlockProbes& probes) -> std::optional<isa::StmtId> {
      if (record >= probes.records.size()) return std::nullopt;
      return isa::StmtId{static_cast<std::int32_t>(probes.records[record].statement)};
    };
    const std::optional<isa::StmtId> next_a = at(records.a), next_b = at(records.b);
    if (next_a != next_b) found.what = PathDifference{next_a, next_b};
    found.statement = next_a ? *next_a : *next_b;
    found.loops = trips(next_a ? records.a : records.b, record, found.statement, statements);
    return found;
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

  void note_uncovered(const ProbeLogs& next) {
    for (const isa::ProbeLog& log : next) {
      const std::uint64_t all = blocks_of(log);
      if (log.window.blocks == 0) continue;
      result_.left_out.push_back(fmt::format("{} of {} blocks of `{}`: the time was over",
                                             all - log.window.first_block, all,
                                             what_.program.kernel(log.kernel).name));
    }
  }

  /// Statements of the launched kernels whose results no record has.
  void note_statements() {
    for (int kernel = 0; kernel < static_cast<int>(what_.program.program().kernels.size());
         ++kernel) {
      const auto launched = [&](const isa::Launch& launch) { return launch.kernel == kernel; };
      const auto& launches = what_.entry.launches;
      if (std::none_of(launches.begin(), launches.end(), launched)) continue;
      std::size_t elided = 0, counters = 0;
      isa::for_each_statement(what_.program.kernel(kernel).body, [&](const isa::Stmt& stmt) {
        const auto* inst = std::get_if<isa::InstStmt>(&stmt.node);
        if (inst == nullptr) return;
        counters += isa::updates_memory(inst->inst) ? 1 : 0;
        const isa::ProbePlan& plan = runs_.plan(kernel);
        if (plan[inst->id] != isa::ProbeMode::none || plan.loop_of(inst->id).valid()) return;
        elided += has_tile(*inst, what_.program.kernel(kernel)) ? 1 : 0;
      });
      const std::string& name = what_.program.kernel(kernel).name;
      if (elided > 0) {
        result_.left_out.push_back(
            fmt::format("{} statement{} of `{}` that machine code does together with the next",
                        elided, elided == 1 ? "" : "s", name));
      }
      if (counters > 0) {
        result_.left_out.push_back(
            fmt::format("what atomic instructions find in `{}`: which block comes first is not the "
                        "same in all engines, "
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
  Engine &a_, &b_;
  const BisectOptions& options_;
  BisectResult& result_;
  ProbedRuns runs_;
  std::vector<LaunchSearch> searches_;  ///< searches by launch
  Clock::time_point start_ = Clock::now();
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
