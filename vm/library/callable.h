// Entries as functions of memory that the caller has: on the host, or on a device.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backend/engine/engine.h"
#include "isa/verify/pipeline_instance.h"
#include "vm/run/vm.h"

namespace tilevm::vm {

/// A pipeline or a kernel, and what it is called with.
struct Callable {
  struct Parameter {
    std::string name;
    std::optional<isa::ScalarKind> scalar;  ///< nothing for a tensor
    isa::DType dtype;                       ///< element type of a tensor
    std::optional<isa::Shape> shape;        ///< shape of a tensor, where it is constant
    bool input = false, output = false;

    /// The bytes of the argument; 0 if that depends on the call.
    [[nodiscard]] std::size_t bytes() const;
  };
  EntryIndex index;
  std::string name;
  std::vector<Parameter> parameters;
};

/// All entries, pipelines first.
[[nodiscard]] std::vector<Callable> callables(const isa::VerifiedProgram& program);

/// Memory of a tensor, or the address of a scalar's value.
struct CallArgument {
  void* data = nullptr;
  std::size_t bytes = 0;
};
using CallArguments = std::span<const CallArgument>;

/// A call on host memory: what an engine runs, on copies of the arguments.
class HostCall {
 public:
  /// Error (usage): the arguments do not fit the parameters, or overlap in memory
  /// (shared_memory.h).
  [[nodiscard]] static Result<HostCall> make(const isa::VerifiedProgram& program,
                                             const Callable& callable, CallArguments arguments);

  Entry entry;
  std::vector<HostTensor> tensors;

  /// Writes what the outputs hold into the arguments' memory.
  void give_back() const;

  /// Runs it. A failure says which arguments are one memory.
  [[nodiscard]] std::optional<Failure> run(Engine& engine, const isa::VerifiedProgram& program,
                                           RunReport& report);

 private:
  Status add_arguments(const Callable& callable, CallArguments arguments,
                       const isa::PipelineInstance& instance);

  /// An output's memory, and the tensor that it is copied from.
  struct Output {
    void* data = nullptr;
    std::size_t tensor = 0;
  };
  std::vector<Output> outputs_;
};

/// Runs on host memory. Errors: those of HostCall::make.
[[nodiscard]] std::optional<Failure> call(Engine& engine, const isa::VerifiedProgram& program,
                                          const Callable& callable, CallArguments arguments,
                                          RunReport& report);

/// An entry that is loaded on a device, with the memory that it needs besides its arguments.
class LoadedCallable {
 public:
  /// On a device by its number, or as backend::Device::open takes one. Errors: unavailable, usage
  /// (another target than the device's).
  [[nodiscard]] static Result<LoadedCallable> load(const isa::VerifiedProgram& program,
                                                   const Callable& callable,
                                                   int ordinal = backend::device_of_context);

  /// Whether launches share no memory, so that they may overlap.
  [[nodiscard]] bool may_overlap() const { return temporaries_.empty() && workspaces_.empty(); }
  /// The device's number.
  [[nodiscard]] int device() const { return engine_.device().properties().ordinal; }

  /// Puts the launches on a stream; does not wait, and allocates nothing unless a temporary tensor
  /// whose extents depend on arguments becomes larger than it ever was. Errors: those of
  /// CudaEngine::launch, usage (the arguments do not fit the parameters).
  Status launch(CallArguments arguments, backend::cuda::Stream stream) const;

 private:
  LoadedCallable(backend::CudaEngine engine, backend::LoadedProgram program, Callable callable)
      : engine_(std::move(engine)), program_(std::move(program)), callable_(std::move(callable)) {}
  Status reserve();
  Status grow(const isa::PipelineInstance& instance) const;

  /// Memory of a temporary tensor of a pipeline.
  struct Temporary {
    backend::DeviceBuffer buffer;
    std::size_t bytes = 0;
  };

  backend::CudaEngine engine_;
  backend::LoadedProgram program_;
  Callable callable_;
  mutable std::vector<Temporary> temporaries_;
  backend::Workspaces workspaces_;
};

}  // namespace tilevm::vm
