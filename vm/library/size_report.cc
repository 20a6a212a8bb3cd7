#include "vm/library/size_report.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "isa/verify/pipeline_instance.h"
#include "vm/library/callable.h"
#include "vm/run/entry.h"
#include "vm/run/entry_parts.h"
#include "vm/run/entry_sizes.h"
#include "vm/text/json.h"

namespace tilevm::vm {

namespace {

using Shapes = std::vector<std::optional<isa::Shape>>;

/// "[200, 3]".
Result<isa::Shape> parse_shape(const std::string& name, const std::string& text) {
  const auto wrong = [&] {
    return Error{ErrorKind::usage,
                 fmt::format("the shape of `{}` is `{}`; it is a list as [64, 32]", name, text)};
  };
  if (text.size() < 2 || text.front() != '[' || text.back() != ']') return wrong();
  isa::Shape shape;
  const char* next = text.data() + 1;
  const char* const end = text.data() + text.size() - 1;
  while (next != end) {
    std::int64_t extent = 0;
    const auto [after, error] = std::from_chars(next, end, extent);
    if (error != std::errc() || extent < 0) return wrong();
    shape.push_back(extent);
    next = after;
    if (next == end) break;
    if (*next++ != ',') return wrong();
    if (next != end && *next == ' ') ++next;
    if (next == end) return wrong();
  }
  return shape;
}

Json shape_json(const std::optional<isa::Shape>& shape) {
  if (!shape) return {};
  Json list = Json::array();
  for (const std::int64_t extent : *shape) list.push(extent);
  return list;
}

Json scalar_json(const std::string& name, isa::ScalarKind kind, bool can_be_told,
                 const std::optional<isa::Scalar>& told) {
  Json object = Json::object();
  object.set("name", name).set("type", isa::to_string(kind)).set("can_be_told", can_be_told);
  object.set("value", told ? Json(isa::convert(*told, isa::ScalarKind::i64).as_int()) : Json());
  return object;
}

Json tensor_json(const std::string& name, const std::optional<isa::Shape>& shape) {
  return std::move(Json::object().set("name", name).set("shape", shape_json(shape)));
}

Json object_of(const std::string& entry, Json scalars, Json tensors) {
  Json object = Json::object();
  object.set("entry", entry).set("scalars", std::move(scalars));
  return std::move(object.set("tensors", std::move(tensors)));
}

/// A kernel alone: nothing tells its scalars, and its shapes are constant or unknown.
Json kernel_sizes(const Callable& callable) {
  Json scalars = Json::array(), tensors = Json::array();
  for (const Callable::Parameter& parameter : callable.parameters) {
    if (parameter.scalar) {
      scalars.push(scalar_json(parameter.name, *parameter.scalar, false, {}));
    } else {
      tensors.push(tensor_json(parameter.name, parameter.shape));
    }
  }
  return object_of(callable.name, std::move(scalars), std::move(tensors));
}

class PipelineSizes {
 public:
  PipelineSizes(const isa::VerifiedProgram& program, int index, Texts known)
      : program_(program),
        index_(index),
        pipeline_(program.program().pipelines[static_cast<std::size_t>(index)]),
        known_(std::move(known)),
        shapes_(pipeline_.tensors.size()) {}

  Result<Json> run() {
    if (Status status = read_known(); !status) return status.error();
    Result<ToldSizes> told =
        sizes_of_shapes(pipeline_, shapes_, [&](std::size_t i) { return given_[i].has_value(); });
    if (!told) return told.error();
    if (Status status = find_shapes(*told); !status) return status.error();
    Json scalars = Json::array(), tensors = Json::array();
    for (std::size_t i = 0; i < pipeline_.scalars.size(); ++i) {
      const isa::PipelineScalar& scalar = pipeline_.scalars[i];
      scalars.push(scalar_json(scalar.name, scalar.kind, tensor_that_tells(pipeline_, i) != nullptr,
                               (*told)[i]));
    }
    for (std::size_t i = 0; i < pipeline_.tensors.size(); ++i) {
      const isa::PipelineTensor& tensor = pipeline_.tensors[i];
      if (tensor.is_parameter()) tensors.push(tensor_json(tensor.name, shapes_[i]));
    }
    return object_of(pipeline_.name, std::move(scalars), std::move(tensors));
  }

