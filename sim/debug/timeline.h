// Time travel: a machine with snapshots of its past.
//
// To go back, the nearest earlier snapshot is restored and the machine runs forward again, which
// gives the same states, since nothing depends on chance. Global memory is restored page by page
// (page_log.h): the pages of an interval between two snapshots hold what memory was at the
// interval's begin while the machine is behind it, and what it was at its end while the machine is
// before it.
//
// Snapshots are as far apart as their cost allows: taking them takes at most a fixed share of the
// time. When they take more memory than the limit, every second one goes, and from then on they are
// twice as far apart.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "sim/debug/machine.h"

namespace tilevm::sim::debug {

struct TimelineOptions {
  std::size_t memory = std::size_t{512} << 20;  ///< bytes that snapshots may take
  /// Called now and then while the machine runs; false interrupts a run or a search.
  std::function<bool()> tick = {};
  double distance = 2;    ///< milliseconds between snapshots, at least
  bool snapshots = true;  ///< only the first one is taken if not, to measure the others
};

/// What the snapshots are and what they cost.
struct SnapshotUse {
  std::size_t count = 0;
  std::size_t bytes = 0;
  std::size_t limit = 0;
  Moment farthest = 0;      ///< steps of the longest interval
  double milliseconds = 0;  ///< time that the longest interval takes to run, about
  double taking = 0;        ///< milliseconds that all snapshots took
};

class Timeline {
 public:
  Timeline(std::unique_ptr<Machine> machine, TimelineOptions options);

  [[nodiscard]] Machine& machine() { return *machine_; }
  [[nodiscard]] Moment now() const { return machine_->moment(); }
  /// The last moment that was reached, unless a change by hand has made another future.
  [[nodiscard]] Moment reached() const { return reached_; }

  /// Makes a step. After a fault the state is that before the step.
  [[nodiscard]] std::optional<Fault> step();

  /// What stopped a journey.
  enum class Arrival : std::uint8_t { there, interrupted, fault, end };
  /// Goes to a moment; `fault` takes what stopped it. A moment that was reached once is always
  /// reached.
  Arrival go_to(Moment moment, std::optional<Fault>* fault = nullptr);
  /// Goes back to a moment that was reached, without interruption.
  void go_back_to(Moment moment);

  /// Looks at the past from the present on, interval by interval, without changing it. `visit` is
  /// called at each moment of an interval in ascending order, at the first with `first` and at the
  /// last with `last` (which is the first of the next interval, or the present). It may give a
  /// moment; the greatest one of the latest interval that has one is the result, to which the
  /// machine has gone. If there is none, or after an interruption, the machine is where it was.
  /// Intervals that end at `floor` or before are not looked at.
  template <class Visit>
  std::optional<Moment> search_back(Visit&& visit, Moment floor = 0) {
    const Moment origin = now();
    interrupted_ = false;
    for (Moment upper = origin, begin = origin + 1; begin > floor && !interrupted_; upper = begin) {
      const std::size_t k = before(upper);
      begin = snapshots_[k].state.moment;
      std::optional<Moment> best;
      restore(k);
      for (bool first = true;; first = false) {
        const bool last = now() >= upper;
        if (const std::optional<Moment> found = visit(first, last)) best = found;
        if (last || !tick()) break;
        static_cast<void>(step());
      }
      if (!best || interrupted_) continue;
      go_back_to(*best);
      return best;
    }
    go_back_to(origin);
    return std::nullopt;
  }
  [[nodiscard]] bool interrupted() const { return interrupted_; }
  /// False if the user wants a run to stop.
  [[nodiscard]] bool tick();
  void clear_interrupt() { interrupted_ = false; }

  /// Changes the state by hand, now and whenever this moment is reached again. What was known of
  /// the future is forgotten. `change` saves what it writes to memory in the machine's WriteLog.
  void edit(std::function<void(Machine&)> change);

  [[nodiscard]] SnapshotUse use() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Snapshot {
    MachineState state;
    std::size_t bytes = 0;  ///< bytes of the blocks that the snapshot before does not share
    Pages pages;            ///< pages of the interval that begins here
    double run = 0;         ///< milliseconds that the interval took
  };
  struct Edit {
    Moment moment = 0;
    std::function<void(Machine&)> change;
  };

  [[nodiscard]] std::size_t before(Moment moment) const;
  [[nodiscard]] bool is_last() const { return position_ + 1 == snapshots_.size(); }
  void restore(std::size_t snapshot);
  void arrive();
  void take_snapshot();
  void enforce_limit();
  void drop(std::size_t snapshot);
  void apply_edits();
  void run_to(Moment moment);
  [[nodiscard]] std::size_t bytes_not_shared(const MachineState& state) const;

  std::unique_ptr<Machine> machine_;
  TimelineOptions options_;
  std::vector<Snapshot> snapshots_;  // ascending by moment
  std::size_t position_ = 0;         // of the snapshot in whose interval the machine is
  std::vector<Edit> edits_;          // ascending by moment
  Moment reached_ = 0;
  std::size_t bytes_ = 0;
  double distance_, least_distance_;  // milliseconds between snapshots
  double taking_ = 0;
  Clock::time_point last_;  // when the machine came to the current interval's begin
  std::uint32_t countdown_ = 0, tick_countdown_ = 0;
  bool interrupted_ = false;
  bool travels_ = false;  // snapshots may be put between others
};

}  // namespace tilevm::sim::debug
