// Running, stepping, going back; the reports of stops.
#include <utility>

#include <fmt/format.h>

#include "vm/dap/adapter.h"
#include "vm/dap/arguments.h"
#include "vm/debug/expression_text.h"
#include "vm/debug/render.h"

namespace tilevm::vm::dap {

namespace {

namespace command = sim::debug::command;
namespace reply = sim::debug::reply;
using Reason = reply::Stopped::Reason;

std::string_view reason_of(const reply::Stopped& stop) {
  switch (stop.reason) {
    case Reason::start:
    case Reason::begin:
      return "entry";
    case Reason::breakpoint:
      return "breakpoint";
    case Reason::watch:
      return "data breakpoint";
    case Reason::fault:
      return "exception";
    case Reason::interrupted:
      return "pause";
    case Reason::arrived:
      return "goto";
    case Reason::step:
    case Reason::block_end:
    case Reason::run_end:
      return "step";
  }
  TILEVM_NO_ENUMERATOR();
}

}  // namespace

/// The response comes before the run.
Adapter::Answer Adapter::move(sim::debug::Command command, Json body) {
  pending_ = std::move(command);
  return body;
}

Adapter::Answer Adapter::move_continue(const Object& arguments) {
  focus(arguments);
  Json body = Json::object();
  return move(command::Continue{}, body.set("allThreadsContinued", true));
}
Adapter::Answer Adapter::move_next(const Object& arguments) {
  focus(arguments);
  return move(command::Step{1, true, false}, Json::object());
}
Adapter::Answer Adapter::move_in(const Object& arguments) {
  focus(arguments);
  return move(command::Step{}, Json::object());
}
Adapter::Answer Adapter::move_out(const Object& arguments) {
  focus(arguments);
  return move(command::Finish{}, Json::object());
}
Adapter::Answer Adapter::move_back(const Object& arguments) {
  focus(arguments);
  return move(command::Step{1, false, true}, Json::object());
}
Adapter::Answer Adapter::move_reverse(const Object& arguments) {
  focus(arguments);
  return move(command::Continue{1, true}, Json::object());
}
Adapter::Answer Adapter::move_reverse_next(const Object& arguments) {
  focus(arguments);
  return move(command::Step{1, true, true}, Json::object());
}
Adapter::Answer Adapter::move_reverse_out(const Object& arguments) {
  focus(arguments);
  return move(command::Finish{true}, Json::object());
}

/// A run in progress was interrupted when the request arrived; there is nothing more to stop.
Adapter::Answer Adapter::pause(const Object&) { return Json::object(); }

Adapter::Answer Adapter::goto_targets(const Object& arguments) {
  const auto line = integer_in(arguments, "line");
  if (!line || *line < 0 || *line > 1'000'000'000) {
    return Error{ErrorKind::usage, "gotoTargets needs a line"};
  }
  const auto file = file_of(arguments);
  if (!file) return Error{ErrorKind::usage, "this is not a file of the program"};
  const sim::debug::SourceLine wanted{static_cast<int>(*line) + (client_.lines_from_one ? 0 : 1),
                                      *file};
  // The last time that a statement of the line was about to run, of any block.
  sim::debug::Timeline& timeline = session_->timeline();
  const sim::debug::Moment origin = timeline.now();
  const auto found =
      timeline.search_back([&](bool, bool last) -> std::optional<sim::debug::Moment> {
        sim::debug::Machine& machine = timeline.machine();
        if (last || !machine.has_current()) return std::nullopt;
        const auto& records = machine.launch().records();
        const std::size_t next = machine.next_record();
        if (next >= records.size() || !records.begins(next, wanted)) return std::nullopt;
        return timeline.now();
      });
  timeline.go_back_to(origin);
  Json targets = Json::array();
  if (found) {
    targets_.push_back(*found);
    Json target = Json::object();
    target.set("id", targets_.size());
    target.set("label", fmt::format("the last time at line {}, moment {}", wanted.line, *found));
    targets.push(target.set("line", *line));
  }
  Json body = Json::object();
  return body.set("targets", std::move(targets));
}

Adapter::Answer Adapter::move_goto(const Object& arguments) {
  const auto target = integer_in(arguments, "targetId");
  if (!target || *target < 1 || *target > static_cast<std::int64_t>(targets_.size())) {
    return Error{ErrorKind::usage, "goto needs the targetId of gotoTargets"};
  }
  return move(command::GoTo{targets_[static_cast<std::size_t>(*target - 1)]}, Json::object());
}

/// Runs what the last request asked for, after its response.
void Adapter::run_pending() {
  if (!pending_) return;
  const sim::debug::Command command = *std::exchange(pending_, std::nullopt);
  while (true) {
    const sim::debug::Reply answer = session_->execute(command);
    const auto* stop = std::get_if<reply::Stopped>(&answer);
    if (stop == nullptr) {
      if (const auto* error = std::get_if<Error>(&answer)) output(error->message + '\n', "stderr");
      reply::Stopped here;
      here.reason = Reason::step;
      here.position = session_->position();
      return tell_stop(here);
    }
    if (log_and_go_on(*stop)) continue;
    reply::Stopped told = *stop;
    if (std::holds_alternative<command::Where>(command)) told.reason = Reason::start;
    return tell_stop(told);
  }
}

/// A logpoint: its message, with `{EXPR}` replaced by values.
bool Adapter::log_and_go_on(const reply::Stopped& stop) {
  if (stop.reason != Reason::breakpoint) return false;
  const auto found = logs_.find(stop.breakpoint);
  if (found == logs_.end()) return false;
  std::string text;
  std::string_view rest = found->second;
  while (!rest.empty()) {
    const std::size_t open = rest.find('{');
    text += rest.substr(0, open);
    if (open == std::string_view::npos) break;
    const std::size_t close = rest.find('}', open);
    if (close == std::string_view::npos) {
      text += rest.substr(open);
      break;
    }
    const auto expression = parse_debug_expression(rest.substr(open + 1, close - open - 1));
    if (!expression) {
      text += expression.error().message;
    } else {
      const sim::debug::Reply value = session_->execute(command::Compute{*expression});
      const auto* computed = std::get_if<reply::Computed>(&value);
      text += computed != nullptr ? sim::debug::to_string(computed->value)
                                  : std::get<Error>(value).message;
    }
    rest.remove_prefix(close + 1);
  }
  output(text + '\n', "console");
  return true;
}

void Adapter::tell_stop(const reply::Stopped& stop) {
  containers_.clear();
  frames_.clear();
  fault_ = stop.fault;
  if (stop.reason == Reason::run_end) {
    output(position_text(stop.position, session_->program().source()) +
               "; the past can still be gone back to\n",
           "console");
  }
  Json body = Json::object();
  body.set("reason", stop.reason == Reason::run_end ? "pause" : reason_of(stop));
  body.set("description", position_text(stop.position, session_->program().source()));
  body.set("threadId", thread_id()).set("allThreadsStopped", true);
  if (stop.breakpoint > 0 || stop.change) {
    Json ids = Json::array();
    ids.push(stop.change ? stop.change->number : stop.breakpoint);
    body.set("hitBreakpointIds", std::move(ids));
  }
  if (stop.fault) body.set("text", stop.fault->diagnostic.message);
  event("stopped", std::move(body));
}

}  // namespace tilevm::vm::dap
