#include "sim/checks/replicas.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstring>
#include <utility>

#include "isa/type/bits.h"

namespace tilevm::sim {
namespace {

/// The first local index at which two threads differ.
std::size_t first_difference(const Tile& tile, const std::uint8_t* a, const std::uint8_t* b) {
  std::size_t place = 0;
  while (place + 1 < tile.locals && isa::get_bits(a, place * tile.bits, tile.bits) ==
                                        isa::get_bits(b, place * tile.bits, tile.bits)) {
    ++place;
  }
  return place;
}

}  // namespace

std::vector<std::int32_t> first_holders(const isa::RegisterLayout& layout) {
  std::vector<std::int32_t> holders;
  for (std::int64_t t = 0; t < layout.num_threads(); ++t) {
    std::int64_t first = t;
    for (const auto& term : layout.replica_terms()) {
      first -= t / term.divisor % term.size * term.divisor;
    }
    holders.push_back(static_cast<std::int32_t>(first));
  }
  return holders;
}

bool may_differ(const isa::RegisterLayout& from, const isa::RegisterLayout& to) {
  if (to.num_replicas() == 1) return false;
  const auto before = first_holders(from), after = first_holders(to);
  for (std::size_t t = 0; t < after.size(); ++t) {
    if (before[t] != before[static_cast<std::size_t>(after[t])]) return true;
  }
  return false;
}

bool check_replicas(const ReplicaCheck& check, Context& context) {
  const Tile& tile = check.tile;
  const std::uint8_t* registers = context.state.registers.at(tile.offset);
  const auto stream = [&](std::size_t t) { return registers + t * tile.thread_bytes; };
  std::size_t differing = 0, thread = 0, holder = 0;
  for (std::size_t t = 0; t < tile.threads; ++t) {
    const auto first = static_cast<std::size_t>(check.first_holders[t]);
    if (std::memcmp(stream(t), stream(first), tile.thread_bytes) == 0) continue;
    if (differing++ > 0) continue;
    thread = t;
    holder = first;
  }
  if (differing == 0) return true;
  const std::size_t place = first_difference(tile, stream(thread), stream(holder));
  const std::string element =
      fmt::format("{}[{}]", check.name, fmt::join(check.parts->index(thread, place), ", "));
  context.fail(
      Code::replicas_differ, check.span,
      fmt::format("`View` makes replicas of elements that differ: threads {} and {} both hold "
                  "`{}`, with bits {:#x} and {:#x}; in {} threads replicas differ from the first",
                  holder, thread, element,
                  isa::get_bits(stream(holder), place * tile.bits, tile.bits),
                  isa::get_bits(stream(thread), place * tile.bits, tile.bits), differing));
  context.fault->thread = static_cast<std::int64_t>(thread);
  add_note(
      context.fault->diagnostic,
      "a layout with `replicated(n)` promises n threads with equal bits: load the tile in that "
      "layout, or view it in one without replicas");
  return false;
}

}  // namespace tilevm::sim
