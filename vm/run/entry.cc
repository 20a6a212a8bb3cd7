#include "vm/run/entry.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "isa/base/suggest.h"
#include "isa/verify/pipeline_instance.h"
#include "vm/data/tensor.h"
#include "vm/run/default_data.h"
#include "vm/run/entry_parts.h"
#include "vm/run/entry_sizes.h"
#include "vm/text/data_error.h"

namespace tilevm::vm {

namespace {

/// A type and a shape that the user gives must be those that the tensor has.
Status check_choice_fits(const Entry::Tensor& tensor, const Choice& choice) {
  const auto agrees = [&](const std::optional<isa::DType>& dtype,
                          const std::optional<isa::Shape>& shape) {
    return (!dtype || *dtype == tensor.dtype) && (!shape || *shape == tensor.shape);
  };
  if ((!choice.spec || agrees(choice.spec->dtype, choice.spec->shape)) &&
      (!choice.dest || agrees(choice.dest->dtype, choice.dest->shape))) {
    return Done{};
  }
  return Error{ErrorKind::usage,
               fmt::format("`{}` is {}, which the option contradicts; leave the type out",
                           tensor.name, format_type(tensor.dtype, tensor.shape))};
}

/// Options that were not taken name nothing that exists.
Status check_all_taken(const Entry& entry, const Texts& inputs, const Texts& outputs,
                       std::vector<std::string> input_names) {
  std::vector<std::string> output_names;
  for (const Entry::Tensor& tensor : entry.tensors) {
    if (tensor.input) input_names.push_back(tensor.name);
    if (tensor.output) output_names.push_back(tensor.name);
  }
  if (!inputs.empty()) {
    return unknown_tensor(entry.name, "input", inputs.begin()->first, input_names);
  }
  if (!outputs.empty()) {
    return unknown_tensor(entry.name, "output", outputs.begin()->first, output_names);
  }
  return Done{};
}

// --- Pipelines ------------------------------------------------------------------------------

/// A scalar has no value: the error also names an input whose shape would tell it, if there is one.
Error with_tensor_that_tells(Error error, const isa::Pipeline& pipeline, std::size_t scalar) {
  if (const isa::PipelineTensor* tensor = tensor_that_tells(pipeline, scalar)) {
    error.message += fmt::format(", or a file for `{}`, whose shape tells it", tensor->name);
  }
  return error;
}

/// The values of a pipeline's scalar parameters: given, or told by the shapes of its data.
Result<std::vector<isa::Scalar>> take_scalars(const isa::Pipeline& pipeline, Texts& inputs,
                                              const Texts& outputs) {
  const auto told = sizes_of_data(pipeline, inputs, outputs);
  if (!told) return told.error();
  std::vector<isa::Scalar> values;
  for (std::size_t i = 0; i < pipeline.scalars.size(); ++i) {
    const isa::PipelineScalar& scalar = pipeline.scalars[i];
    if ((*told)[i]) {
      values.push_back(*(*told)[i]);
      continue;
    }
    const bool was_given = inputs.contains(scalar.name);
    const Result<isa::Scalar> value =
        take_scalar(inputs, fmt::format("pipeline `{}`", pipeline.name), scalar.name, scalar.kind);
    if (!value)
      return was_given ? value.error() : with_tensor_that_tells(value.error(), pipeline, i);
    values.push_back(*value);
  }
  return values;
}

Result<Entry> pipeline_entry(const isa::VerifiedProgram& program, int index, Texts inputs,
                             Texts outputs) {
  const isa::Pipeline& pipeline = program.program().pipelines[static_cast<std::size_t>(index)];
  Entry entry;
  entry.name = pipeline.name;
  entry.is_pipeline = true;
  const auto scalars = take_scalars(pipeline, inputs, outputs);
  if (!scalars) return scalars.error();
  Result<isa::PipelineInstance> instance = isa::instantiate(program, index, *scalars);
  if (!instance) return instance.error();
  entry.launches = std::move(instance->launches);
  std::vector<std::string> input_names;
  for (const isa::PipelineScalar& scalar : pipeline.scalars) input_names.push_back(scalar.name);
  for (std::size_t i = 0; i < pipeline.tensors.size(); ++i) {
    const isa::PipelineTensor& declared = pipeline.tensors[i];
    Entry::Tensor tensor{declared.name,
                         declared.dtype,
                         instance->shapes[i],
                         declared.is_input(),
                         declared.is_output(),
                         {},
                         {}};
    Texts none;
    Result<Choice> choice =
        take_choice(tensor.input ? inputs : none, tensor.output ? outputs : none, tensor.name);
    if (!choice) return choice.error();
    if (Status status = check_choice_fits(tensor, *choice); !status) return status.error();
    if (choice->spec) tensor.spec = *choice->spec;
    tensor.dest = choice->dest;
    entry.tensors.push_back(std::move(tensor));
  }
  if (Status status = check_all_taken(entry, inputs, outputs, std::move(input_names)); !status) {
    return status.error();
  }
  return entry;
}

// --- Kernels alone --------------------------------------------------------------------------

Error cannot_infer(const std::string& kernel, const std::string& name, bool output) {
  return usage_error(
      Code::cannot_infer_tensor,
      fmt::format("cannot tell type and shape of the tensor of `{}`: its views in `{}` are not one "
                  "constant view; give them, as in {} '{}=f16[64,64]={}'",
                  name, kernel, output ? "--out" : "--in", name, output ? name + ".npy" : "rand"),
      {{}, name, {}});
}

/// The tensor of a pointer: what the program tells of it, and what the user says.
Result<Entry::Tensor> pointer_tensor(const isa::Kernel& kernel, const isa::PointerUse& use,
                                     const Choice& choice) {
  const isa::Variable& variable = kernel.variable(use.parameter);
  const bool unused = !use.read && !use.written;
  Entry::Tensor tensor{variable.name, {}, {}, use.read || choice.spec.has_value(),
                       use.written,   {}, {}};
  const std::optional<isa::Shape> shape = choice.shape() ? choice.shape() : use.shape;
  std::optional<isa::DType> dtype = choice.dtype() ? choice.dtype() : use.dtype;
  if (!dtype && (shape || unused)) dtype = std::get<isa::PointerType>(variable.type).dtype;
  if (!dtype || (!shape && !unused)) return cannot_infer(kernel.name, variable.name, !use.read);
  tensor.dtype = *dtype;
  tensor.shape = shape.value_or(isa::Shape{1});
  if (choice.spec) tensor.spec = *choice.spec;
  tensor.dest = choice.dest;
  return tensor;
}

/// One argument per parameter of a kernel that is launched by itself.
class KernelEntry {
 public:
  KernelEntry(const isa::VerifiedProgram& program, int kernel, Texts inputs, Texts outputs)
      : kernel_(program.kernel(kernel)),
        uses_(program.pointer_uses(kernel)),
        inputs_(std::move(inputs)),
        outputs_(std::move(outputs)) {
    entry_.name = kernel_.name;
    launch_.kernel = kernel;
    launch_.span = kernel_.span;
  }

