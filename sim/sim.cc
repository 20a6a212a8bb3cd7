#include "sim/sim.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <utility>

#include "sim/launch.h"
#include "sim/machine.h"
#include "sim/plan.h"

namespace tilevm::sim {
namespace {

/// The blocks of a launch, spread over host threads. Blocks are handed out in ascending order and
/// those before a faulting one always run, so the fault that is kept does not depend on timing.
class BlockRun {
 public:
  BlockRun(const Plan& plan, const Memory& memory, const std::vector<std::uint64_t>& parameters,
           const Grid& grid, const Options& options, isa::PrintLog prints)
      : plan_(plan),
        memory_(memory),
        parameters_(parameters),
        grid_(grid),
        max_steps_(options.max_steps),
        checks_(options.checks),
        quota_(isa::print_quota(grid.blocks())),
        executed_(plan.records.size(), 0),
        prints_(std::move(prints)) {
    const auto wanted = static_cast<std::uint64_t>(
        options.threads > 0 ? options.threads : std::thread::hardware_concurrency());
    threads_ = std::clamp<std::uint64_t>(wanted, 1, std::min<std::uint64_t>(grid.blocks(), 1024));
    share_ = std::clamp<std::uint64_t>(grid.blocks() / (threads_ * 8), 1, 256);
  }

  /// False if memory ran out.
  bool run() {
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
    return !out_of_memory_;
  }

  [[nodiscard]] std::optional<Fault> take_fault() { return std::move(fault_); }
  [[nodiscard]] isa::LaunchPrints take_prints() {
    return prints_.take(fault_ ? std::optional(first_fault_.load()) : std::nullopt);
  }

  [[nodiscard]] Counters counters() const {
    Counters counters;
    counters.blocks = grid_.blocks();
    for (std::size_t i = 0; i < executed_.size(); ++i) {
      const Record& record = plan_.records[i];
      counters.steps += executed_[i];
      if (record.kind == Record::Kind::instruction) {
        counters.instructions[record.instruction] += executed_[i];
      }
    }
    return counters;
  }

 private:
  void work() {
    try {
      Machine machine(plan_, memory_, parameters_, max_steps_, checks_, quota_.block_bytes);
      run_blocks(machine);
      const std::lock_guard lock(mutex_);
      for (std::size_t i = 0; i < executed_.size(); ++i) executed_[i] += machine.executed()[i];
    } catch (const std::bad_alloc&) {
      out_of_memory_ = true;
      first_fault_ = 0;  // the others need not go on
    }
  }

  void run_blocks(Machine& machine) {
    const std::uint64_t blocks = grid_.blocks();
    while (true) {
      const std::uint64_t begin = next_.fetch_add(share_);
      if (begin >= blocks) return;
      for (std::uint64_t b = begin; b < std::min(begin + share_, blocks); ++b) {
        if (b >= first_fault_) return;
        if (auto fault = machine.run_block(grid_.block(b))) keep(b, *std::move(fault));
        if (!machine.state().prints.empty()) keep(b, machine.take_prints());
      }
    }
  }

  void keep(std::uint64_t block, Fault fault) {
    const std::lock_guard lock(mutex_);
    if (block >= first_fault_) return;
    first_fault_ = block;
    const auto index = grid_.block(block);
    fault.block.assign(index.begin(), index.begin() + static_cast<std::ptrdiff_t>(grid_.rank));
    std::string place = fmt::format("met by block [{}]", fmt::join(fault.block, ", "));
    if (fault.thread) place += fmt::format(", thread {}", *fault.thread);
    add_note(fault.diagnostic, std::move(place));
    fault_ = std::move(fault);
  }

  void keep(std::uint64_t block, isa::PrintRecords records) {
    const std::lock_guard lock(mutex_);
    if (block < quota_.blocks) return prints_.add(block, std::move(records));
    prints_.add_cut(block, records.count() + records.cut());
  }

  const Plan& plan_;
  const Memory& memory_;
  const std::vector<std::uint64_t>& parameters_;
  const Grid grid_;
  const std::uint64_t max_steps_;
  const Checks checks_;
  const isa::PrintQuota quota_;
  std::uint64_t threads_ = 1;
  std::uint64_t share_ = 1;  ///< blocks handed out at once
  std::atomic<std::uint64_t> next_{0};
  std::atomic<std::uint64_t> first_fault_{std::numeric_limits<std::uint64_t>::max()};
  std::atomic<bool> out_of_memory_{false};
  std::mutex mutex_;  // guards what follows
  std::optional<Fault> fault_;
  std::vector<std::uint64_t> executed_;
  isa::PrintLog prints_;
};

Error out_of_memory(const isa::Kernel& kernel) {
  return {
      ErrorKind::limit,
      fmt::format("the simulation of kernel `{}` needs more memory than there is", kernel.name)};
}

Result<Report> run_checked(const isa::VerifiedProgram& program, int kernel,
                           const std::vector<Argument>& arguments, std::vector<Buffer>& memory,
                           const Options& options) {
  const isa::Kernel& code = program.kernel(kernel);
  const auto parameters = bind_arguments(program, kernel, arguments, memory.size());
  if (!parameters) return parameters.error();
  const auto grid = evaluate_grid(code, *parameters);
  if (const auto* fault = std::get_if<Fault>(&grid)) return Report{*fault, {}, {}};
  const auto launch_memory = make_memory(program, kernel, memory);
  if (!launch_memory) return launch_memory.error();
  const Plan plan = build_plan(program, kernel);
  const std::size_t block_bytes = plan.register_bytes + plan.table_bytes;
  if (block_bytes > max_block_bytes) {
    return Error{ErrorKind::limit,
                 fmt::format("the register tiles of kernel `{}` and their index tables take {} "
                             "bytes a block; the simulator's limit is {}",
                             code.name, block_bytes, max_block_bytes)};
  }
  const Grid& blocks = *std::get_if<Grid>(&grid);
  BlockRun run(plan, launch_memory->buffers, *parameters, blocks, options,
               isa::PrintLog(kernel, blocks.extents, program.info(kernel).prints));
  if (!run.run()) return out_of_memory(code);
  Report report;
  report.prints = run.take_prints();
  report.fault = run.take_fault();
  if (!report.fault) report.counters = run.counters();
  return report;
}

}  // namespace

Result<Report> run_kernel(const isa::VerifiedProgram& program, int kernel,
                          const std::vector<Argument>& arguments, std::vector<Buffer>& memory,
                          const Options& options) {
  try {
    return run_checked(program, kernel, arguments, memory, options);
  } catch (const std::bad_alloc&) {
    return out_of_memory(program.kernel(kernel));
  }
}

}  // namespace tilevm::sim
