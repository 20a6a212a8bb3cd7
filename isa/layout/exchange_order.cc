#include "isa/layout/exchange_order.h"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <set>
#include <vector>

#include "isa/base/check.h"

namespace tilevm::isa {

namespace {

constexpr std::int64_t line_bytes = 128;  // of all banks, 4 bytes each

/// Only so many writes of a large tile are looked at: others repeat their pattern.
constexpr std::size_t most_writes = 64;

/// The offsets that the threads of a warp write together, for each warp and local element.
using Writes = std::vector<std::vector<std::int64_t>>;

Writes writes_of(const RegisterLayout& from, const MemoryLayout& elements, int bytes) {
  // Elements of 8 bytes go in two halves of a warp.
  const std::int64_t together = bytes == 8 ? 16 : 32;
  const auto is_copy = [&](std::int64_t thread) {
    return std::any_of(from.replica_terms().begin(), from.replica_terms().end(),
                       [&](const auto& term) { return thread / term.divisor % term.size != 0; });
  };
  Writes writes;
  for (std::int64_t first = 0; first < from.num_threads() && writes.size() < most_writes;
       first += together) {
    const std::int64_t end = std::min(first + together, from.num_threads());
    for (std::int64_t i = 0; i < from.num_locals() && writes.size() < most_writes; ++i) {
      writes.emplace_back();
      for (std::int64_t thread = first; thread < end; ++thread) {
        if (is_copy(thread)) continue;
        writes.back().push_back(elements.offset(from.element(thread, i)));
      }
      if (writes.back().empty()) writes.pop_back();
    }
  }
  return writes;
}

/// Wavefronts of all writes: of each, the most words that one bank has.
std::int64_t wavefronts(const Writes& writes, const ExchangeOrder& order, int bytes) {
  std::int64_t sum = 0;
  for (const auto& write : writes) {
    std::array<std::int64_t, 32> of_bank{};
    std::vector<std::int64_t> words;
    for (const std::int64_t offset : write) words.push_back(order.place(offset) * bytes / 4);
    std::sort(words.begin(), words.end());
    words.erase(std::unique(words.begin(), words.end()), words.end());
    for (const std::int64_t word : words) ++of_bank[static_cast<std::size_t>(word % 32)];
    sum += *std::max_element(of_bank.begin(), of_bank.end());
  }
  return sum;
}

/// Adds the pair of bits that saves most, as long as one saves anything. A bit that chooses a bank
/// takes part once, and so does one above, since then reads of a line meet all banks as before.
void spread_writes(const RegisterLayout& from, int bytes, ExchangeOrder& order) {
  const std::int64_t size = from.size(), line = line_bytes / bytes;
  if (size % line != 0 || !std::has_single_bit(static_cast<std::uint64_t>(line))) return;
  const auto bits = [](std::int64_t n) {
    return std::bit_width(static_cast<std::uint64_t>(n)) - 1;
  };
  const int lowest = bits(std::max(1, 4 / bytes)), banks = bits(line), all = bits(size);
  const Writes writes = writes_of(from, order.elements, bytes);
  std::int64_t best = wavefronts(writes, order, bytes);
  std::set<int> taken;
  while (best > static_cast<std::int64_t>(writes.size())) {
    std::optional<ExchangeOrder::Spread> found;
    for (int high = banks; high < all; ++high) {
      for (int low = lowest; low < banks; ++low) {
        if (taken.contains(high) || taken.contains(low)) continue;
        ExchangeOrder tried = order;
        tried.spread.push_back({high, low});
        const std::int64_t cost = wavefronts(writes, tried, bytes);
        if (cost < best) best = cost, found = tried.spread.back();
      }
    }
    if (!found) return;
    order.spread.push_back(*found);
    taken.insert({found->from, found->to});
  }
}

}  // namespace

std::int64_t ExchangeOrder::place(std::int64_t offset) const {
  std::int64_t moved = offset;
  for (const Spread& bit : spread) moved ^= (offset >> bit.from & 1) << bit.to;
  return moved;
}

ExchangeOrder exchange_order(const RegisterLayout& from, const RegisterLayout& to, int bytes) {
  ExchangeOrder order;
  order.holders = to.num_threads() / to.num_replicas();
  std::vector<std::int64_t> strides(to.mode_shape().size());
  std::int64_t stride = 1;
  for (const auto* modes : {&to.spatial_modes(), &to.local_modes()}) {
    for (auto mode = modes->rbegin(); mode != modes->rend(); ++mode) {
      if (*mode < 0) continue;
      const auto at = static_cast<std::size_t>(*mode);
      strides[at] = stride;
      stride *= to.mode_shape()[at];
    }
  }
  const auto layout = MemoryLayout::make(to.shape(), to.mode_shape(), strides);
  TILEVM_CHECK(layout.ok(), "the modes of a layout with other strides");
  order.elements = *layout;
  order.threads = to.thread_terms();
  stride = 1;
  for (auto term = order.threads.rbegin(); term != order.threads.rend(); ++term) {
    term->dim = 0;
    term->stride = stride;
    stride *= term->size;
  }
  spread_writes(from, bytes, order);
  return order;
}

}  // namespace tilevm::isa
