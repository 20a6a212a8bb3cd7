// The CUDA engine: runs verified programs on a GPU.
//
// A program is emitted, compiled for the device and loaded once (per process and program text);
// its kernels are then launched on buffers in device memory. A pipeline keeps its buffers on the
// device between launches:
//
//     auto engine = CudaEngine::create();
//     auto loaded = engine->prepare(program);
//     auto memory = engine->upload(buffers);              // host bytes -> device
//     engine->launch(*loaded, kernel, arguments, *memory);  // as often as wanted
//     engine->download(*memory, buffers);                 // waits, device -> host bytes
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backend/driver/device.h"
#include "backend/emit/emit.h"
#include "backend/launch/kernel_arguments.h"
#include "isa/analysis/assertion.h"
#include "isa/base/result.h"
#include "isa/program/print.h"
#include "isa/program/probe.h"
#include "isa/verify/verify.h"

namespace tilevm::backend {

/// A program in a form that the device runs. Copies are cheap and share it.
class LoadedProgram {
 public:
  [[nodiscard]] const isa::VerifiedProgram& program() const;
  [[nodiscard]] const CudaSource& source() const;
  /// Registers, spills and shared memory of a kernel.
  [[nodiscard]] const KernelProperties& properties(int kernel) const;
  /// What the compiler said, usually nothing.
  [[nodiscard]] const std::string& compiler_log() const;

 private:
  friend class CudaEngine;
  struct State;
  std::shared_ptr<const State> state_;
};

/// Where a launch finds its buffers on the device.
using Addresses = std::vector<cuda::DevicePointer>;

/// Memory that kernels need besides their buffers, by its position in a kernel's list. Launches
/// that run one after another share it.
using Workspaces = std::vector<DeviceBuffer>;

/// Global memory on the device: one block per host buffer.
class DeviceMemory {
 public:
  [[nodiscard]] std::size_t size() const { return buffers_.size(); }
  [[nodiscard]] const DeviceBuffer& operator[](std::size_t i) const { return buffers_[i]; }
  [[nodiscard]] Addresses addresses() const;
  [[nodiscard]] const Workspaces& workspaces() const { return workspaces_; }

 private:
  friend class CudaEngine;
  std::vector<DeviceBuffer> buffers_;
  std::vector<std::size_t> bytes_;  // of the host buffers, without padding
  Workspaces workspaces_;
  DeviceBuffer prints_;  // of the latest launch that prints
  std::array<std::int64_t, 3> print_grid_{1, 1, 1};
  DeviceBuffer probes_;  // of the latest launch that has probes
};

/// How an engine makes machine code.
struct BuildOptions {
  std::optional<int> level;  ///< CompileRequest::level
  /// For tests: changes the emitted text before it is compiled.
  std::function<std::string(std::string)> edit_text = {};
};

class CudaEngine {
 public:
  /// Takes a device, as Device::open. Error (unavailable): no driver, no device.
  [[nodiscard]] static Result<CudaEngine> create(int ordinal = -1, BuildOptions build = {});

  [[nodiscard]] const Device& device() const { return device_; }
  /// What programs for this device are compiled for: "sm_90a".
  [[nodiscard]] std::string target() const { return device_.properties().target(); }

  /// Emits, compiles and loads; a text that was loaded before is only looked up. Errors:
  /// unavailable (no compiler), limit (the compiler's timeout).
  [[nodiscard]] Result<LoadedProgram> prepare(const isa::VerifiedProgram& program);
  /// Compiles the program with the given options of selection.
  [[nodiscard]] Result<LoadedProgram> prepare(const isa::VerifiedProgram& program,
                                              const SelectOptions& options);

  /// Several programs in one text, which costs the compiler less than one text each.
  [[nodiscard]] Result<std::vector<LoadedProgram>> prepare_together(
      std::span<const isa::VerifiedProgram* const> programs);

