#include "sim/launch/order_exploration.h"

#include <fmt/format.h>

#include <algorithm>

namespace tilevm::sim {
namespace {

/// Bytes of memory, and steps of threads in all orders together, up to which a launch is small.
constexpr std::uint64_t max_bytes = std::uint64_t{1} << 26;
constexpr std::uint64_t max_cost = 40'000'000;

TurnOrder order_of(std::uint64_t number) {
  using Kind = TurnOrder::Kind;
  if (number == 0) return {Kind::last, 0};
  if (number == 1) return {Kind::first, 0};
  return {number % 2 == 0 ? Kind::random : Kind::ranked, number};
}

}  // namespace

bool OrderExploration::is_possible(const LaunchPlan& launch, const RunSettings& settings) {
  std::uint64_t bytes = 0;
  for (const MemoryBuffer& buffer : launch.memory) bytes += buffer.bytes;
  return settings.uses != nullptr && launch.grid.blocks() > 1 && bytes <= max_bytes &&
         !launch.plan.keeps_shadow && settings.observers.trace == nullptr &&
         settings.observers.probes == nullptr;
}

std::uint64_t OrderExploration::orders(std::uint64_t steps) const {
  const std::uint64_t cost = steps * static_cast<std::uint64_t>(launch_.plan.threads);
  return std::min<std::uint64_t>(most_orders_, max_cost / cost);
}

std::optional<BlockFault> OrderExploration::run(std::uint64_t steps) const {
  const std::uint64_t count = orders(steps);
  if (count == 0) return std::nullopt;
  const MemorySnapshot after(launch_.memory);
  for (std::uint64_t i = 0; i < count; ++i) {
    before_.restore(launch_.memory);
    BlockScheduler turns(launch_, settings_, resident_, 1);
    auto fault = turns.run_singly(order_of(i));
    if (turns.too_large()) break;
    if (!fault) continue;
    add_note(fault->fault.diagnostic,
             fmt::format("found in another order of the blocks than the usual one: {}",
                         to_string(order_of(i))));
    return fault;
  }
  after.restore(launch_.memory);
  return std::nullopt;
}

}  // namespace tilevm::sim
