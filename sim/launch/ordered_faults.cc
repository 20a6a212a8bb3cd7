#include "sim/launch/ordered_faults.h"

#include <string>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "isa/base/check.h"
#include "sim/access/global_access.h"
#include "sim/checks/block_races.h"

namespace tilevm::sim {
namespace {

/// "`turn[0, 2]`".
std::string name_of(const SemaphoreUse& use) {
  const auto rank = use.access->offsets.size();
  return fmt::format(
      "`{}[{}]`", use.access->view_name,
      fmt::join(use.index.begin(), use.index.begin() + static_cast<std::ptrdiff_t>(rank), ", "));
}

/// A semaphore's value as the program writes it.
std::string value_text(const SemaphoreUse& use, std::uint32_t bits) {
  const bool is_signed = use.access->dtype == isa::i32;
  return is_signed ? fmt::format("{}", static_cast<std::int32_t>(bits)) : fmt::format("{}", bits);
}

}  // namespace

BlockFault locate_race(const LaunchPlan& launch, const RunSettings& settings,
                       const OrderedRace& race) {
  Replay replay(launch.memory, launch.uses, launch.plan.global_granule_shift);
  BlockInterpreter machine(launch.plan, launch.memory, launch.parameters,
                           replay_settings(settings, replay));
  const auto run_again = [&](const OrderedParty& party) {
    replay.watch(party);
    machine.start(launch.block(party.block), party.block);
    machine.run_turns(party.turns + 1);
  };
  run_again(race.first);
  replay.compare(launch.block_index(race.first.block));
  run_again(race.second);
  auto fault = machine.take_fault();
  TILEVM_CHECK(fault.has_value(), "a race between blocks that is not found again");
  return {race.second.block, *std::move(fault), machine.state().steps - 1, {}};
}

std::optional<BlockFault> find_lost_wait(const LaunchPlan& launch,
                                         const HappensBeforeDetector& detector) {
  const auto lost = detector.lost_wait();
  if (!lost) return std::nullopt;
  Fault fault;
  Diagnostic& diagnostic = fault.diagnostic;
  diagnostic.code = Code::deadlock;
  diagnostic.span = lost->wait.access->span;
  diagnostic.message = fmt::format(
      "`{}` may wait for ever: block [{}] waits until {} is {}, but block [{}] may make it {} "
      "first",
      lost->wait.access->mnemonic, fmt::join(launch.block_index(lost->waiter.party.block), ", "),
      name_of(lost->wait), value_text(lost->wait, lost->wait.before),
      fmt::join(launch.block_index(lost->writer.party.block), ", "),
      value_text(lost->store, lost->store.after));
  add_note(diagnostic,
           fmt::format("`{}` overwrites the value here; nothing makes it wait until the "
                       "value has been seen",
                       lost->store.access->mnemonic),
           lost->store.access->span);
  add_note(diagnostic,
           "give each wait a value or a semaphore of its own, or let the waiting block release "
           "another one that the overwriting block locks before");
  return BlockFault{lost->waiter.party.block, std::move(fault), 0, lost->waiter.number};
}

}  // namespace tilevm::sim
