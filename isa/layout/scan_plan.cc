#include "isa/layout/scan_plan.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace tilevm::isa {
namespace {

using Term = RegisterLayout::Term;

constexpr std::int64_t lanes_of_warp = 32;

struct ScanDigit {
  std::int64_t stride;
  ScanLevel level;
};

/// The part of a digit of threads that stays in a warp, wherever the block ends: a power of two.
std::int64_t size_in_warp(std::int64_t size, std::int64_t distance) {
  if ((distance & (distance - 1)) != 0) return 1;
  std::int64_t part = 1;
  while (size % (2 * part) == 0 && distance * part * 2 <= lanes_of_warp) part *= 2;
  return part;
}

ScanLevel level_of(ScanLevel::Kind kind, std::int64_t size, std::int64_t distance) {
  ScanLevel level;
  level.kind = kind;
  level.size = size;
  level.distance = distance;
  return level;
}

/// The digits along the dimension, the lowest first.
std::vector<ScanLevel> find_levels(const RegisterLayout& layout, int dim) {
  std::vector<ScanDigit> digits;
  for (const Term& term : layout.local_terms()) {
    if (term.dim != dim || term.size == 1) continue;
    digits.push_back({term.stride, level_of(ScanLevel::Kind::places, term.size, 1)});
  }
  for (const Term& term : layout.thread_terms()) {
    if (term.dim != dim) continue;
    const std::int64_t lanes = size_in_warp(term.size, term.divisor);
    if (lanes > 1) {
      digits.push_back({term.stride, level_of(ScanLevel::Kind::lanes, lanes, term.divisor)});
    }
    if (term.size == lanes) continue;
    digits.push_back({term.stride * lanes,
                      level_of(ScanLevel::Kind::threads, term.size / lanes, term.divisor * lanes)});
  }
  std::sort(digits.begin(), digits.end(),
            [](const ScanDigit& a, const ScanDigit& b) { return a.stride < b.stride; });
  std::vector<ScanLevel> levels;
  for (ScanDigit& digit : digits) levels.push_back(std::move(digit.level));
  return levels;
}

/// The exchange of a level; those of the other dimensions tell rows apart.
ScanExchange make_exchange(const RegisterLayout& layout, int dim,
                           const std::vector<ScanLevel>& levels, std::size_t position) {
  ScanExchange exchange;
  exchange.copies = layout.replica_terms();
  const auto add_slot = [&](std::int64_t divisor, std::int64_t size) {
    exchange.slot.push_back({0, divisor, size, exchange.slots});
    exchange.slots *= size;
  };
  for (const Term& term : layout.thread_terms()) {
    if (term.dim != dim) add_slot(term.divisor, term.size);
  }
  for (std::size_t i = 0; i < levels.size(); ++i) {
    if (levels[i].kind == ScanLevel::Kind::places) continue;
    if (i < position) exchange.copies.push_back({0, levels[i].distance, levels[i].size, 0});
    if (i > position) add_slot(levels[i].distance, levels[i].size);
  }
  return exchange;
}

}  // namespace

std::int64_t ScanPlan::exchanged_values() const {
  std::int64_t most = 0;
  for (const ScanLevel& level : levels) {
    if (level.kind != ScanLevel::Kind::threads) continue;
    most = std::max(most, level.totals * level.size * level.exchange.slots);
  }
  return most;
}

ScanPlan plan_scan(const RegisterLayout& layout, int dim) {
  ScanPlan plan;
  const auto d = static_cast<std::size_t>(dim);
  plan.places.resize(static_cast<std::size_t>(layout.num_locals()));
  std::iota(plan.places.begin(), plan.places.end(), 0);
  const auto key = [&](std::int32_t place) {
    Index part = layout.local_part(place);
    const std::int64_t along = part[d];
    part[d] = 0;
    return std::tuple(ravel(part, layout.shape()), along);
  };
  std::sort(plan.places.begin(), plan.places.end(),
            [&](std::int32_t a, std::int32_t b) { return key(a) < key(b); });
  plan.levels = find_levels(layout, dim);
  std::int64_t members = 1;
  for (std::size_t i = 0; i < plan.levels.size(); ++i) {
    ScanLevel& level = plan.levels[i];
    level.members = members;
    level.totals = layout.num_locals() / members;
    if (level.kind == ScanLevel::Kind::places) members *= level.size;
    if (level.kind == ScanLevel::Kind::threads)
      level.exchange = make_exchange(layout, dim, plan.levels, i);
  }
  return plan;
}

}  // namespace tilevm::isa
