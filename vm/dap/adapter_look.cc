// Blocks, frames, scopes, variables, values.
#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

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
using sim::debug::Element;
using sim::debug::Tensor;

/// Children of one list that are shown when the client asks for all.
constexpr std::int64_t most_children = 1000;

std::string block_name(const std::vector<std::int64_t>& block) {
  return fmt::format("block [{}]", fmt::join(block, ", "));
}

bool wants_hex(const object& arguments) {
  const object* format = object_in(arguments, "format");
  return format != nullptr && flag_in(*format, "hex", false);
}

Json variable(const std::string& name, const std::string& value, const std::string& type) {
  Json object = Json::object();
  object.set("name", name).set("value", value).set("type", type);
  return object.set("variablesReference", 0);
}

}  // namespace

/// The block that a request names gets the focus, or the CUDA thread.
void Adapter::focus(const Object& arguments) {
  const auto id = integer_in(arguments, "threadId");
  if (!id || *id < 1) return;
  if (cuda_threads_) {
    static_cast<void>(session_->execute(command::FocusThread{*id - 1}));
  } else {
    session_->focus_on(static_cast<std::uint64_t>(*id - 1));
  }
}

std::int64_t Adapter::thread_id() {
  if (cuda_threads_) return session_->thread().value_or(0) + 1;
  return static_cast<std::int64_t>(session_->focus_rank()) + 1;
}

Adapter::Answer Adapter::threads(const Object&) {
  Json list = Json::array();
  const auto add = [&](std::int64_t id, const std::string& name) {
    Json thread = Json::object();
    list.push(thread.set("id", id).set("name", name));
  };
  sim::debug::Machine& machine = session_->timeline().machine();
  if (machine.finished()) {
    add(thread_id(), "the end of the run");
  } else if (cuda_threads_) {
    for (std::int64_t t = 0; t < machine.launch().plan().threads; ++t) {
      add(t + 1, fmt::format("thread {}", t));
    }
  } else {
    const auto& residents = machine.state().residents;
    for (const auto& resident : residents) {
      add(static_cast<std::int64_t>(resident->rank) + 1,
          block_name(machine.launch().launch().block_index(resident->rank)));
    }
    if (residents.empty()) add(1, machine.launch().kernel().name);
  }
  Json body = Json::object();
  return body.set("threads", std::move(list));
}

Json Adapter::source_json() {
  const std::string& path = session_->program().source().name();
  Json source = Json::object();
  const std::size_t slash = path.find_last_of('/');
  source.set("name", slash == std::string::npos ? path : path.substr(slash + 1));
  return source.set("path", path);
}

Adapter::Answer Adapter::stack_trace(const Object& arguments) {
  focus(arguments);
  const sim::debug::Position position = session_->position();
  Json frames = Json::array();
  if (integer_in(arguments, "startFrame").value_or(0) == 0) {
    const SourceFile& source = session_->program().source();
    const LineColumn begin = source.locate(position.span.begin);
    const LineColumn end = source.locate(position.span.end);
    const int first = lines_from_one_ ? 0 : 1, column = columns_from_one_ ? 0 : 1;
    Json frame = Json::object();
    frame.set("id", thread_id()).set("name", position_text(position));
    frame.set("source", source_json());
    frame.set("line", std::max(position.line - first, 0));
    frame.set("column", position.line > 0 ? begin.column - column : 0);
    if (position.line > 0) {
      frame.set("endLine", end.line - first).set("endColumn", end.column - column);
    }
    frame.set("instructionPointerReference", std::to_string(position.line));
    frames.push(std::move(frame));
  }
  Json body = Json::object();
  return body.set("stackFrames", std::move(frames)).set("totalFrames", 1);
}

std::int64_t Adapter::reference(Container container) {
  containers_.push_back(std::move(container));
  return static_cast<std::int64_t>(containers_.size());
}

Adapter::Answer Adapter::scopes(const Object&) {
  Json list = Json::array();
  const auto add = [&](const char* name, Container::Kind kind, bool expensive) {
    Json scope = Json::object();
    scope.set("name", name).set("variablesReference", reference({kind, {}, {}}));
    list.push(scope.set("expensive", expensive));
  };
  add("Scalars", Container::Kind::scalars, false);
  add("Registers", Container::Kind::registers, false);
  add("Shared memory", Container::Kind::shared, false);
  add("Global memory", Container::Kind::global, true);
  Json body = Json::object();
  return body.set("scopes", std::move(list));
}

