// More than 400 lines: a launch as a whole, with the second run that follows padding.
#include "sim/api/sim.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <limits>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <utility>

#include "isa/base/float_environment.h"
#include "sim/checks/block_races.h"
#include "sim/launch/block_interpreter.h"
#include "sim/launch/block_scheduler.h"
#include "sim/launch/kept_plans.h"
#include "sim/launch/launch.h"
#include "sim/launch/launch_plan.h"
#include "sim/launch/order_exploration.h"
#include "sim/launch/plan.h"
#include "sim/probe/probe_sink.h"

namespace tilevm::sim {
namespace {

/// The blocks of a launch, spread over host threads. Blocks are handed out in the launch order. All
/// blocks before a faulting block run, so the fault that is kept does not depend on timing.
class BlockRun {
 public:
  BlockRun(const LaunchPlan& launch, PreparedPlan& prepared, const Options& options,
           isa::PrintLog prints)
      : launch_(launch),
        prepared_(prepared),
        units_(launch.units()),
        resident_(options.resident_blocks),
        explored_orders_(options.explored_orders),
        progress_(options.progress),
        keeps_prints_(options.block_order.kind == BlockOrder::Kind::ascending),
        needed_(launch.plan.barriers.size()),
        executed_(launch.plan.records.size(), 0),
        accesses_(launch.plan.counts_accesses ? launch.plan.records.size() : 0),
        errors_(launch.plan.keeps_shadow ? launch.plan.records.size() : 0),
        stores_(launch.plan.memory_statements.size()),
        outside_(launch.plan.memory_statements.size()),
        prints_(std::move(prints)) {
    const auto wanted =
        static_cast<std::uint64_t>(launch.plan.one_by_one ? 1
                                   : options.threads > 0  ? options.threads
                                                          : std::thread::hardware_concurrency());
    threads_ = std::clamp<std::uint64_t>(wanted, 1, std::min<std::uint64_t>(units_, 1024));
    if (is_quick(prepared, units_)) threads_ = 1;
    share_ = std::clamp<std::uint64_t>(units_ / (threads_ * 8), 1, 256);
    const Checks& checks = options.checks;
    const Plan& plan = launch.plan;
    settings_ = run_settings(options, plan);
    if (options.trace.tell) settings_.observers.trace = &options.trace;
    if (options.probes.plan != nullptr) {
      settings_.observers.probes =
          &probes_.emplace(*options.probes.log, launch.grid.extents, launch.memory.size(),
                           launch.workspaces, plan.threads);
    }
    if (checks.races) settings_.uses = &launch.uses;
    if (checks.races && !plan.orders_blocks && (units_ > 1 || checks.unwritten) &&
        units_ < BlockRaceDetector::max_blocks) {
      settings_.observers.block_races =
          &detector_.emplace(launch.memory, launch.uses, launch.plan.global_granule_shift);
    }
    if (checks.races && checks.in_flight && checks.redundant && !plan.groups.active)
      settings_.observers.needed = needed_.data();
    for (std::size_t i = 0; i < needed_.size(); ++i) needed_[i] = plan.barriers[i].ends_life;
  }

  [[nodiscard]] OrdersRun orders() const { return orders_; }
  /// Whether who waits wants no result; then there is none.
  [[nodiscard]] bool is_stopped() const { return settings_.stop->load(std::memory_order_relaxed); }

  /// False if memory ran out.
  bool run() {
    if (launch_.plan.orders_blocks) return run_in_turns();
    const auto start = std::chrono::steady_clock::now();
    {
      std::vector<std::jthread> helpers;
      for (std::uint64_t i = 1; i < threads_; ++i) {
        try {
          helpers.emplace_back([this] { work(); });
        } catch (const std::system_error&) {
          break;  // the host gives no more threads: fewer do the same work
        }
      }
      work();
    }
    const std::chrono::nanoseconds took = std::chrono::steady_clock::now() - start;
    prepared_.block_nanoseconds =
        static_cast<std::uint64_t>(took.count()) * threads_ / std::max<std::uint64_t>(units_, 1);
    if (!out_of_memory_ && !is_stopped()) find_race_of_blocks();
    keep_stored(detector_ ? &*detector_ : nullptr);
    return !out_of_memory_;
  }

