#include "sim/debug/machine.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <utility>

#include "sim/launch/block_scheduler.h"
#include "sim/launch/deadlock.h"

namespace tilevm::sim::debug {

Result<std::unique_ptr<Machine>> Machine::make(const isa::VerifiedProgram& program,
                                               const std::vector<LaunchSpec>& launches,
                                               std::vector<Buffer>& buffers,
                                               const Options& options) {
  std::unique_ptr<Machine> machine(new Machine(program, options));
  std::map<int, std::shared_ptr<const KernelPlan>> plans;
  for (const LaunchSpec& spec : launches) {
    auto& plan = plans[spec.kernel];
    if (!plan) plan = std::make_shared<const KernelPlan>(program, spec.kernel, options.checks);
    auto launch = PreparedLaunch::make(program, spec, plan, buffers, options, &machine->writes_);
    if (!launch) return launch.error();
    machine->launches_.push_back(*std::move(launch));
  }
  machine->enter_launch(0);
  machine->settle();
  return machine;
}

std::optional<Fault> Machine::step() {
  found_.reset();
  if (state_.stuck != MachineState::Stuck::no) {
    fault_site_.reset();
    return why_stuck();
  }
  launch().begin_step(state_.moment + 1);
  load();
  stepped_rank_ = current().rank;
  BlockInterpreter& interpreter = launch().interpreter();
  if (interpreter.done()) return end_block();
  const std::size_t record = interpreter.state().next;
  const bool is_turn = state_.phase == MachineState::Phase::turns;
  writes_.moment = ++state_.moment;
  if (!(is_turn ? interpreter.take_turn() : interpreter.step())) {
    fault_site_.reset();
    return met(*interpreter.take_fault(), current().rank);
  }
  state_.residents[state_.position]->last_run[record] = state_.moment;
  ++state_.executed[record];
  if (is_turn) {
    if (auto race = launch().ordered_race(state_.moment)) return met_earlier(*std::move(race));
    unload();
    ++state_.position;
    settle();
  } else if (!interpreter.done() && launch().plan().orders_blocks &&
             launch().plan().records[interpreter.state().next].orders_blocks) {
    settle();
  }
  if (found_) return met_earlier(*std::exchange(found_, std::nullopt));
  return std::nullopt;
}

/// The step in which a block ends.
std::optional<Fault> Machine::end_block() {
  ++state_.moment;
  if (!launch().plan().orders_blocks) launch().interpreter().publish();
  unload();
  Resident& resident = *state_.residents[state_.position];
  resident.ended = true;
  if (auto race = launch().race_of(resident.rank)) return met_earlier(*std::move(race));
  settle();
  if (found_) return met_earlier(*std::exchange(found_, std::nullopt));
  return std::nullopt;
}

/// A fault of a step that was made before.
Fault Machine::met_earlier(BlockFault fault) {
  fault_site_ = {state_.launch, fault.rank, fault.steps, fault.turn};
  return met(std::move(fault.fault), fault.rank);
}

bool Machine::at_fault_site() const {
  if (!fault_site_ || !has_current() || state_.launch != fault_site_->launch ||
      current().rank != fault_site_->rank) {
    return false;
  }
  const BlockState& block = current_block();
  if (!fault_site_->turn) return block.steps == fault_site_->steps;
  const auto& records = launch().plan().records;
  return block.turns == *fault_site_->turn && block.next < records.size() &&
         records[block.next].orders_blocks;
}

/// At the end of the segments of a round: what they accessed is compared, block after block.
void Machine::publish_segments() {
  unload();
  for (std::size_t i = 0; i < state_.residents.size() && !found_; ++i) {
    if (state_.residents[i]->state.wait) continue;
    BlockState& block = own(i).state;
    launch().interpreter().exchange(block);
    launch().interpreter().publish();
    launch().interpreter().exchange(block);
    found_ = launch().ordered_race(state_.moment);
  }
}

/// A fault as `tilevm run` reports it.
Fault Machine::met(Fault fault, std::uint64_t rank) const {
  if (fault.block.empty()) fault.block = launch().launch().block_index(rank);
  fault.block.resize(launch().launch().grid.rank);
  std::string met = fmt::format("in block [{}]", fmt::join(fault.block, ", "));
  if (fault.thread) met += fmt::format(", thread {}", *fault.thread);
  add_note(fault.diagnostic, std::move(met));
  return fault;
}

Fault Machine::why_stuck() const {
  if (launch().grid_fault()) return *launch().grid_fault();
  std::vector<WaitingBlock> waiting;
  for (const auto& resident : state_.residents) {
    waiting.push_back({resident->rank, &resident->state});
  }
  auto [rank, fault] = explain_deadlock(launch().launch(), waiting, launch().turns(),
                                        {state_.next_rank, options_.resident_blocks});
  return met(std::move(fault), rank);
}

void Machine::enter_launch(std::size_t launch) {
  unload();
  state_.launch = launch;
  state_.launch_began = state_.moment;
  state_.next_rank = 0;
  state_.residents.clear();
  state_.phase = MachineState::Phase::turns;
  state_.position = 0;
  state_.executed.clear();
  if (finished()) return;
  state_.executed.assign(this->launch().plan().records.size(), 0);
  if (this->launch().grid_fault()) state_.stuck = MachineState::Stuck::bad_grid;
}

/// Finds the block that steps next.
void Machine::settle() {
  unload();
  while (has_current() && !found_ && !find_current()) end_phase();
}

/// From the current position on; false at the end of the phase.
bool Machine::find_current() {
  const auto& residents = state_.residents;
  const auto& records = launch().plan().records;
  for (; state_.position < residents.size(); ++state_.position) {
    const Resident& resident = *residents[state_.position];
    const BlockState& block = resident.state;
    if (resident.ended) continue;
    if (state_.phase == MachineState::Phase::turns) {
      if (!block.wait ||
          load_semaphore(block.wait->address, launch().memory()) == block.wait->wanted) {
        return true;
      }
    } else if (!block.wait &&
               (block.next >= records.size() || !records[block.next].orders_blocks)) {
      return true;
    }
  }
  return false;
}

void Machine::end_phase() {
  state_.position = 0;
  if (state_.phase == MachineState::Phase::segments) {
    if (launch().compares_ordered()) publish_segments();
    if (found_) return;
    std::erase_if(state_.residents, [](const auto& resident) { return resident->ended; });
    state_.phase = MachineState::Phase::turns;
    return;
  }
  state_.phase = MachineState::Phase::segments;
  admit();
  if (state_.residents.empty()) {
    found_ = launch().lost_wait();
    return found_ ? void() : enter_launch(state_.launch + 1);
  }
  const bool all_wait = std::all_of(state_.residents.begin(), state_.residents.end(),
                                    [](const auto& resident) { return resident->state.wait; });
  if (all_wait) state_.stuck = MachineState::Stuck::deadlock;
}

void Machine::admit() {
  const LaunchPlan& plan = launch().launch();
  const bool orders = plan.plan.orders_blocks;
  const std::uint64_t most = orders ? std::max<std::uint64_t>(options_.resident_blocks, 1) : 1;
  auto runnable = static_cast<std::size_t>(
      std::count_if(state_.residents.begin(), state_.residents.end(),
                    [](const auto& resident) { return !resident->state.wait; }));
  const std::size_t enough = orders ? enough_blocks : 1;
  BlockInterpreter& interpreter = launch().interpreter();
  for (; state_.next_rank < plan.units() && state_.residents.size() < most && runnable < enough;
       ++runnable) {
    auto resident = std::make_shared<Resident>();
    resident->rank = state_.next_rank;
    resident->began = state_.moment;
    resident->state = interpreter.new_state();
    resident->last_run.assign(plan.plan.records.size(), 0);
    interpreter.exchange(resident->state);
    interpreter.start(plan.block(state_.next_rank), state_.next_rank);
    interpreter.exchange(resident->state);
    state_.residents.push_back(std::move(resident));
    ++state_.next_rank;
  }
}

void Machine::load() {
  if (loaded_) return;
  launch().interpreter().exchange(own(state_.position).state);
  loaded_ = true;
}

void Machine::unload() {
  if (!loaded_) return;
  launch().interpreter().exchange(state_.residents[state_.position]->state);
  loaded_ = false;
}

/// A block that no snapshot shares.
Resident& Machine::own(std::size_t resident) {
  auto& shared = state_.residents[resident];
  if (shared.use_count() > 1) shared = std::make_shared<Resident>(*shared);
  return *shared;
}

void Machine::restore(const MachineState& state) {
  unload();
  state_ = state;
}

void Machine::change_future() {
  unload();
  for (const auto& launch : launches_) launch->forget_accesses(state_.moment);
  std::erase_if(writes_.history,
                [&](const GlobalWrite& write) { return write.moment > state_.moment; });
}

BlockState& Machine::edit(std::size_t resident) {
  unload();
  return own(resident).state;
}

}  // namespace tilevm::sim::debug
