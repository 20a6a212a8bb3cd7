#include "vm/library/callable.h"

#include <cstring>
#include <limits>

#include <fmt/format.h>

#include "isa/type/bits.h"
#include "isa/verify/pipeline_instance.h"
#include "vm/data/tensor.h"
#include "vm/library/shared_memory.h"
#include "vm/run/engine_cuda.h"

namespace tilevm::vm {

namespace {

using Parameter = Callable::Parameter;

std::size_t dense_bytes(const isa::DType& dtype, const isa::Shape& shape) {
  return isa::bytes_for_bits(static_cast<std::size_t>(*checked_count(shape)) * dtype.bits);
}

Callable kernel_callable(const isa::VerifiedProgram& program, int index) {
  const isa::Kernel& kernel = program.kernel(index);
  Callable callable{{false, index}, kernel.name, {}};
  std::size_t pointer = 0;
  for (const isa::VarId var : kernel.parameters) {
    const isa::Variable& variable = kernel.variable(var);
    Parameter parameter{variable.name, {}, {}, {}};
    if (const auto* scalar = std::get_if<isa::ScalarType>(&variable.type)) {
      parameter.scalar = scalar->kind;
    } else {
      const isa::PointerUse& use = program.pointer_uses(index)[pointer++];
      parameter.dtype = use.dtype.value_or(std::get<isa::PointerType>(variable.type).dtype);
      parameter.shape = use.shape;
      parameter.input = use.read;
      parameter.output = use.written;
    }
    callable.parameters.push_back(std::move(parameter));
  }
  return callable;
}

/// Scalars and tensors in the order of the text.
Callable pipeline_callable(const isa::Pipeline& pipeline, int index) {
  Callable callable{{true, index}, pipeline.name, {}};
  auto scalar = pipeline.scalars.begin();
  const auto add_scalars = [&](std::size_t tensors) {
    for (; scalar != pipeline.scalars.end() && scalar->tensors_before <= tensors; ++scalar) {
      callable.parameters.push_back({scalar->name, scalar->kind, {}, {}});
    }
  };
  std::size_t tensors = 0;
  for (const isa::PipelineTensor& tensor : pipeline.tensors) {
    if (!tensor.is_parameter()) continue;
    add_scalars(tensors++);
    callable.parameters.push_back({tensor.name,
                                   {},
                                   tensor.dtype,
                                   tensor.static_shape(),
                                   tensor.is_input(),
                                   tensor.is_output()});
  }
  add_scalars(tensors);
  return callable;
}

isa::Scalar read_scalar(isa::ScalarKind kind, const void* data, std::size_t bytes) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, data, bytes);
  switch (kind) {
    case isa::ScalarKind::boolean:
      return isa::Scalar::of(bits != 0);
    case isa::ScalarKind::f32:
      return {kind, bits};
    case isa::ScalarKind::i32:
    case isa::ScalarKind::u32:
    case isa::ScalarKind::i64:
    case isa::ScalarKind::u64:
      return isa::convert({isa::ScalarKind::u64, bits}, kind);  // extends the sign
  }
  TILEVM_NO_ENUMERATOR();
}

Error misfit(const Callable& callable, const Parameter& parameter, std::size_t given) {
  const std::string type =
      parameter.scalar ? std::string(isa::to_string(*parameter.scalar))
                       : format_type(parameter.dtype, parameter.shape.value_or(isa::Shape{}));
  return {ErrorKind::usage,
          fmt::format("`{}` of `{}` is {} of {} bytes; {} were given", parameter.name,
                      callable.name, type, parameter.bytes(), given)};
}