  [[nodiscard]] std::optional<Fault> take_fault() { return std::move(fault_); }
  [[nodiscard]] isa::LaunchPrints take_prints() {
    if (fault_ && !keeps_prints_ && !launch_.plan.orders_blocks) return {};
    const bool up_to_fault = fault_ && !launch_.plan.orders_blocks;
    if (!up_to_fault) return prints_.take(std::nullopt);
    // Blocks with a smaller number than the first one of a cluster are of clusters before it.
    const std::uint64_t rank = first_fault_.load();
    const bool in_clusters = launch_.plan.groups.blocks > 1 && rank < units_;
    return prints_.take(in_clusters ? launch_.number(launch_.block(rank)) : rank);
  }

  [[nodiscard]] Counters counters() const {
    Counters counters;
    counters.blocks = launch_.grid.blocks();
    for (std::size_t i = 0; i < executed_.size(); ++i) {
      const PlanOp& record = launch_.plan.records[i];
      counters.steps += executed_[i];
      if (record.kind != PlanOp::Kind::instruction) continue;
      counters.instructions[record.instruction] += executed_[i];
      if (!launch_.plan.counts_accesses) continue;
      counters.statements.push_back({record.span, record.instruction, executed_[i], accesses_[i],
                                     record.mma.name, record.mma.instructions * executed_[i],
                                     record.special_functions * executed_[i]});
    }
    return counters;
  }

  [[nodiscard]] std::vector<StatementErrors> errors() const {
    std::vector<StatementErrors> errors;
    for (std::size_t i = 0; i < errors_.size(); ++i) {
      const PlanOp& record = launch_.plan.records[i];
      const isa::RegisterType* type = record.shadow.measured;
      if (type == nullptr) continue;
      errors.push_back({record.span, record.instruction, type->dtype, type->shape(), errors_[i].own,
                        errors_[i].accumulated});
    }
    return errors;
  }

  [[nodiscard]] std::vector<StoredBits> take_stored() { return std::move(stored_); }
  [[nodiscard]] std::vector<StoreUse> stores() const {
    std::vector<StoreUse> uses;
    for (std::size_t i = 0; i < stores_.size(); ++i) {
      if (stores_[i].executed == 0) continue;
      uses.push_back(
          {launch_.plan.memory_statements[i].span, stores_[i].executed, stores_[i].outside});
    }
    return uses;
  }

  [[nodiscard]] std::vector<OutsideUse> outside() const {
    std::vector<OutsideUse> uses;
    for (std::size_t i = 0; i < outside_.size(); ++i) {
      const MemoryStatement& statement = launch_.plan.memory_statements[i];
      for (const bool indexed : {false, true}) {
        const OutsideCount& count = indexed ? outside_[i].indexed : outside_[i].fixed;
        if (count.count == 0) continue;
        uses.push_back({statement.span, statement.mnemonic, statement.tensor, indexed, count.count,
                        count.dim, count.index, count.extent, launch_.block_index(count.order)});
      }
    }
    return uses;
  }

  [[nodiscard]] std::vector<BarrierUse> barriers() const {
    std::vector<BarrierUse> barriers;
    if (settings_.observers.needed == nullptr) return barriers;
    for (std::size_t i = 0; i < launch_.plan.barriers.size(); ++i) {
      const Barrier& barrier = launch_.plan.barriers[i];
      barriers.push_back({barrier.mnemonic, barrier.span,
                          executed_[launch_.plan.barrier_records[i]] > 0, needed_[i]});
    }
    return barriers;
  }