  /// Memory of a tensor, padded so that whole words around an element may be touched.
  [[nodiscard]] Result<DeviceBuffer> allocate(std::size_t bytes) const;

  /// Copies buffers to the device.
  [[nodiscard]] Result<DeviceMemory> upload(const HostBuffers& buffers) const;

  /// Puts a launch on the default stream and returns. The grid follows from the scalar arguments.
  /// Errors: program (an extent that is not in CUDA's range or divides by zero, arguments that do
  /// not fit the parameters), unavailable (memory is short).
  Status launch(const LoadedProgram& program, int kernel, const std::vector<Argument>& arguments,
                DeviceMemory& memory) const;

  /// Makes sure that there is memory for a kernel's workspaces.
  Status reserve(const LoadedProgram& program, int kernel, Workspaces& workspaces) const;

  /// Launches on any stream, on the caller's buffers, with workspaces that were reserved. Nothing
  /// is allocated and nothing waits, so that a graph can capture it. Errors: also usage (the kernel
  /// prints).
  Status launch(const LoadedProgram& program, int kernel, const std::vector<Argument>& arguments,
                const Addresses& buffers, const Workspaces& workspaces, cuda::Stream stream) const;

  /// What the latest launch of a kernel that prints has printed; waits for it. Call it before the
  /// next launch. Errors: program (a kernel faulted; its prints are lost).
  [[nodiscard]] Result<isa::LaunchPrints> read_prints(const LoadedProgram& program, int kernel,
                                                      const DeviceMemory& memory) const;

  /// After an error of a launch: the assertion that ended it, if it was one.
  [[nodiscard]] std::optional<isa::FailedAssertion> failed_assertion() const;

  /// Launches a program that was prepared with probes, waits, and fills the log, whose window is
  /// set. Errors: also limit (a timeout; 0 waits for ever).
  Status launch_probed(const LoadedProgram& program, int kernel,
                       const std::vector<Argument>& arguments, DeviceMemory& memory,
                       std::chrono::milliseconds timeout, isa::ProbeLog& log) const;

  /// Waits for the launches and copies every buffer back to where it came from (sizes as at the
  /// upload). Errors: program (a kernel faulted), limit (a timeout; 0 waits for ever).
  Status download(const DeviceMemory& memory, HostBuffers& buffers,
                  std::chrono::milliseconds timeout = std::chrono::milliseconds{0}) const;

  /// Upload, one launch, download: a kernel on host buffers.
  Status run_kernel(const isa::VerifiedProgram& program, int kernel,
                    const std::vector<Argument>& arguments, HostBuffers& buffers,
                    std::chrono::milliseconds timeout = std::chrono::milliseconds{0});

 private:
  struct Cache;
  [[nodiscard]] Result<std::vector<LoadedProgram>> prepare_together(
      std::span<const isa::VerifiedProgram* const> programs, const SelectOptions& options);
  CudaEngine(Device device, BuildOptions build);
  /// Buffers that a launch needs besides the program's own; null where its kernel has none.
  struct HiddenBuffers {
    const DeviceBuffer* prints = nullptr;
    const DeviceBuffer* probes = nullptr;
  };
  Status put(const LoadedProgram& program, int kernel, const std::vector<Argument>& arguments,
             const Addresses& buffers, const Workspaces& workspaces, const HiddenBuffers& hidden,
             cuda::Stream stream) const;
  /// Makes the print buffer ready, if the kernel prints; null if not.
  Result<const DeviceBuffer*> prints_of(const LoadedProgram& program, int kernel,
                                        const std::vector<Argument>& arguments,
                                        DeviceMemory& memory) const;
  /// Makes the print buffer ready for a launch.
  Status prepare_prints(const std::array<unsigned, 3>& grid, DeviceMemory& memory) const;

  Device device_;
  BuildOptions build_;
  std::shared_ptr<Cache> cache_;
};

}  // namespace tilevm::backend
