// Values that a client asks for, or changes; the console.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "vm/dap/adapter.h"
#include "vm/dap/arguments.h"
#include "vm/debug/debugger.h"
#include "vm/debug/expression_text.h"
#include "vm/debug/render.h"
#include "vm/debug/render_tile.h"
#include "vm/debug/words.h"

namespace tilevm::vm::dap {

namespace {

namespace command = sim::debug::command;
namespace reply = sim::debug::reply;

}  // namespace

Adapter::Answer Adapter::set_variable(const Object& arguments) {
  std::string name = text_in(arguments, "name").value_or("");
  const auto number = integer_in(arguments, "variablesReference").value_or(0);
  if (number >= 1 && number <= static_cast<std::int64_t>(containers_.size())) {
    const Container& container = containers_[static_cast<std::size_t>(number - 1)];
    if (container.kind == Container::Kind::tensor) name = container.tensor + name;
  }
  return change(name, text_in(arguments, "value").value_or(""));
}

Adapter::Answer Adapter::set_expression(const Object& arguments) {
  focus_frame(arguments);
  return change(text_in(arguments, "expression").value_or(""),
                text_in(arguments, "value").value_or(""));
}

/// Changes an element, a part of a tensor, or a scalar.
Adapter::Answer Adapter::change(const std::string& name, const std::string& text) {
  const auto what = parse_selection(name);
  if (!what) return Error{ErrorKind::usage, fmt::format("`{}` cannot be changed", name)};
  const auto value = parse_debug_expression(text);
  if (!value) return value.error();
  const sim::debug::Reply answer = session_->execute(command::Set{*what, *value});
  if (const auto* error = std::get_if<Error>(&answer)) return *error;
  Json body = Json::object();
  if (const auto* tile = std::get_if<reply::Tile>(&answer); tile && !tile->elements.empty()) {
    body.set("value", element_text(tile->dtype, tile->elements.front(), Format::value));
  } else if (const auto* scalars = std::get_if<reply::Scalars>(&answer)) {
    body.set("value", isa::to_string(scalars->scalars.front().value));
  } else {
    body.set("value", text);
  }
  tell_change();
  return body;
}

/// Views of variables are out of date.
void Adapter::tell_change() {
  if (!client_.invalidated_events) return;
  Json areas = Json::array(), changed = Json::object();
  areas.push("variables");
  event("invalidated", std::move(changed.set("areas", std::move(areas))));
}

Adapter::Answer Adapter::evaluate(const Object& arguments) {
  focus_frame(arguments);
  const std::string text = text_in(arguments, "expression").value_or("");
  if (text_in(arguments, "context").value_or("repl") == "repl") return say_line(text);
  sim::debug::Reply answer;
  const Format format = wants_hex(arguments) ? Format::hex : Format::value;
  if (const auto what = parse_selection(text)) {
    answer = session_->execute(command::Print{*what});
  } else {
    const auto expression = parse_debug_expression(text);
    if (!expression) return expression.error();
    answer = session_->execute(command::Compute{*expression});
  }
  if (const auto* error = std::get_if<Error>(&answer)) return *error;
  std::string shown = render_reply(answer, session_->program(), {format, false});
  if (const auto* tile = std::get_if<reply::Tile>(&answer);
      tile != nullptr && tile->elements.size() == 1) {
    shown = element_text(tile->dtype, tile->elements.front(), format);
  }
  if (const auto* scalars = std::get_if<reply::Scalars>(&answer);
      scalars != nullptr && scalars->scalars.size() == 1) {
    const isa::Scalar& value = scalars->scalars.front().value;
    shown = format == Format::hex ? fmt::format("{:#x}", value.bits) : isa::to_string(value);
  }
  if (const auto* value = std::get_if<reply::Computed>(&answer)) {
    const auto* integer = std::get_if<std::int64_t>(&value->value);
    shown = integer != nullptr && format == Format::hex ? fmt::format("{:#x}", *integer)
                                                        : sim::debug::to_string(value->value);
  }
  while (shown.ends_with('\n')) shown.pop_back();
  if (const auto past = session_->take_past()) {
    shown += fmt::format("  (as it was in {})", position_text(*past, session_->program().source()));
  }
  Json body = Json::object();
  return body.set("result", shown).set("variablesReference", 0);
}

/// A line of the console: the words of `tilevm debug`.
Adapter::Answer Adapter::say_line(const std::string& text) {
  said_.str({});
  const bool goes_on = console_->line(text);
  std::string shown = said_.str();
  const std::optional<Error> error = console_->take_error();
  if (const auto stop = console_->take_stop()) {
    tell_stop(*stop);
  } else if (trim(text).starts_with("set")) {
    tell_change();
  }
  if (!goes_on) event("terminated", Json::object());
  if (error) return *error;
  while (shown.ends_with('\n')) shown.pop_back();
  Json body = Json::object();
  return body.set("result", shown).set("variablesReference", 0);
}

Adapter::Answer Adapter::completions(const Object& arguments) {
  std::string text = text_in(arguments, "text").value_or("");
  const std::int64_t column =
      std::max<std::int64_t>(integer_in(arguments, "column").value_or(0), 0) -
      (client_.columns_from_one ? 1 : 0);
  if (column >= 0 && column < static_cast<std::int64_t>(text.size())) {
    text.resize(static_cast<std::size_t>(column));
  }
  Json targets = Json::array();
  for (const std::string& word : complete_line(*session_, text)) {
    Json target = Json::object();
    targets.push(target.set("label", word));
  }
  Json body = Json::object();
  return body.set("targets", std::move(targets));
}

}  // namespace tilevm::vm::dap
