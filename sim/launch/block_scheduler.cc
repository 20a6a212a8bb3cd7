#include "sim/launch/block_scheduler.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <new>
#include <system_error>
#include <thread>
#include <utility>

#include "isa/base/check.h"
#include "isa/base/float_environment.h"
#include "isa/type/bits.h"
#include "sim/launch/deadlock.h"

namespace tilevm::sim {
namespace {

/// Bytes that the states of all resident blocks may take.
constexpr std::uint64_t max_resident_bytes = std::uint64_t{1} << 32;

/// What the state of a block takes, roughly: registers and shared memory, with their masks and the
/// history of each granule.
std::uint64_t state_bytes(const LaunchPlan& launch) {
  const Plan& plan = launch.plan;
  return 4096 + 2 * plan.register_bytes + 8 * plan.scalar_slots +
         plan.shared_bytes * (2 + 2 * sizeof(AccessRecord));
}

/// A number of a seed, a block and a step.
std::uint64_t mixed(std::uint64_t seed, std::uint64_t block, std::uint64_t step) {
  std::uint64_t x = (seed + 1) * 0x9e3779b97f4a7c15U + (block + 1) * 0xbf58476d1ce4e5b9U + step;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

}  // namespace

std::string to_string(const TurnOrder& order) {
  switch (order.kind) {
    case TurnOrder::Kind::first:
      return "the first block runs as far as it can, then the next one";
    case TurnOrder::Kind::last:
      return "the last block runs as far as it can, then the one before";
    case TurnOrder::Kind::random:
    case TurnOrder::Kind::ranked:
      return fmt::format("random, {}", order.seed);
  }
  TILEVM_NO_ENUMERATOR();
}

BlockScheduler::BlockScheduler(const LaunchPlan& launch, const RunSettings& settings,
                               std::uint64_t resident, std::uint64_t threads)
    : launch_(launch),
      blocks_(launch.grid.blocks()),
      resident_(std::max<std::uint64_t>(resident, 1)),
      settings_(settings) {
  settings_.turns = &log_;
  if (settings_.uses != nullptr) {
    detector_.emplace(launch.memory, launch.uses, launch.plan.global_granule_shift);
    settings_.observers.block_races = settings_.observers.happens_before = &*detector_;
  }
  for (std::uint64_t i = 0; i < std::min<std::uint64_t>(threads, enough_blocks); ++i) {
    machines_.push_back(std::make_unique<BlockInterpreter>(launch.plan, launch.memory,
                                                           launch.parameters, settings_));
  }
}

std::optional<BlockFault> BlockScheduler::run(
    const std::function<void(std::uint64_t, isa::PrintRecords)>& ended) {
  std::optional<BlockFault> fault;
  const auto dismiss = [&](Resident& resident) {
    if (!fault && !resident.ended) return false;
    ended(resident.rank, std::exchange(resident.state.prints, {}));
    free_.push_back(std::move(resident.state));
    return true;
  };
  while (!fault && !too_large_ && !is_stopped()) {
    admit(enough_blocks);
    if (residents_.empty() || too_large_) break;
    fault = run_segments() ? look_at_segments() : deadlock();
    std::erase_if(residents_, dismiss);
    if (!fault) fault = take_turns();
  }
  std::erase_if(residents_, dismiss);
  return fault || too_large_ || is_stopped() ? fault : lost_wait();
}

std::optional<BlockFault> BlockScheduler::run_singly(const TurnOrder& order) {
  std::optional<BlockFault> fault;
  for (std::uint64_t step = 0; !fault && !too_large_ && !is_stopped(); ++step) {
    admit(static_cast<std::size_t>(-1));
    if (residents_.empty() || too_large_) break;
    Resident* const next = choose(order, step);
    fault = next == nullptr ? deadlock() : run_turn(*next);
    std::erase_if(residents_, [&](Resident& resident) {
      if (!resident.ended || fault) return false;
      free_.push_back(std::move(resident.state));
      return true;
    });
  }
  return fault || too_large_ || is_stopped() ? fault : lost_wait();
}

/// The block that runs next: one that does not wait, or whose value is there. Null if there is
/// none.
BlockScheduler::Resident* BlockScheduler::choose(const TurnOrder& order, std::uint64_t step) {
  // A block that tries again and again to take a lock lets others go on.
  constexpr std::uint64_t patience = 64, most_ranks = std::uint64_t{1} << 40;
  const auto key_of = [&](const Resident& resident) {
    const std::uint64_t laps = resident.state.turns / patience * most_ranks;
    switch (order.kind) {
      case TurnOrder::Kind::first:
        return laps + resident.rank;
      case TurnOrder::Kind::last:
        return laps + most_ranks - 1 - resident.rank;
      case TurnOrder::Kind::random:
        return mixed(order.seed, resident.rank, step);
      case TurnOrder::Kind::ranked:
        // A block loses its rank now and then, so that it stops where no other block stops it.
        return mixed(order.seed, resident.rank, resident.state.turns / 4);
    }
    TILEVM_NO_ENUMERATOR();
  };
  Resident* chosen = nullptr;
  for (Resident& resident : residents_) {
    const auto& wait = resident.state.wait;
    if (wait && load_semaphore(wait->address, launch_.memory) != wait->wanted) continue;
    if (chosen == nullptr || key_of(resident) < key_of(*chosen)) chosen = &resident;
  }
  return chosen;
}

/// Runs a block up to its next turn, and the turn.
std::optional<BlockFault> BlockScheduler::run_turn(Resident& resident) {
  BlockInterpreter& machine = *machines_.front();
  const bool waited = resident.waits();
  machine.exchange(resident.state);
  bool went_well = waited || machine.run_segment();
  if (!waited) machine.publish();
  resident.ended = went_well && machine.done();
  const bool raced = detector_ && detector_->race();
  if (went_well && !resident.ended && !raced) went_well = machine.take_turn();
  machine.exchange(resident.state);
  if (detector_ && detector_->race()) return locate_race(launch_, settings_, *detector_->race());
  std::optional<Fault> met = went_well ? std::nullopt : machine.take_fault();
  if (met) return BlockFault{resident.rank, *std::move(met), 0, {}};
  return std::nullopt;
}

void BlockScheduler::admit(std::size_t enough) {
  const auto can_run = [](const Resident& resident) { return !resident.waits(); };
  auto runnable =
      static_cast<std::size_t>(std::count_if(residents_.begin(), residents_.end(), can_run));
  const std::uint64_t most = std::max<std::uint64_t>(max_resident_bytes / state_bytes(launch_), 16);
  for (; next_ < blocks_ && residents_.size() < resident_ && runnable < enough; ++runnable) {
    if (residents_.size() >= most) {
      too_large_ = true;
      return;
    }
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
    const DefaultFloatEnvironment environment;
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
std::optional<BlockFault> BlockScheduler::look_at_segments() {
  for (Resident& resident : residents_) {
    if (resident.waits()) continue;
    BlockInterpreter& machine = *machines_.front();
    machine.exchange(resident.state);
    machine.publish();
    machine.exchange(resident.state);
    if (detector_ && detector_->race()) return locate_race(launch_, settings_, *detector_->race());
  }
  for (Resident& resident : residents_) {
    if (resident.fault) return BlockFault{resident.rank, *std::move(resident.fault), 0, {}};
  }
  return std::nullopt;
}

std::optional<BlockFault> BlockScheduler::take_turns() {
  for (Resident& resident : residents_) {
    const auto& wait = resident.state.wait;
    if (wait && load_semaphore(wait->address, launch_.memory) != wait->wanted) continue;
    BlockInterpreter& machine = *machines_.front();
    machine.exchange(resident.state);
    const bool went_well = machine.take_turn();
    machine.exchange(resident.state);
    if (detector_ && detector_->race()) return locate_race(launch_, settings_, *detector_->race());
    if (!went_well) return BlockFault{resident.rank, *machine.take_fault(), 0, {}};
  }
  return std::nullopt;
}

std::optional<BlockFault> BlockScheduler::lost_wait() const {
  return detector_ ? find_lost_wait(launch_, *detector_) : std::nullopt;
}

/// All blocks that have begun wait, and no further block can begin.
BlockFault BlockScheduler::deadlock() const {
  std::vector<WaitingBlock> waiting;
  for (const Resident& resident : residents_) waiting.push_back({resident.rank, &resident.state});
  auto [rank, fault] = explain_deadlock(launch_, waiting, log_, {next_, resident_});
  return {rank, std::move(fault), 0, {}};
}

}  // namespace tilevm::sim
