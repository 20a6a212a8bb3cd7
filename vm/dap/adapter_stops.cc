// Breakpoints of all kinds.
#include <array>
#include <utility>

#include <fmt/format.h>

#include "vm/dap/adapter.h"
#include "vm/dap/arguments.h"
#include "vm/debug/expression_text.h"
#include "vm/debug/words.h"

namespace tilevm::vm::dap {

namespace {

namespace command = sim::debug::command;
namespace reply = sim::debug::reply;

Json refused(const std::string& why) {
  Json breakpoint = Json::object();
  return breakpoint.set("verified", false).set("message", why);
}

}  // namespace

/// Asks for a breakpoint; `wanted` has its condition and hit count.
Json Adapter::place_breakpoint(command::Break request, const Object& wanted,
                               std::vector<int>& placed) {
  std::string condition = text_in(wanted, "condition").value_or("");
  if (text_in(wanted, "mode") == "focus") {
    const sim::BlockState* block = session_->focus_block();
    const std::array<std::int64_t, 3> at =
        block != nullptr ? block->block : std::array<std::int64_t, 3>{};
    const std::string here = fmt::format("$x == {} && $y == {} && $z == {}", at[0], at[1], at[2]);
    condition = condition.empty() ? here : fmt::format("({}) && {}", condition, here);
  }
  if (!condition.empty()) {
    const auto expression = parse_debug_expression(condition);
    if (!expression) return refused(expression.error().message);
    request.condition = *expression;
  }
  if (const auto hits = text_in(wanted, "hitCondition"); hits && !hits->empty()) {
    const auto count = parse_integer(*hits);
    if (!count || *count < 1) return refused(fmt::format("`{}` is no count of hits", *hits));
    request.ignore = static_cast<std::uint64_t>(*count) - 1;
  }
  const sim::debug::Reply answer = session_->execute(request);
  const auto* done = std::get_if<reply::Done>(&answer);
  if (done == nullptr) return refused(std::get<Error>(answer).message);
  placed.push_back(done->number);
  if (const auto message = text_in(wanted, "logMessage")) logs_[done->number] = *message;
  Json breakpoint = Json::object();
  breakpoint.set("id", done->number).set("verified", true);
  if (done->line > 0) breakpoint.set("line", done->line - (lines_from_one_ ? 0 : 1));
  return breakpoint;
}

Adapter::Answer Adapter::set_breakpoints(const Object& arguments) {
  for (const int number : line_stops_) {
    static_cast<void>(session_->execute(command::Delete{number}));
    logs_.erase(number);
  }
  line_stops_.clear();
  Json list = Json::array();
  if (const auto* wanted = array_in(arguments, "breakpoints")) {
    for (const auto& item : *wanted) {
      const Object* breakpoint = item.if_object();
      const auto line = breakpoint != nullptr ? integer_in(*breakpoint, "line") : std::nullopt;
      if (!line || *line < 0 || *line > 1'000'000'000) {
        list.push(refused("a breakpoint needs a line"));
        continue;
      }
      command::Break request;
      request.line = static_cast<int>(*line) + (lines_from_one_ ? 0 : 1);
      list.push(place_breakpoint(std::move(request), *breakpoint, line_stops_));
    }
  }
  Json body = Json::object();
  return body.set("breakpoints", std::move(list));
}

Adapter::Answer Adapter::set_function_breakpoints(const Object& arguments) {
  for (const int number : function_stops_) {
    static_cast<void>(session_->execute(command::Delete{number}));
  }
  function_stops_.clear();
  Json list = Json::array();
  if (const auto* wanted = array_in(arguments, "breakpoints")) {
    for (const auto& item : *wanted) {
      const Object* breakpoint = item.if_object();
      const auto name = breakpoint != nullptr ? text_in(*breakpoint, "name") : std::nullopt;
      if (!name) {
        list.push(refused("name an instruction"));
        continue;
      }
      command::Break request;
      request.mnemonic = *name;
      list.push(place_breakpoint(std::move(request), *breakpoint, function_stops_));
    }
  }
  Json body = Json::object();
  return body.set("breakpoints", std::move(list));
}

Adapter::Answer Adapter::set_data_breakpoints(const Object& arguments) {
  for (const int number : data_stops_) {
    static_cast<void>(session_->execute(command::Delete{number}));
  }
  data_stops_.clear();
  Json list = Json::array();
  if (const auto* wanted = array_in(arguments, "breakpoints")) {
    for (const auto& item : *wanted) {
      const Object* breakpoint = item.if_object();
      const auto id = breakpoint != nullptr ? text_in(*breakpoint, "dataId") : std::nullopt;
      const auto what = parse_line("watch " + id.value_or(""));
      if (!id || !what) {
        list.push(refused("a data breakpoint needs the dataId of dataBreakpointInfo"));
        continue;
      }
      const sim::debug::Reply answer =
          session_->execute(std::get<sim::debug::Command>(what->request));
      if (const auto* done = std::get_if<reply::Done>(&answer)) {
        data_stops_.push_back(done->number);
        Json made = Json::object();
        list.push(made.set("id", done->number).set("verified", true));
      } else {
        list.push(refused(std::get<Error>(answer).message));
      }
    }
  }
  Json body = Json::object();
  return body.set("breakpoints", std::move(list));
}

/// The identity of what is watched is its text: "acc[3, 5]".
Adapter::Answer Adapter::data_breakpoint_info(const Object& arguments) {
  std::string text = text_in(arguments, "name").value_or("");
  const auto reference = integer_in(arguments, "variablesReference").value_or(0);
  if (reference > 0 && reference <= static_cast<std::int64_t>(containers_.size())) {
    const Container& container = containers_[static_cast<std::size_t>(reference - 1)];
    // A child of a tensor is called as in `print`, whatever it is a child of.
    if (container.kind == Container::Kind::tensor && text.starts_with('[')) {
      text = container.tensor + text;
    }
  }
  Json body = Json::object();
  const auto what = parse_selection(text.substr(0, text.find('+')));
  const bool as_address = flag_in(arguments, "asAddress", false);
  if (const auto bytes = integer_in(arguments, "bytes"); bytes && as_address) {
    // Addresses count the bytes of a tensor: "s", "s+0x40".
    if (text.find('+') == std::string::npos) text += "+0";
    text += fmt::format(":{}", *bytes);
  }
  const auto tensor = what ? session_->names().tensor(what->tensor)
                           : Result<sim::debug::Tensor>(Error{ErrorKind::usage, "no tensor"});
  if (!tensor) {
    body.set("dataId", Json());
    return body.set("description", fmt::format("`{}` cannot be watched", text));
  }
  body.set("dataId", text).set("description", text);
  Json access = Json::array();
  access.push("write");
  return body.set("accessTypes", std::move(access)).set("canPersist", false);
}

}  // namespace tilevm::vm::dap