 private:
  Status read_known() {
    std::vector<std::string> names;
    for (const isa::PipelineScalar& scalar : pipeline_.scalars) {
      names.push_back(scalar.name);
      given_.emplace_back();
      if (!known_.contains(scalar.name)) continue;
      const Result<isa::Scalar> value = take_scalar(
          known_, fmt::format("pipeline `{}`", pipeline_.name), scalar.name, scalar.kind);
      if (!value) return value.error();
      given_.back() = *value;
    }
    for (std::size_t i = 0; i < pipeline_.tensors.size(); ++i) {
      const isa::PipelineTensor& tensor = pipeline_.tensors[i];
      if (!tensor.is_parameter()) continue;
      names.push_back(tensor.name);
      const auto text = known_.find(tensor.name);
      if (text == known_.end()) continue;
      Result<isa::Shape> shape = parse_shape(tensor.name, text->second);
      if (!shape) return shape.error();
      shapes_[i] = *std::move(shape);
      known_.erase(text);
    }
    if (known_.empty()) return Done{};
    return unknown_tensor(pipeline_.name, "parameter", known_.begin()->first, names);
  }

  /// The shapes of the call if all of its scalars are known, else those that are constant.
  Status find_shapes(const ToldSizes& told) {
    std::vector<isa::Scalar> values;
    for (std::size_t i = 0; i < told.size(); ++i) {
      const std::optional<isa::Scalar>& value = given_[i] ? given_[i] : told[i];
      if (value) values.push_back(*value);
    }
    if (values.size() == told.size()) {
      const Result<isa::PipelineInstance> instance = isa::instantiate(program_, index_, values);
      if (!instance) return instance.error();
      for (std::size_t i = 0; i < shapes_.size(); ++i) shapes_[i] = instance->shapes[i];
      return Done{};
    }
    for (std::size_t i = 0; i < shapes_.size(); ++i) {
      shapes_[i] = pipeline_.tensors[i].static_shape();
    }
    return Done{};
  }

  const isa::VerifiedProgram& program_;
  int index_;
  const isa::Pipeline& pipeline_;
  Texts known_;
  std::vector<std::optional<isa::Scalar>> given_;
  Shapes shapes_;
};

Result<Json> sizes_of_entry(const isa::VerifiedProgram& program, const std::string& entry,
                            const std::vector<std::string>& known) {
  const Result<EntryIndex> index = find_entry(program.program(), entry);
  if (!index) return index.error();
  Result<Texts> texts = by_name(known, "known");
  if (!texts) return texts.error();
  if (index->is_pipeline) return PipelineSizes(program, index->index, *std::move(texts)).run();
  const std::vector<Callable> every = callables(program);
  const Callable& callable = *std::find_if(
      every.begin(), every.end(), [&](const Callable& each) { return each.index == *index; });
  std::vector<std::string> names;
  for (const Callable::Parameter& parameter : callable.parameters) {
    names.push_back(parameter.name);
    texts->erase(parameter.name);
  }
  if (texts->empty()) return kernel_sizes(callable);
  return unknown_tensor(callable.name, "parameter", texts->begin()->first, names);
}

}  // namespace

LibraryReport report_sizes(const isa::VerifiedProgram& program, const std::string& entry,
                           const std::vector<std::string>& known) {
  LibraryReport report;
  report.source = {std::shared_ptr<const SourceFile>(), &program.source()};
  Result<Json> sizes = sizes_of_entry(program, entry, known);
  if (sizes) {
    report.text = sizes->text();
  } else {
    report.failure = sizes.error();
  }
  return report;
}

}  // namespace tilevm::vm
