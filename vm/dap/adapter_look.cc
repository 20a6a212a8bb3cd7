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

Json variable(const std::string& name, const std::string& value,
              const std::optional<std::string>& type) {
  Json object = Json::object();
  object.set("name", name).set("value", value);
  if (type) object.set("type", *type);
  return object.set("variablesReference", 0);
}

}  // namespace

/// The block that a request names gets the focus, or the CUDA thread.
void Adapter::focus(const Object& arguments) {
  if (const auto id = integer_in(arguments, "threadId")) focus_thread(*id);
}

void Adapter::focus_thread(std::int64_t id) {
  if (id < 1) return;
  if (cuda_threads_) {
    static_cast<void>(session_->execute(command::FocusThread{id - 1}));
  } else {
    session_->focus_on(static_cast<std::uint64_t>(id - 1));
  }
}

/// Focuses the block of a frame.
void Adapter::focus_frame(const Object& arguments) {
  const std::int64_t id = integer_in(arguments, "frameId").value_or(0);
  if (id >= 1 && id <= static_cast<std::int64_t>(frames_.size())) {
    focus_thread(frames_[static_cast<std::size_t>(id) - 1]);
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

namespace {

/// The first elements of a tensor: " {0, 1, 2, ...}".
std::string preview(const Tensor& tensor, const sim::BlockState* block) {
  constexpr std::int64_t most = 8;
  const bool in_block = !std::holds_alternative<sim::debug::GlobalPlace>(tensor.place);
  if (in_block && block == nullptr) return "";
  const std::int64_t count = isa::element_count(tensor.shape);
  std::vector<std::string> texts;
  for (std::int64_t k = 0; k < std::min(count, most); ++k) {
    const Element element = tensor.read(block, isa::unravel(k, tensor.shape));
    texts.push_back(element_text(tensor.dtype, element, Format::value));
  }
  if (count > most) texts.emplace_back("...");
  return fmt::format(" {{{}}}", fmt::join(texts, ", "));
}

}  // namespace

/// A frame at a span; the first one is number 0.
Json Adapter::frame_json(const std::string& name, Span span, int number) {
  const SourceFile& source = session_->program().source();
  const sim::debug::SourceLine line = sim::debug::source_line(source, span.begin);
  const int first = client_.lines_from_one ? 0 : 1, column = client_.columns_from_one ? 0 : 1;
  frames_.push_back(thread_id());
  Json frame = Json::object();
  frame.set("id", frames_.size()).set("name", name).set("source", source_json(line.file));
  // A call that is inlined has its place as a span of the copy; its end is in the same file.
  const LineColumn begin = source.locate(span.begin), end = source.locate(span.end);
  frame.set("line", begin.line - first).set("column", begin.column - column);
  if (end.line >= begin.line) {
    frame.set("endLine", end.line - first).set("endColumn", end.column - column);
  }
  if (number == 0) {
    const auto address = code_address(root_line(source, session_->position()));
    if (address) frame.set("instructionPointerReference", *address);
  }
  return frame;
}

/// A frame at the line of the source that the program was generated from.
Json Adapter::origin_json(const Origin& origin) {
  frames_.push_back(thread_id());
  Json source = Json::object(), frame = Json::object();
  const std::string file(origin.file);
  source.set("name", origin_text(origin)).set("path", file);
  frame.set("id", frames_.size()).set("name", std::string(origin.text));
  frame.set("source", std::move(source))
      .set("line", origin.line - (client_.lines_from_one ? 0 : 1));
  return std::move(frame.set("column", client_.columns_from_one ? 1 : 0));
}

/// The line that the statement was generated from, the statement, and the calls of functions that
/// it is in.
Adapter::Answer Adapter::stack_trace(const Object& arguments) {
  focus(arguments);
  const sim::debug::Position position = session_->position();
  const SourceFile& source = session_->program().source();
  struct Frame {
    std::string name;
    Span span;
  };
  std::vector<Frame> all;
  Span span = position.span;
  for (const sim::debug::Position::Call& call : position.calls) {
    all.push_back({call.function, span});
    span = call.span;
  }
  all.push_back({position_text(position, source), span});
  const auto origin =
      position.line.line > 0 ? origin_at(source, position.span.begin) : std::nullopt;
  const std::int64_t above = origin ? 1 : 0;  // frames above those of the program
  const std::int64_t start =
      std::max<std::int64_t>(integer_in(arguments, "startFrame").value_or(0), 0);
  const std::int64_t levels = integer_in(arguments, "levels").value_or(0);
  Json frames = Json::array();
  const std::int64_t total = static_cast<std::int64_t>(all.size()) + above;
  for (std::int64_t k = start; k < total; ++k) {
    if (levels > 0 && k - start >= levels) break;
    if (k < above) {
      frames.push(origin_json(*origin));
      continue;
    }
    const std::int64_t i = k - above;
    const Frame& frame = all[static_cast<std::size_t>(i)];
    if (position.line.line > 0) {
      frames.push(frame_json(frame.name, frame.span, static_cast<int>(i)));
      continue;
    }
    frames_.push_back(thread_id());  // at the end of a block or of the run: no line
    Json nowhere = Json::object();
    nowhere.set("id", frames_.size()).set("name", frame.name);
    frames.push(std::move(nowhere.set("line", 0).set("column", 0)));
  }
  Json body = Json::object();
  return body.set("stackFrames", std::move(frames)).set("totalFrames", total);
}

std::int64_t Adapter::reference(Container container) {
  containers_.push_back(std::move(container));
  return static_cast<std::int64_t>(containers_.size());
}

Adapter::Answer Adapter::scopes(const Object& arguments) {
  focus_frame(arguments);
  Json list = Json::array();
  const auto add = [&](const char* name, Container::Kind kind, const char* hint) {
    Json scope = Json::object();
    scope.set("name", name).set("variablesReference", reference({kind, {}, {}}));
    if (hint != nullptr) scope.set("presentationHint", hint);
    list.push(scope.set("expensive", kind == Container::Kind::global));
  };
  add("Scalars", Container::Kind::scalars, "locals");
  add("Registers", Container::Kind::registers, "registers");
  add("Shared memory", Container::Kind::shared, nullptr);
  add("Global memory", Container::Kind::global, nullptr);
  Json body = Json::object();
  return body.set("scopes", std::move(list));
}

Json Adapter::tensor_json(const Tensor& tensor) {
  const std::string type =
      fmt::format("{}[{}]", isa::to_string(tensor.dtype), fmt::join(tensor.shape, ", "));
  Json object = Json::object();
  object.set("name", tensor.name).set("value", type + preview(tensor, session_->focus_block()));
  if (client_.types) object.set("type", type);
  object.set("evaluateName", tensor.name);
  const bool in_registers = std::holds_alternative<sim::debug::RegisterPlace>(tensor.place);
  if (!in_registers && client_.memory_references) object.set("memoryReference", tensor.name);
  if (tensor.shape.empty()) return std::move(object.set("variablesReference", 0));
  if (client_.paging) object.set("indexedVariables", tensor.shape.front());
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
      if (client_.paging) child.set("indexedVariables", rest.front());
      child.set("variablesReference",
                reference({Container::Kind::tensor, container.tensor, std::move(index)}));
      list.push(std::move(child));
      continue;
    }
    const Element element = tensor->read(block, index);
    Json child = variable(
        name, element_text(tensor->dtype, element, hex ? Format::hex : Format::value),
        client_.types ? std::optional(std::string(isa::to_string(tensor->dtype))) : std::nullopt);
    child.set("evaluateName", container.tensor + name);
    list.push(std::move(child));
  }
  if (end > start + most_children && !client_.paging) {  // who pages asks for the next ones
    list.push(variable(
        "..",
        fmt::format("{} more; ask for a part of them, as {}[{}:{}]", end - start - most_children,
                    container.tensor, start + most_children, start + 2 * most_children),
        std::nullopt));
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
          Json child =
              variable(scalar.name,
                       wants_hex(arguments) ? fmt::format("{:#x}", scalar.value.bits)
                                            : isa::to_string(scalar.value),
                       client_.types ? std::optional(std::string(isa::to_string(scalar.value.kind)))
                                     : std::nullopt);
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

}  // namespace tilevm::vm::dap