  Result<Entry> build() {
    for (const isa::VarId parameter : kernel_.parameters) {
      if (Status status = add(parameter); !status) return status.error();
    }
    if (Status s = check_all_taken(entry_, inputs_, outputs_, scalar_names_); !s) return s.error();
    entry_.launches.push_back(std::move(launch_));
    return std::move(entry_);
  }

 private:
  Status add(isa::VarId parameter) {
    const isa::Variable& variable = kernel_.variable(parameter);
    launch_.argument_spans.push_back(variable.span);
    const auto* scalar = std::get_if<isa::ScalarType>(&variable.type);
    return scalar != nullptr ? add_scalar(variable.name, scalar->kind) : add_pointer(parameter);
  }

  Status add_scalar(const std::string& name, isa::ScalarKind kind) {
    const Result<isa::Scalar> value =
        take_scalar(inputs_, fmt::format("kernel `{}`", kernel_.name), name, kind);
    if (!value) return value.error();
    launch_.arguments.emplace_back(*value);
    scalar_names_.push_back(name);
    return Done{};
  }

  Status add_pointer(isa::VarId parameter) {
    const auto use = std::find_if(uses_.begin(), uses_.end(), [&](const isa::PointerUse& u) {
      return u.parameter == parameter;
    });
    TILEVM_CHECK(use != uses_.end(), "a pointer parameter without its use");
    Texts none;
    Result<Choice> choice =
        take_choice(inputs_, use->written ? outputs_ : none, kernel_.variable(parameter).name);
    if (!choice) return choice.error();
    Result<Entry::Tensor> tensor = pointer_tensor(kernel_, *use, *choice);
    if (!tensor) return tensor.error();
    if (Status status = check_choice_fits(*tensor, *choice); !status) return status.error();
    launch_.arguments.emplace_back(static_cast<int>(entry_.tensors.size()));
    entry_.tensors.push_back(*std::move(tensor));
    return Done{};
  }

