#include "vm/library/callable.h"

#include <cstring>
#include <limits>

#include <fmt/format.h>

#include "isa/type/bits.h"
#include "vm/data/tensor.h"
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

Callable pipeline_callable(const isa::Pipeline& pipeline, int index) {
  using Role = isa::PipelineTensor::Role;
  Callable callable{{true, index}, pipeline.name, {}};
  for (const isa::PipelineTensor& tensor : pipeline.tensors) {
    if (tensor.role == Role::temporary) continue;
    callable.parameters.push_back({tensor.name,
                                   {},
                                   tensor.dtype,
                                   tensor.shape,
                                   tensor.role == Role::input,
                                   tensor.role == Role::output});
  }
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

std::vector<isa::Launch> launches_of(const isa::VerifiedProgram& program, const Callable& callable,
                                     CallArguments arguments) {
  if (callable.index.is_pipeline) return pipeline_of(program, callable).launches;
  return {launch_of(callable, arguments)};
}

/// The tensors of a pipeline that are not arguments; they follow the others.
std::vector<isa::PipelineTensor> temporaries_of(const isa::VerifiedProgram& program,
                                                const Callable& callable) {
  if (!callable.index.is_pipeline) return {};
  const std::vector<isa::PipelineTensor>& all = pipeline_of(program, callable).tensors;
  return {all.begin() + static_cast<std::ptrdiff_t>(callable.parameters.size()), all.end()};
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

std::optional<Failure> call(Engine& engine, const isa::VerifiedProgram& program,
                            const Callable& callable, CallArguments arguments, RunReport& report) {
  if (const Status fits = check_arguments(callable, arguments, true); !fits) return fits.error();
  Entry entry{callable.name, callable.index.is_pipeline, {}, {}};
  entry.launches = launches_of(program, callable, arguments);
  std::vector<HostTensor> tensors;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const Parameter& parameter = callable.parameters[i];
    if (parameter.scalar) continue;
    // Where the shape depends on the call, the memory is as large as the caller says.
    const isa::Shape bytes{static_cast<std::int64_t>(arguments[i].bytes)};
    entry.tensors.push_back({parameter.name,
                             parameter.shape ? parameter.dtype : isa::u8,
                             parameter.shape.value_or(bytes),
                             parameter.input,
                             parameter.output,
                             {},
                             {}});
    const auto* begin = static_cast<const std::uint8_t*>(arguments[i].data);
    HostTensor tensor{entry.tensors.back().dtype, entry.tensors.back().shape, {}};
    tensor.data.assign(begin, begin + arguments[i].bytes);
    tensors.push_back(std::move(tensor));
  }
  for (const isa::PipelineTensor& temporary : temporaries_of(program, callable)) {
    entry.tensors.push_back(
        {temporary.name, temporary.dtype, temporary.shape, false, false, {}, {}});
    Result<HostTensor> made = make_tensor(temporary.dtype, temporary.shape, temporary.name);
    if (!made) return made.error();
    tensors.push_back(*std::move(made));
  }
  if (std::optional<Failure> failure = engine.run(program, entry, tensors, report)) return failure;
  for (std::size_t i = 0, tensor = 0; i < arguments.size(); ++i) {
    const Parameter& parameter = callable.parameters[i];
    if (parameter.scalar) continue;
    const std::vector<std::uint8_t>& data = tensors[tensor++].data;
    if (parameter.output && !data.empty()) std::memcpy(arguments[i].data, data.data(), data.size());
  }
  return std::nullopt;
}

Result<LoadedCallable> LoadedCallable::load(const isa::VerifiedProgram& program,
                                            const Callable& callable) {
  Result<CudaMachine> machine = open_cuda(backend::device_of_context);
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
  for (const isa::PipelineTensor& temporary : temporaries_of(program, callable_)) {
    Result<backend::DeviceBuffer> buffer =
        engine_.allocate(dense_bytes(temporary.dtype, temporary.shape));
    if (!buffer) return buffer.error();
    temporaries_.push_back(*std::move(buffer));
  }
  const auto reserve_for = [&](int kernel) {
    return engine_.reserve(program_, kernel, workspaces_);
  };
  if (!callable_.index.is_pipeline) return reserve_for(callable_.index.index);
  for (const isa::Launch& launch : pipeline_of(program, callable_).launches) {
    if (Status reserved = reserve_for(launch.kernel); !reserved) return reserved;
  }
  return Done{};
}

Status LoadedCallable::launch(CallArguments arguments, backend::cuda::Stream stream) const {
  if (Status fits = check_arguments(callable_, arguments, false); !fits) return fits;
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
  for (const backend::DeviceBuffer& buffer : temporaries_) addresses.push_back(buffer.address());
  for (const isa::Launch& launch : launches_of(program_.program(), callable_, arguments)) {
    Status put =
        engine_.launch(program_, launch.kernel, launch.arguments, addresses, workspaces_, stream);
    if (!put) return put;
  }
  return Done{};
}

}  // namespace tilevm::vm
