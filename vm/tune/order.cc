#include "vm/tune/order.h"

#include <algorithm>

namespace tilevm::vm::tuning {

namespace {

/// Points at random before neighbours are looked at: an eighth, but no more than this.
constexpr std::uint64_t most_at_random = 24;
/// So many of the fastest points have their neighbours timed, the fastest first.
constexpr std::size_t centres = 8;
/// One point of so many is a random one, so that a search leaves a valley.
constexpr std::uint64_t turns = 4;

}  // namespace

Order::Order(Points& points, std::vector<std::uint64_t> first, std::uint64_t most)
    : points_(points), first_(std::move(first)), most_(most) {
  std::reverse(first_.begin(), first_.end());
}

const Candidate* Order::next() {
  while (given_count_ < most_) {
    const std::optional<std::uint64_t> index = choose();
    if (!index) return nullptr;
    const Candidate* candidate = points_.look_at(*index);
    if (candidate == nullptr) continue;
    if (!timed_.empty() && candidate->least_us > timed_.begin()->first) {
      ++dropped_;
      continue;
    }
    ++given_count_;
    return candidate;
  }
  return nullptr;
}

void Order::tell(const Candidate& candidate, std::optional<double> us) {
  if (us) timed_.emplace(*us, candidate.index);
}

std::optional<std::uint64_t> Order::choose() {
  while (!first_.empty()) {
    const std::uint64_t index = first_.back();
    first_.pop_back();
    if (chosen_.insert(index).second) return index;
  }
  const bool begins = given_count_ < std::min(most_at_random, most_ / 8);
  if (!begins && ++turn_ % turns != 0) {
    if (const auto near = choose_near()) return near;
  }
  const auto any = choose_at_random();
  return any ? any : choose_near();
}

std::optional<std::uint64_t> Order::choose_near() {
  std::size_t centre = 0;
  for (const auto& [us, index] : timed_) {
    if (centre++ == centres) break;
    for (const std::uint64_t neighbour : points_.space().neighbours(index)) {
      if (chosen_.insert(neighbour).second) return neighbour;
    }
  }
  return std::nullopt;
}

std::optional<std::uint64_t> Order::choose_at_random() {
  while (const auto index = points_.draw()) {
    if (chosen_.insert(*index).second) return index;
  }
  return std::nullopt;
}

}  // namespace tilevm::vm::tuning
