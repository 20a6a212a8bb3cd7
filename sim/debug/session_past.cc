// Questions about the past: answered by going there, and coming back.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "sim/debug/session.h"

namespace tilevm::sim::debug {
namespace {

/// The most steps that one question follows.
constexpr std::size_t max_levels = 1000;

Error no_elements(const Selection& what) {
  return {ErrorKind::usage, fmt::format("`{}` is a scalar, which has no elements", what.tensor)};
}

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
  const Result<Named> named = names().find(why.what.tensor);
  if (!named) return named.error();
  if (std::holds_alternative<ScalarVariable>(*named)) {
    if (!why.what.ranges.empty() || why.what.thread) return no_elements(why.what);
    return TrailBranch{scalar_trail(*names().variable(why.what.tensor), focus_.launch, focus_.rank),
                       timeline_->now()};
  }
  const auto* tensor = std::get_if<Tensor>(&*named);
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
  std::optional<TrailBranch> trail = *begin;
  std::vector<std::vector<TrailBranch>> branches;
  reply::WhyShown shown;
  shown.text = why.what.text;
  std::size_t skipped = 0;
  for (std::size_t level = 0; trail && level < max_levels && timeline_->tick(); ++level) {
    if (shown.causes.size() >= std::max<std::size_t>(why.levels, 1)) {
      shown.more = true;
      break;
    }
    std::optional<TrailBranch> next;
    std::vector<TrailBranch> found;
    timeline_->go_back_to(trail->moment);
    reply::Cause cause = provenance.step(trail->trail, why.via, next, found);
    // A copy says nothing new, unless it is the first step, or the last, or data chose what is
    // copied.
    const bool is_seen = why.copies || !cause.copy || shown.causes.empty() || !next ||
                         cause.values > 1 || cause.data_offset;
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

/// The last moment at which the block that steps next had a variable of a name with a value;
/// nothing if there was none.
std::optional<Moment> Session::last_moment_of(const std::string& name) {
  std::map<int, std::vector<isa::VarId>> named;  // by kernel
  for (const auto& launch : machine().launches()) {
    const isa::Kernel& kernel = launch->kernel();
    std::vector<isa::VarId>& vars = named[launch->kernel_index()];
    if (!vars.empty()) continue;
    for (std::size_t i = 0; i < kernel.variables.size(); ++i) {
      const isa::Variable& variable = kernel.variables[i];
      const bool is_it =
          variable.name == name && !std::holds_alternative<isa::PointerType>(variable.type);
      if (is_it) vars.push_back({static_cast<std::int32_t>(i)});
    }
  }
  const bool exists =
      std::ranges::any_of(named, [](const auto& kernel) { return !kernel.second.empty(); });
  if (!exists) return std::nullopt;
  return timeline_->search_back([&](bool, bool last) -> std::optional<Moment> {
    if (last || !machine().has_current()) return std::nullopt;
    const PreparedLaunch& launch = machine().launch();
    const std::vector<isa::VarId>& parameters = launch.kernel().parameters;
    for (const isa::VarId var : named[launch.kernel_index()]) {
      if (std::ranges::find(parameters, var) != parameters.end()) return timeline_->now();
      for (const std::size_t record : launch.records().writers_of(var)) {
        if (machine().current().last_run[record] > 0) return timeline_->now();
      }
    }
    return std::nullopt;
  });
}

/// Answers a question about a name that is out of scope at the last moment that the name had, or as
/// in the present if there was none.
Reply Session::in_past(const Command& command, const std::string& name, Reply present) {
  const Moment origin = timeline_->now();
  const Focus focus = focus_;
  Reply reply = std::move(present);
  if (last_moment_of(name)) {
    follow();
    const Position where = position();
    reply = std::visit([this](const auto& request) { return run(request); }, command);
    past_ = where;
  }
  timeline_->go_back_to(origin);
  focus_ = focus;
  return reply;
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
