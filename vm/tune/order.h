// Which point a search times next: first those that it is given to begin with, then random ones,
// then neighbours of the fastest so far, with a random one now and then. It starts no process.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "vm/tune/space.h"

namespace tilevm::vm::tuning {

class Order {
 public:
  /// `first`: points to begin with; those that are illegal are passed over. At most `most` points
  /// are given.
  Order(Points& points, std::vector<std::uint64_t> first, std::uint64_t most);

  /// Null: there are no more, or the times of those that are being timed are needed first. A point
  /// whose least time is longer than the best time is dropped.
  const Candidate* next();
  /// The time of a point that was given; nothing if it failed.
  void tell(const Candidate& candidate, std::optional<double> us);

  [[nodiscard]] std::uint64_t given() const { return given_count_; }
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }

 private:
  std::optional<std::uint64_t> choose();
  std::optional<std::uint64_t> choose_near();
  std::optional<std::uint64_t> choose_at_random();

  Points& points_;
  std::vector<std::uint64_t> first_;  // the next one last
  std::uint64_t most_;
  std::set<std::uint64_t> chosen_;
  std::multimap<double, std::uint64_t> timed_;  // by microseconds
  std::uint64_t given_count_ = 0, dropped_ = 0, turn_ = 0;
};

}  // namespace tilevm::vm::tuning
