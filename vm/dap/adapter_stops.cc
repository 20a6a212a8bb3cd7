// Breakpoints of all kinds.
#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "isa/base/origin.h"
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

/// The hits before the first that stops: "3" and ">= 3" stop from the third on, "> 3" after it.
Result<std::uint64_t> hits_to_ignore(std::string_view text) {
  const std::string_view all = text;
  std::int64_t more = -1;
  if (text.starts_with(">=")) {
    text.remove_prefix(2);
  } else if (text.starts_with('>')) {
    text.remove_prefix(1);
    more = 0;
  }
  const auto count = parse_integer(trim(text));
  if (!count || *count + more < 0) {
    return Error{ErrorKind::usage,
                 fmt::format("`{}` is not a count of hits; write 3, >= 3 or > 3", all)};
  }
  return static_cast<std::uint64_t>(*count + more);
}

}  // namespace

void Adapter::remove(std::vector<int>& placed) {
  for (const int number : placed) {
    static_cast<void>(session_->execute(command::Delete{number}));
    logs_.erase(number);
  }
  placed.clear();
}

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
    const auto ignored = hits_to_ignore(*hits);
    if (!ignored) return refused(ignored.error().message);
    request.ignore = *ignored;
  }
  const sim::debug::Reply answer = session_->execute(request);
  const auto* done = std::get_if<reply::Done>(&answer);
  if (done == nullptr) return refused(std::get<Error>(answer).message);
  placed.push_back(done->number);
  if (const auto message = text_in(wanted, "logMessage")) logs_[done->number] = *message;
  Json breakpoint = Json::object();
  breakpoint.set("id", done->number).set("verified", true);
  if (done->line.line > 0) {
    breakpoint.set("source", source_json(done->line.file));
    breakpoint.set("line", done->line.line - (client_.lines_from_one ? 0 : 1));
  }
  return breakpoint;
}

/// Sets the breakpoints of one file; others keep theirs.
Adapter::Answer Adapter::set_breakpoints(const Object& arguments) {
  const auto file = file_of(arguments);
  // A file that the program was generated from is named by its path.
  const Object* source = object_in(arguments, "source");
  const std::string named = source != nullptr ? text_in(*source, "path").value_or("") : "";
  remove(file ? line_stops_[*file] : origin_stops_[named]);
  Json list = Json::array();
  if (const auto* wanted = array_in(arguments, "breakpoints")) {
    for (const auto& item : *wanted) {
      const Object* breakpoint = item.if_object();
      const auto line = breakpoint != nullptr ? integer_in(*breakpoint, "line") : std::nullopt;
      if (!line || *line < 0 || *line > 1'000'000'000) {
        list.push(refused("a breakpoint needs a line"));
        continue;
      }
      const int wanted_line = static_cast<int>(*line) + (client_.lines_from_one ? 0 : 1);
      if (!file && !first_from(session_->program().source(), named, wanted_line)) {
        list.push(refused("this is not a file of the program"));
        continue;
      }
      command::Break request;
      const auto& files = session_->program().source().files();
      request.line = {!file ? named : file == 0 ? std::string() : files[*file].name, wanted_line};
      list.push(place_breakpoint(std::move(request), *breakpoint,
                                 file ? line_stops_[*file] : origin_stops_[named]));
    }
  }
  Json body = Json::object();
  return body.set("breakpoints", std::move(list));
}

Adapter::Answer Adapter::set_function_breakpoints(const Object& arguments) {
  remove(function_stops_);
  Json list = Json::array();
  if (const auto* wanted = array_in(arguments, "breakpoints")) {
    for (const auto& item : *wanted) {
      const Object* breakpoint = item.if_object();
      const auto name = breakpoint != nullptr ? text_in(*breakpoint, "name") : std::nullopt;
      if (!name) {
        list.push(refused("name a kernel, a function or an instruction"));
        continue;
      }
      command::Break request;
      request.name = *name;
      list.push(place_breakpoint(std::move(request), *breakpoint, function_stops_));
    }
  }
  Json body = Json::object();
  return body.set("breakpoints", std::move(list));
}

Json Adapter::place_data_breakpoint(const Object& wanted) {
  const auto id = text_in(wanted, "dataId");
  const auto what = parse_line("watch " + id.value_or(""));
  if (!id || !what) return refused("a data breakpoint needs the dataId of dataBreakpointInfo");
  if (const auto kind = text_in(wanted, "accessType"); kind && *kind != "write") {
    return refused("only writes can be watched");
  }
  auto watch = std::get<command::Watch>(std::get<sim::debug::Command>(what->request));
  if (const auto condition = text_in(wanted, "condition"); condition && !condition->empty()) {
    const auto expression = parse_debug_expression(*condition);
    if (!expression) return refused(expression.error().message);
    watch.condition = *expression;
  }
  if (const auto hits = text_in(wanted, "hitCondition"); hits && !hits->empty()) {
    const auto ignored = hits_to_ignore(*hits);
    if (!ignored) return refused(ignored.error().message);
    watch.ignore = *ignored;
  }
  const sim::debug::Reply answer = session_->execute(std::move(watch));
  const auto* done = std::get_if<reply::Done>(&answer);
  if (done == nullptr) return refused(std::get<Error>(answer).message);
  data_stops_.push_back(done->number);
  Json made = Json::object();
  return made.set("id", done->number).set("verified", true);
}

