// The engine emu: emitted kernels, compiled by this machine's C++ compiler, on an emulated GPU.
//
// The kernels' text is that of a GPU, over other bodies of the prelude's functions
// (backend/prelude/emulated.cuh). What a tensor core computes comes from a model that the caller
// gives.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backend/emit/emit.h"
#include "backend/emu/emu_unit.h"
#include "backend/launch/kernel_arguments.h"
#include "isa/program/print.h"
#include "isa/program/probe.h"

namespace tilevm::backend {

/// Global memory of an emulated device: a copy of each host buffer, as far from each other as a
/// device's are.
class EmuMemory {
 public:
  explicit EmuMemory(const HostBuffers& buffers);
  /// Copies all back.
  void download(HostBuffers& buffers) const;

 private:
  friend class EmuArguments;
  struct Free {
    void operator()(unsigned char* memory) const;
  };
  struct Buffer {
    std::unique_ptr<unsigned char, Free> memory;
    unsigned char* bytes = nullptr;
    std::size_t size = 0;   ///< bytes of the host buffer
    std::size_t reach = 0;  ///< bytes with the words around its elements
  };
  static Buffer allocate(std::size_t size);
  std::vector<Buffer> buffers_;
};

/// A kernel that ran, or stopped early.
struct EmuRun {
  std::optional<EmuFault> fault;  ///< fault with its line, where a tool of the machine finds it
  std::optional<isa::LaunchPrints> prints;
  /// The report of the assertion by which the kernel stopped itself, if it was one.
  std::optional<Diagnostic> assertion{};
};

/// How the tensor cores of a target compute.
using MmaModels = std::function<MmaModel(const isa::Target& target)>;

class EmuEngine {
 public:
  /// Error (unavailable): no C++ compiler.
  [[nodiscard]] static Result<EmuEngine> create(EmuOptions options, MmaModels models);

  [[nodiscard]] const std::string& compiler() const { return compiler_.description(); }

  /// Compiles programs that were not compiled before, all in one text. Errors: as EmuUnit::load.
  Status prepare(std::span<const isa::VerifiedProgram* const> programs);

  /// Runs a kernel. Errors: as prepare; program (the grid, the arguments), limit (memory). `names`
  /// are those of the memory's buffers.
  [[nodiscard]] Result<EmuRun> launch(const isa::VerifiedProgram& program, int kernel,
                                      const std::vector<Argument>& arguments, EmuMemory& memory,
                                      const std::vector<std::string>& names);

  /// Launches with probes; fills the log, whose window is set. After a fault the log has what was
  /// recorded before it.
  [[nodiscard]] Result<EmuRun> launch_probed(const isa::VerifiedProgram& program, int kernel,
                                             const std::vector<Argument>& arguments,
                                             EmuMemory& memory,
                                             const std::vector<std::string>& names,
                                             isa::ProbeLog& log);

  /// Changes emitted text before it is compiled. For tests, which plant faults by it.
  void edit_source(std::function<void(CudaSource&)> edit) { edit_ = std::move(edit); }

 private:
  /// The kernels of one program in a unit, perhaps with others. The program keeps its address.
  struct Prepared {
    isa::VerifiedProgram program;
    std::shared_ptr<const EmuUnit> unit;
    std::vector<CudaKernel> kernels;
    std::size_t first = 0;  ///< index of the first in the unit
  };
  EmuEngine(HostCompiler compiler, EmuOptions options, MmaModels models);
  [[nodiscard]] Status prepare(std::span<const isa::VerifiedProgram* const> programs,
                               const SelectOptions& options);
  [[nodiscard]] Status compile(const std::vector<const isa::VerifiedProgram*>& programs,
                               const SelectOptions& options);
  /// With probes if there is a log.
  [[nodiscard]] Result<EmuRun> launch(const isa::VerifiedProgram& program, int kernel,
                                      const std::vector<Argument>& arguments, EmuMemory& memory,
                                      const std::vector<std::string>& names, isa::ProbeLog* log);

  HostCompiler compiler_;
  EmuOptions options_;
  MmaModels models_;
  std::function<void(CudaSource&)> edit_;
  /// By program and whether it has probes.
  std::map<std::pair<const isa::Program*, bool>, Prepared> prepared_;
};

}  // namespace tilevm::backend
