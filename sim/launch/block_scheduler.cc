#include "sim/launch/block_scheduler.h"

#include <algorithm>
#include <atomic>
#include <new>
#include <system_error>
#include <thread>
#include <utility>

#include "isa/base/check.h"
#include "sim/launch/deadlock.h"

namespace tilevm::sim {
BlockScheduler::BlockScheduler(const LaunchPlan& launch, const RunSettings& settings,
                               std::uint64_t resident, std::uint64_t threads)
    : launch_(launch),
      blocks_(launch.grid.blocks()),
      resident_(std::max<std::uint64_t>(resident, 1)),
      settings_(settings) {
  settings_.turns = &log_;
  if (settings_.uses != nullptr && blocks_ > 1) {
    detector_.emplace(launch.memory, launch.uses, launch.plan.global_granule_shift);
    settings_.observers.block_races = settings_.observers.happens_before = &*detector_;
  }
  for (std::uint64_t i = 0; i < std::min<std::uint64_t>(threads, enough_blocks); ++i) {
    machines_.push_back(std::make_unique<BlockInterpreter>(launch.plan, launch.memory,
                                                           launch.parameters, settings_));
  }
}

std::optional<BlockScheduler::BlockFault> BlockScheduler::run(
    const std::function<void(std::uint64_t, isa::PrintRecords)>& ended) {
  std::optional<BlockFault> fault;
  const auto dismiss = [&](Resident& resident) {
    if (!fault && !resident.ended) return false;
    ended(resident.rank, std::exchange(resident.state.prints, {}));
    free_.push_back(std::move(resident.state));
    return true;
  };
  while (!fault) {
    admit();
    if (residents_.empty()) break;
    fault = run_segments() ? look_at_segments() : deadlock();
    std::erase_if(residents_, dismiss);
    if (!fault) fault = take_turns();
  }
  std::erase_if(residents_, dismiss);
  return fault;
}

void BlockScheduler::admit() {
  const auto can_run = [](const Resident& resident) { return !resident.waits(); };
  auto runnable =
      static_cast<std::size_t>(std::count_if(residents_.begin(), residents_.end(), can_run));
  for (; next_ < blocks_ && residents_.size() < resident_ && runnable < enough_blocks; ++runnable) {
    BlockInterpreter& machine = *machines_.front();
    BlockState state = free_.empty() ? machine.new_state() : std::move(free_.back());
    if (!free_.empty()) free_.pop_back();
    machine.exchange(state);
    machine.start(launch_.block(next_), next_);
    machine.exchange(state);
    residents_.push_back({next_++, std::move(state), false, {}});
  }
}

/// False if all blocks wait.
bool BlockScheduler::run_segments() {
  std::vector<Resident*> runnable;
  for (Resident& resident : residents_) {
    if (!resident.waits()) runnable.push_back(&resident);
  }
  std::atomic<std::size_t> next{0};
  std::atomic<bool> out_of_memory{false};
  const auto work = [&](BlockInterpreter& machine) {
    try {
      for (std::size_t i = next++; i < runnable.size(); i = next++) {
        run_segment(*runnable[i], machine);
      }
    } catch (const std::bad_alloc&) {
      out_of_memory = true;
    }
  };
  {
    std::vector<std::jthread> helpers;
    for (std::size_t i = 1; i < std::min(machines_.size(), runnable.size()); ++i) {
      try {
        helpers.emplace_back(work, std::ref(*machines_[i]));
      } catch (const std::system_error&) {
        break;  // the host gives no more threads: fewer do the same work
      }
    }
    work(*machines_.front());
  }
  if (out_of_memory) throw std::bad_alloc();
  return !runnable.empty();
}

void BlockScheduler::run_segment(Resident& resident, BlockInterpreter& machine) {
  machine.exchange(resident.state);
  if (!machine.run_segment()) resident.fault = machine.take_fault();
  resident.ended = machine.done();
  machine.exchange(resident.state);
}

/// Compares the blocks' accesses before looking for faults, since a race may cause a fault.
std::optional<BlockScheduler::BlockFault> BlockScheduler::look_at_segments() {
  for (Resident& resident : residents_) {
    if (resident.waits()) continue;
    BlockInterpreter& machine = *machines_.front();
    machine.exchange(resident.state);
    machine.publish();
    machine.exchange(resident.state);
    if (detector_ && detector_->race()) return find_race();
  }
  for (Resident& resident : residents_) {
    if (resident.fault) return BlockFault{resident.rank, *std::move(resident.fault)};
  }
  return std::nullopt;
}

std::optional<BlockScheduler::BlockFault> BlockScheduler::take_turns() {
  for (Resident& resident : residents_) {
    const auto& wait = resident.state.wait;
    if (wait && load_semaphore(wait->address, launch_.memory) != wait->wanted) continue;
    BlockInterpreter& machine = *machines_.front();
    machine.exchange(resident.state);
    const bool went_well = machine.take_turn();
    machine.exchange(resident.state);
    if (detector_ && detector_->race()) return find_race();
    if (!went_well) return BlockFault{resident.rank, *machine.take_fault()};
  }
  return std::nullopt;
}

/// Runs both blocks again up to the race, to locate the race.
BlockScheduler::BlockFault BlockScheduler::find_race() const {
  const OrderedRace& race = *detector_->race();
  Replay replay(launch_.memory, launch_.uses, launch_.plan.global_granule_shift);
  BlockInterpreter machine(launch_.plan, launch_.memory, launch_.parameters,
                           replay_settings(settings_, replay));
  const auto run_again = [&](const OrderedParty& party) {
    replay.watch(party);
    machine.start(launch_.block(party.block), party.block);
    machine.run_turns(party.turns + 1);
  };
  run_again(race.first);
  replay.compare(launch_.block_index(race.first.block));
  run_again(race.second);
  auto fault = machine.take_fault();
  TILEVM_CHECK(fault.has_value(), "a race between blocks that is not found again");
  return {race.second.block, *std::move(fault)};
}

/// All blocks that have begun wait, and no further block can begin.
BlockScheduler::BlockFault BlockScheduler::deadlock() const {
  std::vector<WaitingBlock> waiting;
  for (const Resident& resident : residents_) waiting.push_back({resident.rank, &resident.state});
  auto [rank, fault] = explain_deadlock(launch_, waiting, log_, {next_, resident_});
  return {rank, std::move(fault)};
}

}  // namespace tilevm::sim