/// What both kinds of call ask; `exact` is for host memory, whose size is always given.
Status check_arguments(const Callable& callable, CallArguments arguments, bool exact) {
  if (arguments.size() != callable.parameters.size()) {
    return Error{ErrorKind::usage,
                 fmt::format("`{}` takes {} arguments, {} were given", callable.name,
                             callable.parameters.size(), arguments.size())};
  }
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const Parameter& parameter = callable.parameters[i];
    const std::size_t given = arguments[i].bytes;
    if (given > std::numeric_limits<std::ptrdiff_t>::max()) {
      return Error{ErrorKind::usage,
                   fmt::format("`{}` of `{}` is given {} bytes, more than memory has",
                               parameter.name, callable.name, given)};
    }
    const bool sized = exact || parameter.scalar || given != 0;
    if (sized && parameter.bytes() != 0 && given != parameter.bytes()) {
      return misfit(callable, parameter, given);
    }
    if (arguments[i].data == nullptr && parameter.bytes() + given != 0) {
      return Error{ErrorKind::usage,
                   fmt::format("`{}` of `{}` is given no memory", parameter.name, callable.name)};
    }
  }
  return Done{};
}

/// What a kernel is launched with: its tensors are numbered in order.
isa::Launch launch_of(const Callable& callable, CallArguments arguments) {
  isa::Launch launch;
  launch.kernel = callable.index.index;
  int tensors = 0;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const Parameter& parameter = callable.parameters[i];
    if (parameter.scalar) {
      launch.arguments.emplace_back(
          read_scalar(*parameter.scalar, arguments[i].data, arguments[i].bytes));
    } else {
      launch.arguments.emplace_back(tensors++);
    }
  }
  return launch;
}

const isa::Pipeline& pipeline_of(const isa::VerifiedProgram& program, const Callable& callable) {
  return program.program().pipelines[static_cast<std::size_t>(callable.index.index)];
}

/// Launches, and the shapes of all tensors where the callable is a pipeline.
Result<isa::PipelineInstance> instance_of(const isa::VerifiedProgram& program,
                                          const Callable& callable, CallArguments arguments) {
  if (!callable.index.is_pipeline) {
    return isa::PipelineInstance{{}, {launch_of(callable, arguments)}};
  }
  std::vector<isa::Scalar> scalars;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::optional<isa::ScalarKind> kind = callable.parameters[i].scalar;
    if (kind) scalars.push_back(read_scalar(*kind, arguments[i].data, arguments[i].bytes));
  }
  return isa::instantiate(program, callable.index.index, scalars);
}

/// The tensors of a pipeline that are not arguments, as indices; they follow the others.
std::vector<std::size_t> temporaries_of(const isa::VerifiedProgram& program,
                                        const Callable& callable) {
  std::vector<std::size_t> temporaries;
  if (!callable.index.is_pipeline) return temporaries;
  const std::vector<isa::PipelineTensor>& all = pipeline_of(program, callable).tensors;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!all[i].is_parameter()) temporaries.push_back(i);
  }
  return temporaries;
}

/// The memory of a tensor whose extents follow from the call must have its size.
Status check_sizes(const Callable& callable, CallArguments arguments,
                   const isa::PipelineInstance& instance, bool exact) {
  if (!callable.index.is_pipeline) return Done{};
  std::size_t tensor = 0;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const Parameter& parameter = callable.parameters[i];
    if (parameter.scalar) continue;
    Parameter sized = parameter;
    sized.shape = instance.shapes[tensor++];
    const std::size_t given = arguments[i].bytes;
    if ((exact || given != 0) && given != sized.bytes()) return misfit(callable, sized, given);
  }
  return Done{};
}

}  // namespace

std::size_t Parameter::bytes() const {
  if (scalar) return isa::bytes_for_bits(isa::element_type(*scalar).bits);
  return shape ? dense_bytes(dtype, *shape) : 0;
}

std::vector<Callable> callables(const isa::VerifiedProgram& program) {
  std::vector<Callable> all;
  const isa::Program& plain = program.program();
  for (int i = 0; i < static_cast<int>(plain.pipelines.size()); ++i) {
    all.push_back(pipeline_callable(plain.pipelines[static_cast<std::size_t>(i)], i));
  }
  for (int i = 0; i < static_cast<int>(plain.kernels.size()); ++i) {
    all.push_back(kernel_callable(program, i));
  }
  return all;
}