 private:
  /// Keeps what the blocks wrote, by buffer.
  void keep_stored(const AccessSink* sink) {
    if (sink == nullptr || !settings_.checks.unwritten) return;
    for (std::size_t b = launch_.workspaces; b < launch_.memory.size(); ++b) {
      StoredBits& stored = stored_.emplace_back();
      stored.known = true;
      if (!launch_.uses[b].written) continue;
      for (const Interval& bits : sink->written(b)) {
        stored.ranges.push_back({bits.begin, bits.end});
      }
    }
  }

  bool run_in_turns() {
    orders_ = OrdersRun::one;
    std::optional<OrderExploration> exploration;
    if (OrderExploration::is_possible(launch_, settings_) && explored_orders_ > 0) {
      exploration.emplace(launch_, settings_, resident_, explored_orders_);
    }
    BlockScheduler turns(launch_, settings_, resident_, threads_);
    auto fault = turns.run([this](std::uint64_t rank, isa::PrintRecords prints) {
      if (!prints.empty()) keep(launch_.sequence[rank], std::move(prints));
      if (progress_ != nullptr) progress_->blocks.fetch_add(1, std::memory_order_relaxed);
    });
    for (const auto& machine : turns.machines()) count(*machine);
    keep_stored(turns.accesses());
    if (fault) keep(fault->rank, std::move(fault->fault));
    const bool well = !fault_ && !turns.too_large() && !is_stopped();
    if (well && exploration) explore(*exploration);
    return !turns.too_large();
  }

  /// Runs the launch again in other orders. Prints, counts and memory stay those of the first run.
  void explore(const OrderExploration& exploration) {
    std::uint64_t steps = 1;
    for (const std::uint64_t executed : executed_) steps += executed;
    if (exploration.orders(steps) > 0) orders_ = OrdersRun::some;
    if (auto fault = exploration.run(steps)) keep(fault->rank, std::move(fault->fault));
  }

  /// Adds the counts of an interpreter.
  void count(const BlockInterpreter& machine) {
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < executed_.size(); ++i) executed_[i] += machine.executed()[i];
    for (std::size_t i = 0; i < accesses_.size(); ++i) accesses_[i] += machine.accesses()[i];
    for (std::size_t i = 0; i < errors_.size(); ++i) errors_[i] += machine.errors()[i];
    for (std::size_t i = 0; i < stores_.size(); ++i) {
      stores_[i].executed += machine.stores()[i].executed;
      stores_[i].outside += machine.stores()[i].outside;
      add_outside(outside_[i].fixed, machine.outside()[i].fixed);
      add_outside(outside_[i].indexed, machine.outside()[i].indexed);
    }
  }

  void work() {
    const DefaultFloatEnvironment environment;
    try {
      BlockInterpreter machine(launch_.plan, launch_.memory, launch_.parameters, settings_);
      run_blocks(machine);
      count(machine);
    } catch (const std::bad_alloc&) {
      out_of_memory_ = true;
      first_fault_ = 0;  // the other host threads stop
    }
  }

  void run_blocks(BlockInterpreter& machine) {
    while (true) {
      const std::uint64_t begin = next_.fetch_add(share_);
      if (begin >= units_) return;
      for (std::uint64_t b = begin; b < std::min(begin + share_, units_); ++b) {
        if (is_stopped() || b >= first_fault_ || (detector_ && b > detector_->earliest())) return;
        if (auto fault = machine.run_block(launch_.block(b), b)) keep(b, *std::move(fault));
        machine.take_prints([&](const auto& block, isa::PrintRecords records) {
          keep(launch_.number(block), std::move(records));
        });
        if (progress_ == nullptr) continue;
        progress_->blocks.fetch_add(launch_.plan.groups.blocks, std::memory_order_relaxed);
      }
    }
  }

  void keep(std::uint64_t rank, Fault fault) {
    const std::lock_guard lock(mutex_);
    if (rank >= first_fault_) return;
    first_fault_ = rank;
    if (fault.block.empty()) fault.block = launch_.block_index(rank);
    fault.block.resize(launch_.grid.rank);
    std::string met = fmt::format("in block [{}]", fmt::join(fault.block, ", "));
    if (fault.thread) met += fmt::format(", thread {}", *fault.thread);
    add_note(fault.diagnostic, std::move(met));
    fault_ = std::move(fault);
  }