Json Adapter::tensor_json(const Tensor& tensor) {
  const std::string type =
      fmt::format("{}[{}]", isa::to_string(tensor.dtype), fmt::join(tensor.shape, ", "));
  Json object = Json::object();
  object.set("name", tensor.name).set("value", type).set("type", type);
  object.set("evaluateName", tensor.name);
  if (!std::holds_alternative<sim::debug::RegisterPlace>(tensor.place)) {
    object.set("memoryReference", tensor.name);
  }
  if (tensor.shape.empty()) return std::move(object.set("variablesReference", 0));
  object.set("indexedVariables", tensor.shape.front());
  return std::move(
      object.set("variablesReference", reference({Container::Kind::tensor, tensor.name, {}})));
}

/// The tensors of a scope.
Json Adapter::list_tensors(Container::Kind kind) {
  Json list = Json::array();
  const sim::debug::Names names = session_->names();
  const sim::debug::Reply reply = session_->execute(command::Info{command::Topic::tensors});
  const auto* tensors = std::get_if<reply::Tensors>(&reply);
  if (tensors == nullptr) return list;
  std::vector<std::string> seen;
  for (const reply::TensorInfo& info : tensors->tensors) {
    if (std::find(seen.begin(), seen.end(), info.name) != seen.end()) continue;
    seen.push_back(info.name);
    const auto tensor = names.tensor(info.name);
    if (!tensor) continue;
    const std::size_t place = tensor->place.index();
    const bool here = (kind == Container::Kind::registers && place == 0) ||
                      (kind == Container::Kind::shared && place == 1) ||
                      (kind == Container::Kind::global && place == 2);
    if (here) list.push(tensor_json(*tensor));
  }
  return list;
}

Result<Json> Adapter::list_elements(const Container& container, std::int64_t start,
                                    std::int64_t count, bool hex) {
  const auto tensor = session_->names().tensor(container.tensor);
  if (!tensor) return tensor.error();
  Json list = Json::array();
  const std::size_t dim = container.prefix.size();
  if (dim >= tensor->shape.size()) return list;
  const std::int64_t extent = tensor->shape[dim];
  start = std::min(start, extent);
  const std::int64_t end = count > 0 ? start + std::min(count, extent - start) : extent;
  const sim::BlockState* const block = session_->focus_block();
  for (std::int64_t i = start; i < std::min(end, start + most_children); ++i) {
    isa::Index index = container.prefix;
    index.push_back(i);
    const std::string name = fmt::format("[{}]", fmt::join(index, ", "));
    if (dim + 1 < tensor->shape.size()) {
      isa::Shape rest(tensor->shape.begin() + static_cast<std::ptrdiff_t>(dim) + 1,
                      tensor->shape.end());
      Json child = Json::object();
      child.set("name", name);
      child.set("value",
                fmt::format("{}[{}]", isa::to_string(tensor->dtype), fmt::join(rest, ", ")));
      child.set("indexedVariables", rest.front());
      child.set("variablesReference",
                reference({Container::Kind::tensor, container.tensor, std::move(index)}));
      list.push(std::move(child));
      continue;
    }
    const Element element = tensor->read(block, index);
    Json child =
        variable(name, element_text(tensor->dtype, element, hex ? Format::hex : Format::value),
                 isa::to_string(tensor->dtype));
    child.set("evaluateName", container.tensor + name);
    list.push(std::move(child));
  }
  return list;
}

