#include "vm/debug/json_parts.h"

#include <utility>

#include <fmt/format.h>

#include "isa/type/number.h"
#include "vm/data/value_json.h"

namespace tilevm::vm {

namespace reply = sim::debug::reply;
using sim::debug::Element;
using sim::debug::Position;

namespace {

std::string_view kind_name(Position::Kind kind) {
  switch (kind) {
    case Position::Kind::statement:
      return "statement";
    case Position::Kind::block_end:
      return "block_end";
    case Position::Kind::waiting:
      return "waiting";
    case Position::Kind::stuck:
      return "stuck";
    case Position::Kind::run_end:
      return "run_end";
  }
  TILEVM_NO_ENUMERATOR();
}

}  // namespace

Json numbers(const std::vector<std::int64_t>& values) {
  return list(values, [](std::int64_t value) { return Json(value); });
}

Json scalar_json(const isa::Scalar& scalar) {
  if (scalar.kind == isa::ScalarKind::f32) return double{scalar.as_float()};
  if (scalar.kind == isa::ScalarKind::boolean) return scalar.as_bool();
  if (scalar.kind == isa::ScalarKind::u64) return scalar.bits;
  return scalar.as_int();
}

Json element_json(const isa::DType& dtype, const Element& element) {
  Json object = Json::object();
  object.set("code", element.code);
  object.set("value", element.undefined ? Json() : code_json(dtype, element.code));
  if (element.undefined) object.set("undefined", true);
  return object;
}

std::string_view reason_name(reply::Stopped::Reason reason) {
  using Reason = reply::Stopped::Reason;
  switch (reason) {
    case Reason::start:
      return "start";
    case Reason::step:
      return "step";
    case Reason::breakpoint:
      return "breakpoint";
    case Reason::watch:
      return "watch";
    case Reason::fault:
      return "fault";
    case Reason::run_end:
      return "run_end";
    case Reason::interrupted:
      return "interrupted";
    case Reason::begin:
      return "begin";
    case Reason::arrived:
      return "arrived";
    case Reason::block_end:
      return "block_end";
  }
  TILEVM_NO_ENUMERATOR();
}

void set_line(Json& object, const SourceFile& source, sim::debug::SourceLine line) {
  object.set("line", line.line);
  if (line.file != 0) object.set("file", source.files()[line.file].name);
}

Json position_json(const Position& position, const SourceFile& source) {
  Json object = Json::object();
  object.set("at", kind_name(position.kind)).set("moment", position.moment);
  object.set("launch", position.launch).set("kernel", position.kernel);
  object.set("block", numbers(position.block));
  set_line(object, source, position.line);
  object.set("mnemonic", position.mnemonic);
  if (position.calls.empty()) return object;
  object.set("calls", list(position.calls, [&](const Position::Call& call) {
               Json item = Json::object();
               item.set("function", call.function);
               set_line(item, source, call.line);
               return item;
             }));
  return object;
}

Json written_json(const std::vector<sim::debug::Written>& written) {
  return list(written, [](const sim::debug::Written& value) {
    Json object = Json::object();
    object.set("name", value.name);
    if (value.scalar) return std::move(object.set("value", scalar_json(*value.scalar)));
    object.set("dtype", isa::to_string(value.dtype)).set("shape", numbers(value.shape));
    object.set("hash", fmt::format("{:016x}", value.hash));
    return object;
  });
}

Json change_json(const sim::debug::WatchChange& change, const SourceFile& source) {
  Json object = Json::object();
  object.set("number", change.number).set("text", change.text).set("index", numbers(change.index));
  object.set("before", element_json(change.dtype, change.before));
  object.set("after", element_json(change.dtype, change.after));
  object.set("changed", change.changed);
  set_line(object, source, change.line);
  return object.set("block", numbers(change.block));
}

void set_readers(Json& item, const reply::MemoryElement& element) {
  if (!element.readers.empty()) {
    item.set("readers", list(element.readers, [](const reply::MemoryElement::Reader& reader) {
               Json one = Json::object();
               return std::move(one.set("thread", reader.thread).set("line", reader.line.line));
             }));
    item.set("more_readers", element.more_readers);
  }
  if (!element.next_threads.empty()) item.set("next_threads", numbers(element.next_threads));
}

Json scalars_json(const std::vector<sim::debug::ScalarVariable>& scalars) {
  Json values = Json::object();
  for (const sim::debug::ScalarVariable& scalar : scalars) {
    values.set(scalar.name, scalar_json(scalar.value));
  }
  return values;
}

Json values_json(const std::vector<reply::Computed>& values) {
  Json object = Json::object();
  for (const reply::Computed& computed : values) {
    std::visit([&](auto value) { object.set(computed.text, value); }, computed.value);
  }
  return object;
}

Json tensors_json(const std::vector<reply::TensorInfo>& tensors) {
  return list(tensors, [](const reply::TensorInfo& info) {
    Json item = Json::object();
    item.set("name", info.name).set("type", info.type);
    return std::move(item.set("written", info.written));
  });
}

}  // namespace tilevm::vm
