// How a session moves through a run.
#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/debug/session.h"

namespace tilevm::sim::debug {
namespace {

/// Where a step began, to tell when it is over.
struct Start {
  std::size_t record = 0;
  RecordInfo info;
  isa::StmtId statement;
  bool known = false;  ///< false at the end of a block
};

Start start_at(const PreparedLaunch& launch, std::size_t record) {
  if (record >= launch.records().size()) return {};
  return {record, launch.records()[record], launch.plan().records[record].statement, true};
}

/// Whether a record is where its innermost loop begins an iteration.
bool is_header(const RecordInfo& info, std::size_t record, std::size_t records) {
  return record == info.loop.begin && info.loop.size() != records;
}

/// The innermost loop or function around a record; the whole plan if there is none.
RecordRange innermost(const RecordInfo& info) {
  return info.call.size() < info.loop.size() ? info.call : info.loop;
}

}  // namespace

/// Whether the block that steps next is the one in focus.
bool Session::in_focus() {
  return machine().has_current() && machine().current().rank == focus_.rank &&
         focus_.launch == machine().launch_index();
}

/// Whether a step may end here.
bool Session::at_stop() {
  if (!machine().has_current()) return false;
  const std::size_t next = machine().next_record();
  const RecordTable& records = machine().launch().records();
  return next >= records.size() || records[next].visible;
}

reply::Stopped Session::stopped(Reason reason) {
  reply::Stopped stop;
  stop.reason = machine().finished() ? Reason::run_end : reason;
  if (!resident_of_focus()) follow();
  stop.position = position();
  return stop;
}

/// A race is seen after it has happened: the run goes back to before the second access.
void Session::go_to_fault() {
  if (!machine().fault_site()) return;
  const auto found = timeline_->search_back(
      [&](bool, bool last) -> std::optional<Moment> {
        return !last && machine().at_fault_site() ? std::optional(timeline_->now()) : std::nullopt;
      },
      machine().state().launch_began);
  if (found) follow();
}

/// Steps, at least once, until `reached`, a breakpoint, a watchpoint or a fault.
reply::Stopped Session::run_until(const Test& reached) {
  remember_watches();
  while (!machine().finished()) {
    if (!timeline_->tick()) return stopped(Reason::interrupted);
    const std::uint64_t rank = machine().has_current() ? machine().current().rank : focus_.rank;
    if (auto fault = timeline_->step()) {
      if (machine().has_current()) follow();
      go_to_fault();
      reply::Stopped stop = stopped(Reason::fault);
      stop.fault = std::move(fault);
      return stop;
    }
    if (auto change = changed_watch()) {
      focus_.rank = rank;
      reply::Stopped stop = stopped(Reason::watch);
      stop.change = std::move(change);
      return stop;
    }
    if (machine().finished()) break;
    if (reached && reached()) return stopped(Reason::step);
    if (const Breakpoint* breakpoint = hit(true)) {
      follow();
      reply::Stopped stop = stopped(Reason::breakpoint);
      describe_hit(*breakpoint, stop);
      if (breakpoint->temporary) {
        static_cast<void>(run(command::Delete{breakpoint->number}));
      }
      return stop;
    }
  }
  return stopped(Reason::run_end);
}

reply::Stopped Session::step_once(bool over) {
  const auto resident = resident_of_focus();
  if (!resident) return run_until([this] { return at_stop(); });
  const std::size_t next = machine().state().residents[*resident]->state.next;
  const Start start = start_at(machine().launch(), next);
  const std::size_t launch = focus_.launch;
  const auto reached = [&, this] {
    if (machine().launch_index() != launch) return true;
    if (in_focus()) {
      if (!at_stop()) return false;
      const std::size_t record = machine().next_record();
      const RecordTable& records = machine().launch().records();
      if (!over || !start.known || record >= records.size()) return true;
      return records[record].depth <= start.info.depth &&
             records[record].call_depth <= start.info.call_depth &&
             machine().launch().plan().records[record].statement != start.statement;
    }
    return !resident_of_focus() && at_stop();  // the block has ended
  };
  return run_until(reached);
}

Reply Session::run(const command::Step& step) {
  reply::Stopped stop;
  for (std::uint64_t i = 0; i < step.count; ++i) {
    const Focus before = focus_;
    stop = step.back ? step_back(step.over) : step_once(step.over);
    if (stop.reason != Reason::step) break;
    if (!step.back && (before.rank != focus_.rank || before.launch != focus_.launch)) {
      stop.reason = Reason::block_end;
    }
  }
  if (!step.back && (stop.reason == Reason::step)) {
    const auto resident = resident_of_focus();
    if (resident) {
      if (const auto record = last_record(*resident)) stop.wrote = written_by(*resident, *record);
    }
  }
  return stop;
}

/// Goes to the latest moment before now where `matches` holds, or to the begin of the run.
reply::Stopped Session::search(const std::function<bool()>& matches, Reason reason) {
  const auto found = timeline_->search_back([&](bool, bool last) -> std::optional<Moment> {
    if (last || !matches()) return std::nullopt;
    return timeline_->now();
  });
  if (timeline_->interrupted()) return stopped(Reason::interrupted);
  if (!found) {
    timeline_->go_back_to(0);
    follow();
    return stopped(Reason::begin);
  }
  if (!resident_of_focus()) follow();
  return stopped(reason);
}

reply::Stopped Session::step_back(bool over) {
  const auto resident = resident_of_focus();
  if (!resident || machine().state().residents[*resident]->state.steps == 0) {
    // Before the block began: the statement of any block.
    const auto found = search([this] { return at_stop(); }, Reason::step);
    follow();
    reply::Stopped stop = found;
    stop.position = position();
    return stop;
  }
  const std::size_t next = machine().state().residents[*resident]->state.next;
  const Start start = start_at(machine().launch(), next);
  const auto matches = [&, this] {
    if (!in_focus() || !at_stop()) return false;
    if (!over || !start.known) return true;
    const std::size_t record = machine().next_record();
    const RecordTable& records = machine().launch().records();
    if (record >= records.size()) return true;
    const RecordInfo& info = records[record];
    if (info.depth > start.info.depth || info.call_depth > start.info.call_depth) return false;
    const bool own = info.loop.contains(start.record) && start.record != record;
    if (!is_header(info, record, records.size()) || own) return true;
    // The head of a loop counts as the loop only when the loop begins.
    const auto last = last_record(*resident_of_focus());
    return !last || !info.loop.contains(*last);
  };
  return search(matches, Reason::step);
}

Reply Session::run(const command::Continue& run) {
  reply::Stopped stop;
  for (std::uint64_t i = 0; i < run.count; ++i) {
    stop = run.back ? continue_back() : run_until({});
    if (stop.reason != Reason::breakpoint && stop.reason != Reason::watch) break;
  }
  return stop;
}

reply::Stopped Session::continue_back() {
  std::optional<WatchChange> change;
  Moment changed_at = 0, broke_at = 0;
  int number = 0;
  const auto found = timeline_->search_back([&](bool first, bool last) -> std::optional<Moment> {
    std::optional<Moment> best;
    if (first) {
      remember_watches();
    } else if (auto seen = changed_watch()) {
      change = std::move(seen);
      best = changed_at = timeline_->now() - 1;
    }
    if (last || machine().finished()) return best;
    if (const Breakpoint* breakpoint = hit(false)) {
      number = breakpoint->number;
      best = broke_at = timeline_->now();
    }
    return best;
  });
  if (timeline_->interrupted()) return stopped(Reason::interrupted);
  if (!found) {
    timeline_->go_back_to(0);
    follow();
    return stopped(Reason::begin);
  }
  follow();
  const bool watched = change && changed_at == *found;
  reply::Stopped stop = stopped(watched ? Reason::watch : Reason::breakpoint);
  if (watched) {
    stop.change = std::move(change);
  } else {
    const auto breakpoint = breakpoints_.find(number);
    describe_hit(breakpoint->second, stop);
    stop.hits = 0;  // hits are counted forwards
  }
  return stop;
}

/// Whether the statement in focus, with all that it contains, is behind.
Session::Test Session::past_statement() {
  const std::size_t next = machine().state().residents[*resident_of_focus()]->state.next;
  return [this, next] { return in_focus() && at_stop() && machine().next_record() > next; };
}

Reply Session::run(const command::Until& until) {
  if (!resident_of_focus()) return Error{ErrorKind::usage, "no block runs any more"};
  if (!until.line) return run_until(past_statement());
  const Result<SourceLine> named = find_line(*until.line);
  if (!named) return named.error();
  const auto line = machine().launch().records().line_from(*named);
  if (!line) {
    return Error{ErrorKind::usage, fmt::format("no statement of `{}` is at line {} or after it",
                                               machine().launch().kernel().name, named->line)};
  }
  const std::size_t launch = focus_.launch;
  return run_until([this, line, launch] {
    if (machine().launch_index() != launch) return true;
    if (!in_focus()) return !resident_of_focus();
    const std::size_t record = machine().next_record();
    const RecordTable& records = machine().launch().records();
    if (record >= records.size()) return true;
    return records.begins(record, *line);
  });
}

Reply Session::run(const command::Finish& finish) {
  const auto resident = resident_of_focus();
  if (!resident) return Error{ErrorKind::usage, "no block runs any more"};
  const std::size_t next = machine().state().residents[*resident]->state.next;
  const std::size_t records = machine().launch().records().size();
  const RecordRange part =
      next < records ? innermost(machine().launch().records()[next]) : RecordRange{0, records};
  const bool in_part = part.size() != records;
  if (!finish.back) {
    return run_until([this, part, in_part, records] {
      if (!in_focus()) return !resident_of_focus();
      const std::size_t record = machine().next_record();
      if (record >= records) return true;
      return in_part && at_stop() && !part.contains(record);
    });
  }
  if (!in_part) {
    return search([this] { return in_focus() && machine().current_block().steps == 0; },
                  Reason::step);
  }
  // The first time that the head of the loop, or of the function, is reached.
  return search(
      [this, part, records] {
        if (!in_focus() || machine().next_record() != part.begin) return false;
        if (machine().next_record() >= records) return false;
        const auto last = last_record(*resident_of_focus());
        return !last || !part.contains(*last);
      },
      Reason::step);
}

Reply Session::run(const command::Run&) {
  timeline_->go_back_to(0);
  for (auto& [number, breakpoint] : breakpoints_) breakpoint.hits = 0;
  follow();
  if (const Breakpoint* breakpoint = hit(true)) {
    reply::Stopped stop = stopped(Reason::breakpoint);
    describe_hit(*breakpoint, stop);
    return stop;
  }
  return run_until({});
}

reply::Stopped Session::arrived(Timeline::Arrival arrival, std::optional<Fault> fault) {
  follow();
  switch (arrival) {
    case Timeline::Arrival::there:
      return stopped(Reason::arrived);
    case Timeline::Arrival::interrupted:
      return stopped(Reason::interrupted);
    case Timeline::Arrival::end:
      return stopped(Reason::run_end);
    case Timeline::Arrival::fault:
      go_to_fault();
      break;
  }
  reply::Stopped stop = stopped(Reason::fault);
  stop.fault = std::move(fault);
  return stop;
}

Reply Session::run(const command::GoTo& go) {
  std::optional<Fault> fault;
  const Timeline::Arrival arrival = timeline_->go_to(go.moment, &fault);
  return arrived(arrival, std::move(fault));
}

Reply Session::run(const command::FocusBlock& block) {
  if (machine().finished()) return Error{ErrorKind::usage, "the run has ended; go back first"};
  if (machine().launch().grid_fault()) return stopped(Reason::arrived);
  const LaunchPlan& launch = machine().launch().launch();
  const auto& extents = launch.grid.extents;
  for (std::size_t d = 0; d < extents.size(); ++d) {
    if (block.block[d] >= 0 && block.block[d] < extents[d]) continue;
    return Error{ErrorKind::usage,
                 fmt::format("there is no such block: the grid of `{}` is [{}]",
                             machine().launch().kernel().name,
                             fmt::join(extents.begin(), extents.begin() + launch.grid.rank, ", "))};
  }
  return begin_of_block(launch.cluster_of(block.block));
}

/// Blocks, or clusters, begin in the order of their linear indices.
Reply Session::begin_of_block(std::uint64_t rank) {
  const std::size_t launch = machine().launch_index();
  focus_ = {launch, rank};
  if (resident_of_focus()) return stopped(Reason::arrived);
  const auto begins = [this, launch, rank] {
    return machine().has_current() && machine().launch_index() == launch &&
           machine().current().rank == rank && machine().current_block().steps == 0;
  };
  if (machine().state().next_rank > rank) return search(begins, Reason::arrived);
  reply::Stopped stop = run_until(begins);
  if (stop.reason == Reason::step) stop.reason = Reason::arrived;
  return stop;
}

}  // namespace tilevm::sim::debug