  const isa::Kernel& kernel_;
  const std::vector<isa::PointerUse>& uses_;
  Texts inputs_, outputs_;
  Entry entry_;
  isa::Launch launch_;
  std::vector<std::string> scalar_names_;
};

// --- Which one ------------------------------------------------------------------------------

template <class Items>
std::vector<std::string> names_of(const Items& items) {
  std::vector<std::string> names;
  for (const auto& item : items) names.push_back(item.name);
  return names;
}

template <class Items>
std::optional<int> find_named(const Items& items, const std::string& name) {
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (items[i].name == name) return static_cast<int>(i);
  }
  return std::nullopt;
}

}  // namespace

Result<EntryIndex> find_entry(const isa::Program& program, const std::string& name) {
  const std::string wanted = name.empty() ? "main" : name;
  if (name.empty() && program.pipelines.size() == 1) return EntryIndex{true, 0};
  if (const auto i = find_named(program.pipelines, wanted)) return EntryIndex{true, *i};
  if (const auto i = find_named(program.kernels, wanted)) return EntryIndex{false, *i};
  if (name.empty() && program.pipelines.empty() && program.kernels.size() == 1) {
    return EntryIndex{false, 0};
  }
  const std::string there_is =
      fmt::format("pipelines: {}; kernels: {}", quoted(names_of(program.pipelines)),
                  quoted(names_of(program.kernels)));
  if (name.empty() && program.kernels.empty() && program.pipelines.empty()) {
    return data_error(Code::no_entry, "the file has no kernel and no pipeline to run");
  }
  if (name.empty()) {
    return usage_error(
        Code::no_entry,
        fmt::format("the file has several entries and no `main`: choose one with --entry NAME ({})",
                    there_is));
  }
  std::vector<std::string> all = names_of(program.pipelines);
  for (std::string& kernel : names_of(program.kernels)) all.push_back(std::move(kernel));
  const std::string near = nearest(name, all);
  const std::string hint = near.empty() ? there_is : fmt::format("did you mean `{}`?", near);
  return usage_error(Code::no_entry,
                     fmt::format("there is no kernel or pipeline `{}`; {}", name, hint));
}

Result<Entry> resolve_entry(const isa::VerifiedProgram& program, const std::string& name,
                            const DataOptions& data) {
  const Result<EntryIndex> chosen = find_entry(program.program(), name);
  if (!chosen) return chosen.error();
  Result<Texts> inputs = by_name(data.inputs, "--in");
  if (!inputs) return inputs.error();
  add_default_data(program.program(), program.source(), *chosen, *inputs);
  Result<Texts> outputs = by_name(data.outputs, "--out");
  if (!outputs) return outputs.error();
  if (chosen->is_pipeline) {
    return pipeline_entry(program, chosen->index, *std::move(inputs), *std::move(outputs));
  }
  return KernelEntry(program, chosen->index, *std::move(inputs), *std::move(outputs)).build();
}

}  // namespace tilevm::vm