Adapter::Answer Adapter::set_data_breakpoints(const Object& arguments) {
  remove(data_stops_);
  Json list = Json::array();
  if (const auto* wanted = array_in(arguments, "breakpoints")) {
    for (const auto& item : *wanted) {
      const Object* breakpoint = item.if_object();
      list.push(breakpoint != nullptr ? place_data_breakpoint(*breakpoint)
                                      : refused("a breakpoint is an object"));
    }
  }
  Json body = Json::object();
  return body.set("breakpoints", std::move(list));
}

/// What a request wants to watch, as `watch` takes it: "acc[3, 5]", "s+0x40:16".
Result<std::string> Adapter::watched_text(const Object& arguments) {
  std::string text = text_in(arguments, "name").value_or("");
  const auto reference = integer_in(arguments, "variablesReference").value_or(0);
  if (reference > 0 && reference <= static_cast<std::int64_t>(containers_.size())) {
    const Container& container = containers_[static_cast<std::size_t>(reference - 1)];
    // A child of a tensor is called as in `print`, whatever it is a child of.
    if (container.kind == Container::Kind::tensor && text.starts_with('[')) {
      text = container.tensor + text;
    }
  }
  const auto what = parse_selection(text.substr(0, text.find('+')));
  if (!what) return Error{ErrorKind::usage, fmt::format("`{}` cannot be watched", text)};
  const auto named = session_->names().find(what->tensor);
  if (!named) return named.error();
  const auto* tensor = std::get_if<sim::debug::Tensor>(&*named);
  const auto bytes = integer_in(arguments, "bytes");
  const bool has_address = text.find('+') != std::string::npos;
  if (!bytes && !flag_in(arguments, "asAddress", false)) return text;
  if (tensor == nullptr || std::holds_alternative<sim::debug::RegisterPlace>(tensor->place)) {
    return Error{ErrorKind::usage,
                 fmt::format("`{}` is in registers, which have no address", what->tensor)};
  }
  // Addresses count the bytes of a tensor: "s", "s+0x40". A variable has that of its first element.
  std::string address = text;
  if (!has_address) {
    isa::Index index(tensor->shape.size(), 0);
    for (std::size_t d = 0; d < std::min(index.size(), what->ranges.size()); ++d) {
      index[d] = what->ranges[d].begin.value_or(0);
    }
    const auto* shared = std::get_if<sim::debug::SharedPlace>(&tensor->place);
    const std::uint64_t first = shared != nullptr ? shared->first_bit : 0;
    const auto bit = tensor->bit_of(index);
    if (!bit) return Error{ErrorKind::usage, fmt::format("`{}` is outside of its memory", text)};
    address = fmt::format("{}+{:#x}", tensor->name, (*bit - first) / 8);
  }
  return fmt::format("{}:{}", address, std::max<std::int64_t>(bytes.value_or(1), 1));
}

Adapter::Answer Adapter::data_breakpoint_info(const Object& arguments) {
  focus_frame(arguments);
  const Result<std::string> text = watched_text(arguments);
  Json body = Json::object();
  if (!text) {
    body.set("dataId", Json());
    return body.set("description", text.error().message);
  }
  body.set("dataId", *text).set("description", *text);
  Json access = Json::array();
  access.push("write");
  return body.set("accessTypes", std::move(access)).set("canPersist", false);
}

/// The lines of a range at which a breakpoint can be.
Adapter::Answer Adapter::breakpoint_locations(const Object& arguments) {
  constexpr int most_lines = 10'000;
  const auto line = integer_in(arguments, "line");
  const auto file = file_of(arguments);
  const std::int64_t last = integer_in(arguments, "endLine").value_or(line.value_or(0));
  if (!line || *line < 0 || last > 1'000'000'000 || !file) {
    return Error{ErrorKind::usage, "breakpointLocations needs a file of the program and a line"};
  }
  const int shift = client_.lines_from_one ? 0 : 1;
  Json list = Json::array();
  sim::debug::SourceLine at{static_cast<int>(*line) + shift, *file};
  for (int count = 0; at.line <= last + shift && count < most_lines; ++count, ++at.line) {
    const auto next = session_->line_from(at);
    if (!next || next->line > last + shift) break;
    at = *next;
    Json place = Json::object();
    list.push(std::move(place.set("line", at.line - shift)));
  }
  Json body = Json::object();
  return body.set("breakpoints", std::move(list));
}

}  // namespace tilevm::vm::dap