Status HostCall::add_arguments(const Callable& callable, CallArguments arguments,
                               const isa::PipelineInstance& instance) {
  std::vector<TensorMemory> given;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const Parameter& parameter = callable.parameters[i];
    const auto begin = reinterpret_cast<std::uintptr_t>(arguments[i].data);
    if (parameter.scalar) continue;
    given.push_back({parameter.name, begin, begin + arguments[i].bytes, parameter.output});
  }
  const Result<std::vector<std::size_t>> memories = memories_of(callable.name, given);
  if (!memories) return memories.error();
  std::size_t count = 0;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const Parameter& parameter = callable.parameters[i];
    if (parameter.scalar) continue;
    // Where the shape depends on the call, the memory is as large as the caller says.
    std::optional<isa::Shape> shape = parameter.shape;
    if (!instance.shapes.empty()) shape = instance.shapes[count];
    const isa::Shape bytes{static_cast<std::int64_t>(arguments[i].bytes)};
    const isa::DType dtype = shape ? parameter.dtype : isa::u8;
    Entry::Tensor described{
        parameter.name, dtype, shape.value_or(bytes), parameter.input, parameter.output, {}, {}};
    const std::size_t memory = (*memories)[count++];
    if (parameter.output) outputs_.push_back({arguments[i].data, memory});
    if (memory < tensors.size()) {
      share_memory(entry.tensors[memory], described);
      continue;
    }
    const auto* begin = static_cast<const std::uint8_t*>(arguments[i].data);
    tensors.push_back({dtype, described.shape, {}});
    tensors.back().data.assign(begin, begin + arguments[i].bytes);
    entry.tensors.push_back(std::move(described));
  }
  count_memories(entry.launches, *memories);
  return Done{};
}

Result<HostCall> HostCall::make(const isa::VerifiedProgram& program, const Callable& callable,
                                CallArguments arguments) {
  if (const Status fits = check_arguments(callable, arguments, true); !fits) return fits.error();
  Result<isa::PipelineInstance> instance = instance_of(program, callable, arguments);
  if (!instance) return instance.error();
  if (const Status fits = check_sizes(callable, arguments, *instance, true); !fits) {
    return fits.error();
  }
  HostCall call;
  call.entry = {callable.name, callable.index.is_pipeline, {}, std::move(instance->launches)};
  const Status added = call.add_arguments(callable, arguments, *instance);
  if (!added) return added.error();
  for (const std::size_t i : temporaries_of(program, callable)) {
    const isa::PipelineTensor& temporary = pipeline_of(program, callable).tensors[i];
    const isa::Shape& shape = instance->shapes[i];
    call.entry.tensors.push_back({temporary.name, temporary.dtype, shape, false, false, {}, {}});
    Result<HostTensor> made = make_tensor(temporary.dtype, shape, temporary.name);
    if (!made) return made.error();
    call.tensors.push_back(*std::move(made));
  }
  return call;
}

std::optional<Failure> HostCall::run(Engine& engine, const isa::VerifiedProgram& program,
                                     RunReport& report) {
  std::optional<Failure> failure = engine.run(program, entry, tensors, report);
  const auto* const faults = failure ? std::get_if<Diagnostics>(&*failure) : nullptr;
  if (faults == nullptr) return failure;
  Diagnostics explained;
  for (Diagnostic fault : faults->sorted()) {
    for (const Entry::Tensor& tensor : entry.tensors) {
      if (tensor.name.find(" = ") == std::string::npos) continue;
      add_note(fault, fmt::format("arguments are one array: `{}`", tensor.name));
    }
    explained.report(std::move(fault));
  }
  return explained;
}

void HostCall::give_back() const {
  for (const Output& output : outputs_) {
    const std::vector<std::uint8_t>& data = tensors[output.tensor].data;
    if (!data.empty()) std::memcpy(output.data, data.data(), data.size());
  }
}