Adapter::Answer Adapter::variables(const Object& arguments) {
  const auto number = integer_in(arguments, "variablesReference").value_or(0);
  if (number < 1 || number > static_cast<std::int64_t>(containers_.size())) {
    return Error{ErrorKind::usage, "these variables are of an earlier stop"};
  }
  const Container container = containers_[static_cast<std::size_t>(number - 1)];
  Json list = Json::array();
  switch (container.kind) {
    case Container::Kind::scalars: {
      const sim::debug::Reply reply = session_->execute(command::Info{command::Topic::scalars});
      if (const auto* scalars = std::get_if<reply::Scalars>(&reply)) {
        for (const auto& scalar : scalars->scalars) {
          Json child = variable(scalar.name,
                                wants_hex(arguments) ? fmt::format("{:#x}", scalar.value.bits)
                                                     : isa::to_string(scalar.value),
                                std::string(isa::to_string(scalar.value.kind)));
          list.push(child.set("evaluateName", scalar.name));
        }
      }
      break;
    }
    case Container::Kind::registers:
    case Container::Kind::shared:
    case Container::Kind::global:
      list = list_tensors(container.kind);
      break;
    case Container::Kind::tensor: {
      const std::int64_t start =
          std::max<std::int64_t>(integer_in(arguments, "start").value_or(0), 0);
      const auto elements = list_elements(
          container, start, integer_in(arguments, "count").value_or(0), wants_hex(arguments));
      if (!elements) return elements.error();
      list = *elements;
      break;
    }
  }
  Json body = Json::object();
  return body.set("variables", std::move(list));
}

Adapter::Answer Adapter::set_variable(const Object& arguments) {
  std::string name = text_in(arguments, "name").value_or("");
  const auto number = integer_in(arguments, "variablesReference").value_or(0);
  if (number >= 1 && number <= static_cast<std::int64_t>(containers_.size())) {
    const Container& container = containers_[static_cast<std::size_t>(number - 1)];
    if (container.kind == Container::Kind::tensor) name = container.tensor + name;
  }
  const auto what = parse_selection(name);
  if (!what) return Error{ErrorKind::usage, fmt::format("`{}` cannot be changed", name)};
  const auto value = parse_debug_expression(text_in(arguments, "value").value_or(""));
  if (!value) return value.error();
  const sim::debug::Reply answer = session_->execute(command::Set{*what, *value});
  if (const auto* error = std::get_if<Error>(&answer)) return *error;
  Json body = Json::object();
  if (const auto* tile = std::get_if<reply::Tile>(&answer); tile && !tile->elements.empty()) {
    body.set("value", element_text(tile->dtype, tile->elements.front(), Format::value));
  } else if (const auto* scalars = std::get_if<reply::Scalars>(&answer)) {
    body.set("value", isa::to_string(scalars->scalars.front().value));
  }
  Json areas = Json::array();
  areas.push("variables");
  Json changed = Json::object();
  event("invalidated", std::move(changed.set("areas", std::move(areas))));
  return body;
}

Adapter::Answer Adapter::evaluate(const Object& arguments) {
  const std::string text = text_in(arguments, "expression").value_or("");
  const std::string context = text_in(arguments, "context").value_or("repl");
  sim::debug::Reply answer;
  Format format = wants_hex(arguments) ? Format::hex : Format::value;
  if (context == "repl") {
    const auto input = parse_line(text);
    if (!input) return input.error();
    const auto* request = std::get_if<sim::debug::Command>(&input->request);
    if (request == nullptr) return Error{ErrorKind::usage, "this word has no meaning here"};
    format = input->format;
    answer = session_->execute(*request);
    if (const auto* stop = std::get_if<reply::Stopped>(&answer)) tell_stop(*stop);
  } else if (const auto what = parse_selection(text)) {
    answer = session_->execute(command::Print{*what});
  } else {
    const auto expression = parse_debug_expression(text);
    if (!expression) return expression.error();
    answer = session_->execute(command::Compute{*expression});
  }
  if (const auto* error = std::get_if<Error>(&answer)) return *error;
  std::string shown =
      render_reply(answer, session_->program(), {format, styles_ && context == "repl"});
  if (context != "repl") {
    if (const auto* tile = std::get_if<reply::Tile>(&answer);
        tile != nullptr && tile->elements.size() == 1) {
      shown = element_text(tile->dtype, tile->elements.front(), format);
    }
    if (const auto* value = std::get_if<reply::Computed>(&answer)) {
      shown = sim::debug::to_string(value->value);
    }
  }
  while (shown.ends_with('\n')) shown.pop_back();
  Json body = Json::object();
  return body.set("result", shown).set("variablesReference", 0);
}

Adapter::Answer Adapter::completions(const Object& arguments) {
  std::string text = text_in(arguments, "text").value_or("");
  const std::int64_t column =
      std::max<std::int64_t>(integer_in(arguments, "column").value_or(0), 0) -
      (columns_from_one_ ? 1 : 0);
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
