#include "sim/debug/timeline.h"

#include <algorithm>
#include <utility>

#include "isa/base/check.h"

namespace tilevm::sim::debug {
namespace {

/// Taking snapshots takes at most one part in so many of the time.
constexpr double cost_divisor = 30;
/// Steps between looks at the clock, and between ticks.
constexpr std::uint32_t clock_steps = 32, tick_steps = 256;
/// Bytes of a snapshot beside its blocks.
constexpr std::size_t fixed_bytes = 512;
/// What saving a page costs, in milliseconds.
constexpr double page_cost = 0.0002;

double milliseconds(std::chrono::steady_clock::duration duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

}  // namespace

Timeline::Timeline(std::unique_ptr<Machine> machine, TimelineOptions options)
    : machine_(std::move(machine)),
      options_(std::move(options)),
      distance_(options_.distance),
      least_distance_(options_.distance) {
  snapshots_.push_back({machine_->state(), bytes_not_shared(machine_->state()), {}, 0});
  bytes_ = snapshots_.back().bytes;
  last_ = Clock::now();
}

bool Timeline::tick() {
  if (tick_countdown_-- > 0) return true;
  tick_countdown_ = tick_steps;
  if (options_.tick && !options_.tick()) interrupted_ = true;
  return !interrupted_;
}

std::optional<Fault> Timeline::step() {
  const Moment from = now();
  if (auto fault = machine_->step()) {
    if (now() != from) restore(position_), run_to(from);
    return fault;
  }
  reached_ = std::max(reached_, now());
  arrive();
  return std::nullopt;
}

/// The machine has come to a moment by a step.
void Timeline::arrive() {
  if (!is_last() && now() == snapshots_[position_ + 1].state.moment) {
    snapshots_[position_].pages = std::exchange(machine_->writes().pages, {});
    ++position_;
    last_ = Clock::now();
  } else if (options_.snapshots && (is_last() || travels_) && countdown_-- == 0) {
    countdown_ = clock_steps;
    if (milliseconds(Clock::now() - last_) >= distance_) take_snapshot();
  }
  if (!edits_.empty()) apply_edits();
}

/// In the last interval, or within a known one, which it divides.
void Timeline::take_snapshot() {
  const Clock::time_point start = Clock::now();
  Pages pages = std::exchange(machine_->writes().pages, {});
  Snapshot snapshot{machine_->state(), 0, {}, 0};
  snapshot.bytes = bytes_not_shared(snapshot.state);
  if (!is_last()) {  // what the pages hold is what memory is at the interval's end
    snapshot.pages = std::exchange(snapshots_[position_].pages, {});
    bytes_ -= bytes_of(snapshot.pages);
  }
  bytes_ += snapshot.bytes + bytes_of(pages) + bytes_of(snapshot.pages);
  const double saved = static_cast<double>(pages.size()) * page_cost;
  snapshots_[position_].pages = std::move(pages);
  snapshots_[position_].run = milliseconds(start - last_);
  ++position_;
  snapshots_.insert(snapshots_.begin() + static_cast<std::ptrdiff_t>(position_),
                    std::move(snapshot));
  // The copy that the next step would make is made, and timed, here.
  if (machine_->has_current()) machine_->own_current();
  last_ = Clock::now();
  const double took = milliseconds(last_ - start) + saved;
  taking_ += took;
  distance_ = std::max(least_distance_, took * cost_divisor);
  enforce_limit();
}

std::size_t Timeline::bytes_not_shared(const MachineState& state) const {
  std::size_t bytes = fixed_bytes + state.executed.size() * sizeof(std::uint64_t);
  for (const auto& resident : state.residents) {
    const bool shared =
        !snapshots_.empty() && std::find(snapshots_[position_].state.residents.begin(),
                                         snapshots_[position_].state.residents.end(),
                                         resident) != snapshots_[position_].state.residents.end();
    if (!shared) bytes += bytes_of(*resident);
  }
  return bytes;
}

void Timeline::enforce_limit() {
  while (bytes_ > options_.memory && snapshots_.size() > 3) {
    const std::size_t count = snapshots_.size();
    for (std::size_t k = count - 1 - (count - 1) % 2; k-- > 1;) {
      if (k % 2 == 1 && k != position_) drop(k);
    }
    least_distance_ = std::max(least_distance_, 0.01) * 2;
    distance_ = std::max(distance_, least_distance_);
    if (snapshots_.size() == count) return;
  }
}

/// Joins a snapshot's interval to the one before. Neither the first, nor the last, nor the one in
/// whose interval the machine is.
void Timeline::drop(std::size_t k) {
  Snapshot& before = snapshots_[k - 1];
  const std::size_t pages = bytes_of(before.pages) + bytes_of(snapshots_[k].pages);
  if (k > position_) {  // what memory is at the end of the later interval
    std::swap(before.pages, snapshots_[k].pages);
  }
  merge_pages(before.pages, std::move(snapshots_[k].pages));
  bytes_ -= snapshots_[k].bytes + pages - bytes_of(before.pages);
  before.run += snapshots_[k].run;
  snapshots_.erase(snapshots_.begin() + static_cast<std::ptrdiff_t>(k));
  if (k < position_) --position_;
}

/// The last snapshot before a moment; the first one if there is none.
std::size_t Timeline::before(Moment moment) const {
  const auto next = std::lower_bound(
      snapshots_.begin(), snapshots_.end(), moment,
      [](const Snapshot& snapshot, Moment at) { return snapshot.state.moment < at; });
  return next == snapshots_.begin() ? 0 : static_cast<std::size_t>(next - snapshots_.begin() - 1);
}

void Timeline::restore(std::size_t snapshot) {
  Pages recent = std::exchange(machine_->writes().pages, {});
  swap_pages(recent);
  while (position_ > snapshot) swap_pages(snapshots_[--position_].pages);
  while (position_ < snapshot) swap_pages(snapshots_[position_++].pages);
  machine_->restore(snapshots_[snapshot].state);
  last_ = Clock::now();
  apply_edits();
}

void Timeline::run_to(Moment moment) {
  while (now() < moment) {
    if (auto fault = machine_->step()) TILEVM_CHECK(false, "a step that was made faults");
    arrive();
  }
}

void Timeline::go_back_to(Moment moment) {
  const std::size_t k = before(moment + 1);
  travels_ = true;
  if (now() > moment || now() < snapshots_[k].state.moment) restore(k);
  run_to(moment);
  travels_ = false;
}

Timeline::Arrival Timeline::go_to(Moment moment, std::optional<Fault>* fault) {
  interrupted_ = false;
  if (moment <= reached_) {
    go_back_to(moment);
    return Arrival::there;
  }
  if (now() < reached_) go_back_to(reached_);
  while (now() < moment) {
    if (machine_->finished()) return Arrival::end;
    if (!tick()) return Arrival::interrupted;
    if (auto met = step()) {
      if (fault != nullptr) *fault = std::move(met);
      return Arrival::fault;
    }
  }
  return Arrival::there;
}

void Timeline::edit(std::function<void(Machine&)> change) {
  for (std::size_t k = position_ + 1; k < snapshots_.size(); ++k) {
    bytes_ -= snapshots_[k].bytes + bytes_of(snapshots_[k].pages);
  }
  snapshots_.resize(position_ + 1);
  bytes_ -= bytes_of(snapshots_.back().pages);
  snapshots_.back().pages.clear();
  std::erase_if(edits_, [&](const Edit& edit) { return edit.moment > now(); });
  machine_->change_future();
  reached_ = now();
  if (!machine_->finished() && machine_->launch().compares_ordered()) {
    // What blocks of this launch have accessed so far is compared with what they will access.
    const Moment here = now();
    go_back_to(machine_->state().launch_began);
    run_to(here);
  }
  edits_.push_back({now(), std::move(change)});
  edits_.back().change(*machine_);
}

void Timeline::apply_edits() {
  for (const Edit& edit : edits_) {
    if (edit.moment == now()) edit.change(*machine_);
  }
}

SnapshotUse Timeline::use() const {
  SnapshotUse use{snapshots_.size(), bytes_, options_.memory, 0, 0, taking_};
  for (std::size_t k = 0; k < snapshots_.size(); ++k) {
    const Moment end = k + 1 < snapshots_.size() ? snapshots_[k + 1].state.moment : reached_;
    use.farthest = std::max(use.farthest, end - snapshots_[k].state.moment);
    use.milliseconds = std::max(use.milliseconds, snapshots_[k].run);
  }
  return use;
}

}  // namespace tilevm::sim::debug
