#include "vm/run/entry.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <system_error>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "isa/base/suggest.h"
#include "vm/run/load.h"

namespace tilevm::vm {

namespace {

using Texts = std::map<std::string, std::string>;

Error usage(std::string message) { return {ErrorKind::usage, std::move(message)}; }

std::string quoted(const std::vector<std::string>& names) {
  return names.empty() ? "none" : fmt::format("`{}`", fmt::join(names, "`, `"));
}

Result<Texts> by_name(const std::vector<std::string>& assignments, std::string_view option) {
  Texts texts;
  for (const std::string& assignment : assignments) {
    Result<std::pair<std::string, std::string>> pair = split_assignment(assignment, option);
    if (!pair) return pair.error();
    if (!texts.emplace(pair->first, pair->second).second) {
      return usage(fmt::format("`{} {}` is given twice", option, pair->first));
    }
  }
  return texts;
}

/// An option names what the entry does not have.
Error unknown_tensor(std::string_view entry, std::string_view role, const std::string& name,
                     const std::vector<std::string>& names) {
  const std::string near = nearest(name, names);
  const std::string hint = near.empty() ? fmt::format("there is {}", quoted(names))
                                        : fmt::format("did you mean `{}`?", near);
  return usage(fmt::format("`{}` has no {} `{}`; {} [{}]", entry, role, name, hint,
                           to_string(Code::unknown_tensor)));
}

/// Takes a name's text out of the options.
std::optional<std::string> take(Texts& texts, const std::string& name) {
  const auto found = texts.find(name);
  if (found == texts.end()) return std::nullopt;
  std::string text = found->second;
  texts.erase(found);
  return text;
}

Error with_option(const Error& error, std::string_view option, const std::string& name) {
  return {error.kind, fmt::format("{} {}: {}", option, name, error.message)};
}

/// The user's choice of data for one tensor.
struct Choice {
  std::optional<Spec> spec;
  std::optional<Dest> dest;
};

Result<Choice> take_choice(Texts& inputs, Texts& outputs, const std::string& name) {
  Choice choice;
  if (const std::optional<std::string> text = take(inputs, name)) {
    Result<Spec> spec = parse_spec(*text);
    if (!spec) return with_option(spec.error(), "--in", name);
    choice.spec = *std::move(spec);
  }
  if (const std::optional<std::string> text = take(outputs, name)) {
    Result<Dest> dest = parse_dest(*text);
    if (!dest) return with_option(dest.error(), "--out", name);
    choice.dest = *std::move(dest);
  }
  return choice;
}

std::optional<isa::DType> given_dtype(const Choice& choice) {
  if (choice.spec && choice.spec->dtype) return choice.spec->dtype;
  return choice.dest ? choice.dest->dtype : std::nullopt;
}

std::optional<isa::Shape> given_shape(const Choice& choice) {
  if (choice.spec && choice.spec->shape) return choice.spec->shape;
  return choice.dest ? choice.dest->shape : std::nullopt;
}

/// A type and a shape that the user gives must be those that the tensor has.
Status check_given(const Entry::Tensor& tensor, const Choice& choice) {
  const auto agrees = [&](const std::optional<isa::DType>& dtype,
                          const std::optional<isa::Shape>& shape) {
    return (!dtype || *dtype == tensor.dtype) && (!shape || *shape == tensor.shape);
  };
  if ((!choice.spec || agrees(choice.spec->dtype, choice.spec->shape)) &&
      (!choice.dest || agrees(choice.dest->dtype, choice.dest->shape))) {
    return Done{};
  }
  return usage(fmt::format("`{}` is {}, which the option contradicts; leave the type out",
                           tensor.name, format_type(tensor.dtype, tensor.shape)));
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

Result<Entry> pipeline_entry(const isa::Pipeline& pipeline, Texts inputs, Texts outputs) {
  Entry entry;
  entry.name = pipeline.name;
  entry.is_pipeline = true;
  entry.launches = pipeline.launches;
  for (const isa::PipelineTensor& declared : pipeline.tensors) {
    Entry::Tensor tensor{declared.name, declared.dtype, declared.shape, false, false, {}, {}};
    tensor.input = declared.role == isa::PipelineTensor::Role::input;
    tensor.output = declared.role == isa::PipelineTensor::Role::output;
    Texts none;
    Result<Choice> choice =
        take_choice(tensor.input ? inputs : none, tensor.output ? outputs : none, tensor.name);
    if (!choice) return choice.error();
    if (Status status = check_given(tensor, *choice); !status) return status.error();
    if (choice->spec) tensor.spec = *choice->spec;
    tensor.dest = choice->dest;
    entry.tensors.push_back(std::move(tensor));
  }
  if (Status status = check_all_taken(entry, inputs, outputs, {}); !status) return status.error();
  return entry;
}

// --- Kernels alone --------------------------------------------------------------------------

Result<isa::Scalar> parse_scalar(isa::ScalarKind kind, const std::string& name,
                                 const std::string& text) {
  const auto wrong = [&] {
    return usage(fmt::format("--in {}: `{}` is no {}", name, text, to_string(kind)));
  };
  const auto reads = [&](auto& value) {
    const char* const end = text.data() + text.size();
    const std::from_chars_result result = std::from_chars(text.data(), end, value);
    return result.ec == std::errc{} && result.ptr == end;
  };
  switch (kind) {
    case isa::ScalarKind::boolean:
      if (text == "true" || text == "1") return isa::Scalar::of(true);
      if (text == "false" || text == "0") return isa::Scalar::of(false);
      return wrong();
    case isa::ScalarKind::f32: {
      float value = 0;
      if (!reads(value)) return wrong();
      return isa::Scalar::f32(value);
    }
    case isa::ScalarKind::u64: {
      std::uint64_t value = 0;
      if (!reads(value)) return wrong();
      return isa::Scalar{kind, value};
    }
    case isa::ScalarKind::i32:
    case isa::ScalarKind::u32:
    case isa::ScalarKind::i64: {
      std::int64_t value = 0;
      if (!reads(value)) return wrong();
      const isa::Scalar scalar = isa::convert(isa::Scalar::i64(value), kind);
      if (scalar.as_int() != value) return wrong();
      return scalar;
    }
  }
  TILEVM_NO_ENUMERATOR();
}

Error cannot_infer(const std::string& kernel, const std::string& name, bool output) {
  return usage(
      fmt::format("cannot tell type and shape of the tensor of `{}`: its views in `{}` are not "
                  "one constant "
                  "view; give them, as in {} '{}=f16[64,64]={}' [{}]",
                  name, kernel, output ? "--out" : "--in", name, output ? name + ".npy" : "rand",
                  to_string(Code::cannot_infer_tensor)));
}

/// The tensor of a pointer: what the program tells of it, and what the user says.
Result<Entry::Tensor> pointer_tensor(const isa::Kernel& kernel, const isa::PointerUse& use,
                                     const Choice& choice) {
  const isa::Variable& variable = kernel.variable(use.parameter);
  const bool unused = !use.read && !use.written;
  Entry::Tensor tensor{variable.name, {}, {}, use.read || choice.spec.has_value(),
                       use.written,   {}, {}};
  const std::optional<isa::Shape> shape = given_shape(choice) ? given_shape(choice) : use.shape;
  std::optional<isa::DType> dtype = given_dtype(choice) ? given_dtype(choice) : use.dtype;
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
    const std::optional<std::string> text = take(inputs_, name);
    if (!text) {
      return usage(
          fmt::format("kernel `{}` needs a value for its parameter `{} {}`: give it with "
                      "--in {}=VALUE",
                      kernel_.name, to_string(kind), name, name));
    }
    const Result<isa::Scalar> value = parse_scalar(kind, name, *text);
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
    if (Status status = check_given(*tensor, *choice); !status) return status.error();
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
  if (name.empty()) {
    const bool empty = program.kernels.empty() && program.pipelines.empty();
    if (empty)
      return Error{ErrorKind::program, "the file has no kernel and no pipeline to run [" +
                                           to_string(Code::no_entry) + "]"};
    return usage(
        fmt::format("the file has several entries and no `main`: choose one with --entry "
                    "NAME ({}) [{}]",
                    there_is, to_string(Code::no_entry)));
  }
  std::vector<std::string> all = names_of(program.pipelines);
  for (std::string& kernel : names_of(program.kernels)) all.push_back(std::move(kernel));
  const std::string near = nearest(name, all);
  const std::string hint = near.empty() ? there_is : fmt::format("did you mean `{}`?", near);
  return usage(fmt::format("there is no kernel or pipeline `{}`; {} [{}]", name, hint,
                           to_string(Code::no_entry)));
}

Result<Entry> resolve_entry(const isa::VerifiedProgram& program, const std::string& name,
                            const DataOptions& data) {
  const Result<EntryIndex> chosen = find_entry(program.program(), name);
  if (!chosen) return chosen.error();
  Result<Texts> inputs = by_name(data.inputs, "--in");
  if (!inputs) return inputs.error();
  Result<Texts> outputs = by_name(data.outputs, "--out");
  if (!outputs) return outputs.error();
  if (chosen->is_pipeline) {
    const auto index = static_cast<std::size_t>(chosen->index);
    return pipeline_entry(program.program().pipelines[index], *std::move(inputs),
                          *std::move(outputs));
  }
  return KernelEntry(program, chosen->index, *std::move(inputs), *std::move(outputs)).build();
}

namespace {

/// Random data that names no seed takes the run's.
Spec seeded(Spec spec, const Seeding& seeding) {
  const bool given = !spec.text.empty();
  const bool random = spec.kind == SourceKind::rand || spec.kind == SourceKind::wild ||
                      spec.kind == SourceKind::corner;
  if (!given && seeding.wild) spec.kind = SourceKind::wild;
  if (random && spec.text.find(':') == std::string::npos) spec.seed = seeding.seed;
  return spec;
}

}  // namespace

Result<std::vector<HostTensor>> make_tensors(const Entry& entry, const Seeding& seeding) {
  std::vector<HostTensor> tensors;
  for (const Entry::Tensor& tensor : entry.tensors) {
    Result<HostTensor> made =
        tensor.input ? load(seeded(tensor.spec, seeding), tensor.dtype, tensor.shape, tensor.name)
                     : make_tensor(tensor.dtype, tensor.shape, tensor.name);
    if (!made) return made.error();
    tensors.push_back(*std::move(made));
  }
  return tensors;
}

}  // namespace tilevm::vm
