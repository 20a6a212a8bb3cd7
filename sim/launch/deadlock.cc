#include "sim/launch/deadlock.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <string>

#include "isa/base/diagnostic.h"

namespace tilevm::sim {
namespace {

/// Most further waiting blocks that a deadlock message names.
constexpr std::size_t most_named = 4;

/// "`turn[0, 2]`".
std::string name_of(const Wait& wait, const BlockState& state) {
  const GlobalAccess& element = wait.access->element;
  const auto rank = state.views[element.view].rank;
  return fmt::format("`{}[{}]`", element.view_name,
                     fmt::join(wait.index.begin(), wait.index.begin() + rank, ", "));
}

/// A semaphore's value as the program writes it.
std::string value_text(const Wait& wait, std::uint32_t bits) {
  const bool is_signed = wait.access->value.kind() == isa::ScalarKind::i32;
  return is_signed ? fmt::format("{}", static_cast<std::int32_t>(bits)) : fmt::format("{}", bits);
}

/// Who released the semaphore last, if anyone did.
void explain_value(const LaunchPlan& launch, const Wait& wait, const TurnLog& log,
                   Diagnostic& diagnostic) {
  const auto store = log.last_store(wait.address);
  if (!store) {
    add_note(diagnostic, "no block has released it: it has the value with which the launch began");
    return;
  }
  add_note(diagnostic,
           fmt::format("block [{}] made it {} here, as the last one to do so",
                       fmt::join(launch.block_index(store->block), ", "),
                       value_text(wait, store->value)),
           launch.plan.memory_statements[store->statement].span);
}

void name_others(const LaunchPlan& launch, const std::vector<WaitingBlock>& waiting,
                 const WaitingBlock& first, Diagnostic& diagnostic) {
  std::size_t named = 0;
  for (const WaitingBlock& other : waiting) {
    if (&other == &first || named++ >= most_named) continue;
    const Wait& also = *other.state->wait;
    add_note(diagnostic,
             fmt::format("block [{}] waits for {} to be {}",
                         fmt::join(launch.block_index(other.rank), ", "),
                         name_of(also, *other.state), value_text(also, also.wanted)),
             also.access->element.span);
  }
  if (named > most_named) {
    add_note(diagnostic, fmt::format("{} more blocks wait", named - most_named));
  }
}

void advise(const LaunchPlan& launch, const Wait& wait, const BegunBlocks& begun,
            Diagnostic& diagnostic) {
  if (const std::uint64_t left = launch.grid.blocks() - begun.next; left > 0) {
    add_note(diagnostic,
             fmt::format("{} not begun: at most {} run at once, the others when those end; let a "
                         "block wait for earlier blocks only, or make the grid smaller",
                         left == 1 ? "1 block has" : fmt::format("{} blocks have", left),
                         begun.resident));
  } else {
    add_note(diagnostic,
             fmt::format("no other block runs any more: one of them must release {} after its "
                         "share of the work",
                         value_text(wait, wait.wanted)));
  }
}

}  // namespace

std::pair<std::uint64_t, Fault> explain_deadlock(const LaunchPlan& launch,
                                                 const std::vector<WaitingBlock>& waiting,
                                                 const TurnLog& log, const BegunBlocks& begun) {
  const WaitingBlock& first = *std::min_element(
      waiting.begin(), waiting.end(), [&](const WaitingBlock& a, const WaitingBlock& b) {
        return launch.sequence[a.rank] < launch.sequence[b.rank];
      });
  const Wait& wait = *first.state->wait;
  Fault fault;
  Diagnostic& diagnostic = fault.diagnostic;
  diagnostic.code = Code::deadlock;
  diagnostic.span = wait.access->element.span;
  diagnostic.message = fmt::format(
      "`{}` waits for ever: {} is {}, and block [{}] waits for {}", wait.access->element.mnemonic,
      name_of(wait, *first.state), value_text(wait, load_semaphore(wait.address, launch.memory)),
      fmt::join(launch.block_index(first.rank), ", "), value_text(wait, wait.wanted));
  explain_value(launch, wait, log, diagnostic);
  name_others(launch, waiting, first, diagnostic);
  advise(launch, wait, begun, diagnostic);
  return {first.rank, std::move(fault)};
}

}  // namespace tilevm::sim