std::optional<Failure> call(Engine& engine, const isa::VerifiedProgram& program,
                            const Callable& callable, CallArguments arguments, RunReport& report) {
  Result<HostCall> made = HostCall::make(program, callable, arguments);
  if (!made) return made.error();
  if (std::optional<Failure> failure = made->run(engine, program, report)) return failure;
  made->give_back();
  return std::nullopt;
}

Result<LoadedCallable> LoadedCallable::load(const isa::VerifiedProgram& program,
                                            const Callable& callable, int ordinal) {
  Result<CudaMachine> machine = open_cuda(ordinal);
  if (!machine) return machine.error();
  if (const Status fits = check_target(program, machine->target); !fits) return fits.error();
  Result<backend::LoadedProgram> loaded = machine->engine.prepare(program);
  if (!loaded) return loaded.error();
  LoadedCallable result(std::move(machine->engine), *std::move(loaded), callable);
  if (const Status reserved = result.reserve(); !reserved) return reserved.error();
  return result;
}

Status LoadedCallable::reserve() {
  const isa::VerifiedProgram& program = program_.program();
  for (const std::size_t i : temporaries_of(program, callable_)) {
    const isa::PipelineTensor& temporary = pipeline_of(program, callable_).tensors[i];
    const std::optional<isa::Shape> shape = temporary.static_shape();
    const std::size_t bytes = shape ? dense_bytes(temporary.dtype, *shape) : 0;
    Result<backend::DeviceBuffer> buffer = engine_.allocate(bytes);
    if (!buffer) return buffer.error();
    temporaries_.push_back({*std::move(buffer), bytes});
  }
  const auto reserve_for = [&](int kernel) {
    return engine_.reserve(program_, kernel, workspaces_);
  };
  if (!callable_.index.is_pipeline) return reserve_for(callable_.index.index);
  for (const isa::PipelineLaunch& launch : pipeline_of(program, callable_).launches) {
    if (Status reserved = reserve_for(launch.kernel); !reserved) return reserved;
  }
  return Done{};
}

/// Temporaries whose size follows from the arguments grow with them.
Status LoadedCallable::grow(const isa::PipelineInstance& instance) const {
  const std::vector<std::size_t> indices = temporaries_of(program_.program(), callable_);
  for (std::size_t k = 0; k < indices.size(); ++k) {
    const isa::PipelineTensor& temporary =
        pipeline_of(program_.program(), callable_).tensors[indices[k]];
    const std::size_t bytes = dense_bytes(temporary.dtype, instance.shapes[indices[k]]);
    if (bytes <= temporaries_[k].bytes) continue;
    Result<backend::DeviceBuffer> buffer = engine_.allocate(bytes);
    if (!buffer) return buffer.error();
    temporaries_[k] = {*std::move(buffer), bytes};
  }
  return Done{};
}

Status LoadedCallable::launch(CallArguments arguments, backend::cuda::Stream stream) const {
  if (Status fits = check_arguments(callable_, arguments, false); !fits) return fits;
  const Result<isa::PipelineInstance> instance =
      instance_of(program_.program(), callable_, arguments);
  if (!instance) return instance.error();
  if (Status fits = check_sizes(callable_, arguments, *instance, false); !fits) return fits;
  if (Status grown = grow(*instance); !grown) return grown;
  backend::Addresses addresses;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (callable_.parameters[i].scalar) continue;
    const auto address = reinterpret_cast<std::uintptr_t>(arguments[i].data);
    if (address % 16 != 0) {
      return Error{ErrorKind::usage,
                   fmt::format("the address of `{}` is {:#x}; it must be a multiple of 16",
                               callable_.parameters[i].name, address)};
    }
    addresses.push_back(address);
  }
  for (const Temporary& each : temporaries_) addresses.push_back(each.buffer.address());
  for (const isa::Launch& launch : instance->launches) {
    Status put =
        engine_.launch(program_, launch.kernel, launch.arguments, addresses, workspaces_, stream);
    if (!put) return put;
  }
  return Done{};
}

}  // namespace tilevm::vm
