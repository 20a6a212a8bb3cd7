// Questions about the past: answered by going there, and coming back.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "sim/debug/session.h"

namespace tilevm::sim::debug {
namespace {

/// The most steps that one question follows.
constexpr std::size_t max_levels = 1000;

}  // namespace

/// Where a `why` begins. Errors (usage): no such element, no such branch.
Result<TrailBranch> Session::begin_of(const command::Why& why) {
  if (why.from) {
    const std::size_t step = why.from->step, branch = why.from->branch;
    if (step < 1 || step > why_branches_.size()) {
      return Error{ErrorKind::usage,
                   why_branches_.empty()
                       ? std::string("`why N.K` follows a branch of the last `why`; there was none")
                       : fmt::format("the last `why` has steps 1 to {}", why_branches_.size())};
    }
    const auto& known = why_branches_[step - 1];
    if (branch >= 1 && branch <= known.size()) return known[branch - 1];
    return Error{ErrorKind::usage,
                 known.empty() ? fmt::format("step {} has no branches", step)
                               : fmt::format("step {} has branches 1 to {}", step, known.size())};
  }
  const Result<Tensor> tensor = names().tensor(why.what.tensor);
  if (!tensor) return tensor.error();
  const Result<Part> part = resolve(why.what, *tensor);
  if (!part) return part.error();
  if (isa::element_count(part->extents) != 1) {
    return Error{ErrorKind::usage, fmt::format("name one element, as {}[..]", why.what.tensor)};
  }
  return TrailBranch{
      Provenance::trail_of(*tensor, part->origin, why.what.thread ? why.what.thread : thread_,
                           focus_.launch, focus_.rank),
      timeline_->now()};
}

Reply Session::run(const command::Why& why) {
  const Result<TrailBranch> begin = begin_of(why);
  if (!begin) return begin.error();
  const Moment origin = timeline_->now();
  timeline_->go_back_to(begin->moment);
  Provenance provenance(*timeline_, spec_.dtypes, spec_.shapes);
  std::optional<Trail> trail = begin->trail;
  std::vector<std::vector<TrailBranch>> branches;
  reply::WhyShown shown;
  shown.text = why.what.text;
  std::size_t skipped = 0;
  for (std::size_t level = 0; trail && level < max_levels && timeline_->tick(); ++level) {
    if (shown.causes.size() >= std::max<std::size_t>(why.levels, 1)) {
      shown.more = true;
      break;
    }
    std::optional<Trail> next;
    std::vector<TrailBranch> found;
    reply::Cause cause = provenance.step(*trail, why.via, next, found);
    // A copy says nothing new, unless it is the first step, or the last.
    const bool is_seen =
        why.copies || !cause.copy || shown.causes.empty() || !next || cause.branches > 1;
    if (is_seen) {
      shown.branches = shown.branches || cause.branches > 1;
      branches.push_back(std::move(found));
      cause.skipped = std::exchange(skipped, 0);
      shown.causes.push_back(std::move(cause));
    } else {
      ++skipped;
    }
    trail = std::move(next);
  }
  timeline_->go_back_to(origin);
  why_branches_ = std::move(branches);
  return shown;
}

Reply Session::run(const command::WhoWrote& who) {
  Reply answer = run(command::Why{who.what, 1, true, {}, {}});
  if (auto* shown = std::get_if<reply::WhyShown>(&answer)) shown->more = shown->branches = false;
  return answer;
}

Reply Session::run(const command::LastChange& request) {
  const std::vector<Watchpoint> kept = std::exchange(watchpoints_, {});
  const int number = next_number_;
  const Reply made = run(command::Watch{request.what, {}, {}});
  next_number_ = number;
  if (const auto* error = std::get_if<Error>(&made)) {
    watchpoints_ = kept;
    return *error;
  }
  const Moment origin = timeline_->now();
  const auto resident = resident_of_focus();
  const bool everywhere = watchpoints_.front().everywhere;
  const Moment floor = resident && !everywhere ? machine().state().residents[*resident]->began : 0;
  reply::Changed shown;
  shown.text = request.what.text;
  const auto found = timeline_->search_back(
      [&](bool first, bool) -> std::optional<Moment> {
        if (first) {
          remember_watches();
          return std::nullopt;
        }
        auto change = changed_watch();
        if (!change) return std::nullopt;
        shown.change = std::move(change);
        return timeline_->now() - 1;
      },
      floor);
  if (found && machine().has_current()) {
    shown.position = make_position(machine(), machine().state().position);
  }
  timeline_->go_back_to(origin);
  watchpoints_ = kept;
  remember_watches();
  return shown;
}

Reply Session::run(const command::Trace& trace) {
  const auto resident = resident_of_focus();
  if (!resident) return Error{ErrorKind::usage, "no block runs any more"};
  const Moment origin = timeline_->now();
  const std::uint64_t rank = focus_.rank;
  const Moment began = machine().state().residents[*resident]->began;
  std::vector<reply::Traced> steps, interval;
  bool pending = false;
  const auto visit = [&](bool first, bool last) -> std::optional<Moment> {
    if (first) interval.clear();
    const auto focus = resident_of_focus();
    if (pending && !first && focus && !interval.empty()) {
      if (const auto record = last_record(*focus)) {
        interval.back().wrote = written_by(*focus, *record);
      }
    }
    pending = !last && timeline_->now() >= began && in_focus() && at_stop() &&
              machine().current().rank == rank;
    if (pending) interval.push_back({make_position(machine(), *focus), {}});
    if (last) steps.insert(steps.begin(), interval.begin(), interval.end());
    if (steps.size() > trace.count) {
      steps.erase(steps.begin(), steps.end() - static_cast<std::ptrdiff_t>(trace.count));
    }
    return last && steps.size() >= trace.count ? std::optional(timeline_->now()) : std::nullopt;
  };
  static_cast<void>(timeline_->search_back(visit, began));
  timeline_->go_back_to(origin);
  return reply::TraceShown{std::move(steps)};
}

}  // namespace tilevm::sim::debug