  /// Prints are kept by the block's linear index.
  void keep(std::uint64_t block, isa::PrintRecords records) {
    const std::lock_guard lock(mutex_);
    prints_.add(block, std::move(records));
  }

  /// If two blocks race, runs both again to locate the race. A fault of the second block may be a
  /// consequence of the race, so the race is reported.
  void find_race_of_blocks() {
    if (!detector_) return;
    const std::optional<BlockPair> race = detector_->race();
    if (!race || race->second > first_fault_) return;
    Replay replay(launch_.memory, launch_.uses, launch_.plan.global_granule_shift);
    BlockInterpreter machine(launch_.plan, launch_.memory, launch_.parameters,
                             replay_settings(settings_, replay));
    static_cast<void>(machine.run_block(launch_.block(race->first), race->first));
    replay.compare(launch_.block_index(race->first));
    auto fault = machine.run_block(launch_.block(race->second), race->second);
    if (!fault) return;
    first_fault_ = std::numeric_limits<std::uint64_t>::max();
    keep(race->second, *std::move(fault));
  }

  const LaunchPlan& launch_;
  PreparedPlan& prepared_;
  const std::uint64_t units_;
  const std::uint64_t resident_;
  const std::uint64_t explored_orders_;
  OrdersRun orders_ = OrdersRun::alike;
  Progress* const progress_;
  const bool keeps_prints_;                    // after a fault
  std::vector<std::atomic<bool>> needed_;      // by barrier
  std::optional<BlockRaceDetector> detector_;  ///< if blocks are compared
  std::optional<ProbeSink> probes_;
  RunSettings settings_;
  std::uint64_t threads_ = 1;
  std::uint64_t share_ = 1;  ///< blocks handed out at once
  std::atomic<std::uint64_t> next_{0};
  std::atomic<std::uint64_t> first_fault_{std::numeric_limits<std::uint64_t>::max()};
  std::atomic<bool> out_of_memory_{false};
  std::mutex mutex_;  // guards the members below
  std::optional<Fault> fault_;
  std::vector<std::uint64_t> executed_;
  std::vector<AccessCounts> accesses_;
  std::vector<InstructionErrors> errors_;
  std::vector<StoreCount> stores_;      // by Plan::memory_statements
  std::vector<OutsideCounts> outside_;  // likewise
  std::vector<StoredBits> stored_;      // by the caller's buffer
  isa::PrintLog prints_;
};

/// More blocks would take hours even if they were empty.
constexpr std::uint64_t max_blocks = std::uint64_t{1} << 32;

Error out_of_memory(const isa::Kernel& kernel) {
  return {
      ErrorKind::limit,
      fmt::format("the simulation of kernel `{}` needs more memory than there is", kernel.name)};
}

/// Blocks that order themselves may begin in any order if all run at once. Otherwise they begin in
/// ascending order, as on a GPU, since the program may rely on that.
BlockOrder begin_order(const Plan& plan, const Grid& grid, const Options& options) {
  const bool ascending = plan.orders_blocks && grid.blocks() > options.resident_blocks;
  return ascending ? BlockOrder{} : options.block_order;
}

Result<Report> run_launch(const isa::VerifiedProgram& program, int kernel,
                          const std::vector<Argument>& arguments, std::vector<Buffer>& memory,
                          const Options& options) {
  const isa::Kernel& code = program.kernel(kernel);
  const auto parameters = bind_arguments(program, kernel, arguments, memory.size());
  if (!parameters) return parameters.error();
  const auto grid = evaluate_grid(code, *parameters);
  Report report;
  if (const auto* fault = std::get_if<Fault>(&grid)) {
    report.fault = *fault;
    return report;
  }
  const auto launch_memory = make_memory(program, kernel, memory,
                                         {.undefined = options.checks.uninitialized,
                                          .padding = options.checks.padding,
                                          .shadow = options.keep_shadow});
  if (!launch_memory) return launch_memory.error();
  const std::shared_ptr<PreparedPlan> prepared = plan_of_launch(program, kernel, options);
  const Plan& plan = prepared->plan;
  if (Status status = check_size(plan, code); !status) return status.error();
  const Grid& blocks = *std::get_if<Grid>(&grid);
  if (blocks.blocks() > max_blocks) {
    return Error{ErrorKind::limit,
                 fmt::format("the grid of kernel `{}` has {} blocks; the simulator "
                             "runs at most {}",
                             code.name, blocks.blocks(), max_blocks)};
  }
  const LaunchPlan launch{
      plan,
      launch_memory->buffers,
      *parameters,
      blocks,
      buffer_uses(program, kernel, arguments, memory.size()),
      BlockSequence(begin_order(plan, blocks, options), blocks.blocks() / plan.groups.blocks),
      launch_memory->workspaces.size()};
  if (options.progress != nullptr) options.progress->begin(kernel, blocks.blocks());
  BlockRun run(launch, *prepared, options,
               isa::PrintLog(kernel, blocks.extents, program.info(kernel).prints));
  if (!run.run()) return out_of_memory(code);
  if (run.is_stopped()) {
    return Error{ErrorKind::limit, fmt::format("kernel `{}` was stopped", code.name)};
  }
  report.prints = run.take_prints();
  report.fault = run.take_fault();
  forget_defined(memory);
  if (report.fault) return report;
  report.counters = run.counters();
  report.barriers = run.barriers();
  report.outside = run.outside();
  report.stored = run.take_stored();
  if (!report.stored.empty()) report.stores = run.stores();
  report.grid = blocks.extents;
  report.orders = run.orders();
  report.errors = run.errors();
  return report;
}

/// Runs a launch once more, on a copy of its memory, to follow what depends on elements outside of
/// views: the fault if an output does.
Result<std::optional<Fault>> find_padding(const isa::VerifiedProgram& program, int kernel,
                                          const std::vector<Argument>& arguments,
                                          std::vector<Buffer> memory, const Options& options) {
  Options followed;
  followed.threads = options.threads;
  followed.max_steps = options.max_steps;
  followed.block_order = options.block_order;
  followed.resident_blocks = options.resident_blocks;
  followed.explored_orders = 0;
  followed.progress = options.progress;
  followed.plans = options.plans;
  for (const NamedCheck& check : named_checks) followed.checks.*check.member = false;
  followed.checks.padding = true;
  for (Buffer& buffer : memory) {
    buffer.undefined.clear();
    buffer.shadow.reset();
  }
  Result<Report> report = run_launch(program, kernel, arguments, memory, followed);
  if (!report) return report.error();
  return std::move(report->fault);
}

Result<Report> run_checked(const isa::VerifiedProgram& program, int kernel,
                           const std::vector<Argument>& arguments, std::vector<Buffer>& memory,
                           const Options& options) {
  if (!options.checks.padding) return run_launch(program, kernel, arguments, memory, options);
  std::vector<Buffer> before = memory;
  Options others = options;
  others.checks.padding = false;
  Result<Report> report = run_launch(program, kernel, arguments, memory, others);
  if (!report || report->fault) return report;
  auto found = find_padding(program, kernel, arguments, std::move(before), options);
  if (!found) return found.error();
  report->fault = *std::move(found);
  return report;
}

}  // namespace

Result<Report> run_kernel(const isa::VerifiedProgram& program, int kernel,
                          const std::vector<Argument>& arguments, std::vector<Buffer>& memory,
                          const Options& options) {
  const DefaultFloatEnvironment environment;
  try {
    return run_checked(program, kernel, arguments, memory, options);
  } catch (const std::bad_alloc&) {
    return out_of_memory(program.kernel(kernel));
  }
}

}  // namespace tilevm::sim
