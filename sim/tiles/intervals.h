// Sets of numbers as disjoint intervals: which bits of a buffer were touched.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <vector>

namespace tilevm::sim {

/// [begin, end).
struct Interval {
  std::uint64_t begin = 0, end = 0;
  friend auto operator<=>(const Interval&, const Interval&) = default;
};

/// Disjoint intervals; neighbours are merged.
class IntervalSet {
 public:
  [[nodiscard]] bool meets(const Interval& interval) const {
    const auto next = by_begin_.lower_bound(interval.end);
    return next != by_begin_.begin() && std::prev(next)->second > interval.begin;
  }

  void add(Interval interval) {
    auto next = by_begin_.upper_bound(interval.begin);
    if (next != by_begin_.begin() && std::prev(next)->second >= interval.begin) --next;
    while (next != by_begin_.end() && next->first <= interval.end) {
      interval.begin = std::min(interval.begin, next->first);
      interval.end = std::max(interval.end, next->second);
      next = by_begin_.erase(next);
    }
    by_begin_.emplace_hint(next, interval.begin, interval.end);
  }

  void add(const IntervalSet& other) {
    for (const auto& [begin, end] : other.by_begin_) add({begin, end});
  }

  void clear() { by_begin_.clear(); }
  [[nodiscard]] bool empty() const { return by_begin_.empty(); }
  [[nodiscard]] std::size_t size() const { return by_begin_.size(); }

  /// Calls f(interval) in ascending order.
  template <class F>
  void for_each(F&& f) const {
    for (const auto& [begin, end] : by_begin_) f(Interval{begin, end});
  }

 private:
  std::map<std::uint64_t, std::uint64_t> by_begin_;
};

/// Sorts intervals and merges those that touch or overlap; says whether any overlapped.
inline bool merge_intervals(std::vector<Interval>& intervals) {
  std::sort(intervals.begin(), intervals.end());
  bool overlap = false;
  std::size_t kept = 0;
  for (const Interval& interval : intervals) {
    if (kept > 0 && interval.begin <= intervals[kept - 1].end) {
      overlap = overlap || interval.begin < intervals[kept - 1].end;
      intervals[kept - 1].end = std::max(intervals[kept - 1].end, interval.end);
    } else {
      intervals[kept++] = interval;
    }
  }
  intervals.resize(kept);
  return overlap;
}

/// The bits of the elements of an access that exist: ascending and disjoint.
struct TouchedIntervals {
  std::vector<Interval> bits;
  bool overlap = false;  ///< two elements that are not replicas share bits
};

}  // namespace tilevm::sim
