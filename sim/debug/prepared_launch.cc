#include "sim/debug/prepared_launch.h"

#include <algorithm>
#include <utility>

namespace tilevm::sim::debug {
namespace {

/// A copy of what blocks may write, brought back at the end of its life.
class KeptMemory {
 public:
  KeptMemory(const Memory& memory, const std::vector<BufferUse>& uses) : memory_(memory) {
    for (std::size_t i = 0; i < memory.size(); ++i) {
      const MemoryBuffer& buffer = memory[i];
      if (uses[i].written)
        bytes_.emplace_back(i, std::vector(buffer.data, buffer.data + buffer.bytes));
    }
  }
  KeptMemory(const KeptMemory&) = delete;
  KeptMemory& operator=(const KeptMemory&) = delete;
  ~KeptMemory() {
    for (const auto& [i, bytes] : bytes_) std::copy(bytes.begin(), bytes.end(), memory_[i].data);
  }

 private:
  const Memory& memory_;
  std::vector<std::pair<std::size_t, std::vector<std::uint8_t>>> bytes_;
};

}  // namespace

KernelPlan::KernelPlan(const isa::VerifiedProgram& program, int kernel, const Checks& checks)
    : plan(build_plan(program, kernel,
                      {.keep_flows = true,
                       .wrapping = checks.wraps ? Wrapping::found : Wrapping::allowed,
                       .follow_padding = checks.padding && !checks.uninitialized})),
      registers(program.kernel(kernel)),
      records(program, kernel, plan) {}

Result<std::unique_ptr<PreparedLaunch>> PreparedLaunch::make(const isa::VerifiedProgram& program,
                                                             const LaunchSpec& spec,
                                                             std::shared_ptr<const KernelPlan> plan,
                                                             std::vector<Buffer>& buffers,
                                                             const Options& options,
                                                             AccessObserver* accesses) {
  if (Status status = check_size(plan->plan, program.kernel(spec.kernel)); !status) {
    return status.error();
  }
  Result<std::vector<std::uint64_t>> parameters =
      bind_arguments(program, spec.kernel, spec.arguments, buffers.size());
  if (!parameters) return parameters.error();
  Result<LaunchMemory> memory =
      make_memory(program, spec.kernel, buffers,
                  {.undefined = options.checks.uninitialized,
                   .padding = options.checks.padding && !options.checks.uninitialized});
  if (!memory) return memory.error();
  std::unique_ptr<PreparedLaunch> launch(new PreparedLaunch(
      program, spec.kernel, std::move(plan), *std::move(memory), *std::move(parameters),
      buffer_uses(program, spec.kernel, spec.arguments, buffers.size())));
  launch->prepare(options, accesses);
  return launch;
}

PreparedLaunch::PreparedLaunch(const isa::VerifiedProgram& program, int kernel,
                               std::shared_ptr<const KernelPlan> plan, LaunchMemory memory,
                               std::vector<std::uint64_t> parameters, std::vector<BufferUse> uses)
    : program_(program),
      kernel_(kernel),
      plan_(std::move(plan)),
      memory_(std::move(memory)),
      parameters_(std::move(parameters)),
      uses_(std::move(uses)) {}

void PreparedLaunch::prepare(const Options& options, AccessObserver* accesses) {
  const auto grid = evaluate_grid(kernel(), parameters_);
  if (const auto* fault = std::get_if<Fault>(&grid)) {
    grid_fault_ = *fault;
    return;
  }
  const Plan& plan = plan_->plan;
  const Grid& blocks = *std::get_if<Grid>(&grid);
  launch_.emplace(LaunchPlan{plan, memory_.buffers, parameters_, blocks, uses_,
                             BlockSequence(BlockOrder{}, blocks.blocks() / plan.groups.blocks),
                             workspaces()});
  settings_ = run_settings(options, plan);
  settings_.turns = &turns_;
  settings_.observers.accesses = accesses;
  if (options.checks.races) settings_.uses = &launch_->uses;
  forget_accesses(0);
}

void PreparedLaunch::forget_accesses(std::uint64_t now) {
  if (grid_fault_) return;
  compared_ = plan().orders_blocks ? 0 : now;
  raced_at_.reset();
  const std::uint64_t blocks = launch_->units();
  if (settings_.uses != nullptr && plan().orders_blocks) {
    ordered_.emplace(memory_.buffers, launch_->uses, plan().global_granule_shift);
    first_time_.sink = settings_.observers.happens_before = &*ordered_;
    settings_.observers.block_races = &first_time_;
  }
  if (settings_.uses != nullptr && !plan().orders_blocks && blocks > 1 &&
      blocks < BlockRaceDetector::max_blocks) {
    detector_.emplace(memory_.buffers, launch_->uses, plan().global_granule_shift);
    first_time_.sink = &*detector_;
    settings_.observers.block_races = &first_time_;
  }
  interpreter_ =
      std::make_unique<BlockInterpreter>(plan(), memory_.buffers, parameters_, settings_);
}

void PreparedLaunch::begin_step(std::uint64_t moment) {
  first_time_.open = moment > compared_;
  if (ordered_) ordered_->listen(first_time_.open);
  compared_ = std::max(compared_, moment);
}

std::optional<BlockFault> PreparedLaunch::ordered_race(std::uint64_t moment) {
  if (!ordered_ || !ordered_->race()) return std::nullopt;
  if (!raced_at_) raced_at_ = moment;
  if (*raced_at_ != moment) return std::nullopt;
  const KeptMemory kept(memory_.buffers, launch_->uses);
  return locate_race(*launch_, settings_, *ordered_->race());
}

std::optional<BlockFault> PreparedLaunch::lost_wait() const {
  return ordered_ ? find_lost_wait(*launch_, *ordered_) : std::nullopt;
}

std::optional<BlockFault> PreparedLaunch::race_of(std::uint64_t rank) {
  if (!detector_) return std::nullopt;
  const std::optional<BlockPair> race = detector_->race();
  if (!race || race->second != rank) return std::nullopt;
  // Both blocks run again to locate the race, and leave no trace.
  const KeptMemory kept(memory_.buffers, launch_->uses);
  Replay replay(memory_.buffers, launch_->uses, plan().global_granule_shift);
  BlockInterpreter machine(plan(), memory_.buffers, parameters_,
                           replay_settings(settings_, replay));
  static_cast<void>(machine.run_block(launch_->block(race->first), race->first));
  replay.compare(launch_->block_index(race->first));
  auto fault = machine.run_block(launch_->block(race->second), race->second);
  if (!fault) return std::nullopt;
  return BlockFault{race->second, *std::move(fault), machine.state().steps - 1, {}};
}

}  // namespace tilevm::sim::debug
