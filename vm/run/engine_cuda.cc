#include "vm/run/engine_cuda.h"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "backend/compile/toolchain.h"
#include "backend/driver/cuda_library.h"
#include "backend/launch/kernel_arguments.h"
#include "isa/analysis/assertion.h"
#include "vm/run/compile_report.h"

namespace tilevm::vm {

namespace {

class CudaRunner final : public Engine {
 public:
  CudaRunner(CudaMachine machine, const EngineOptions& options)
      : engine_(std::move(machine.engine)),
        target_(machine.target),
        compiler_(std::move(machine.compiler)),
        name_(options.level ? fmt::format("cuda:O{}", *options.level) : "cuda"),
        timeout_(options.timeout) {}

  [[nodiscard]] std::string_view name() const override { return name_; }
  [[nodiscard]] std::string device() const override {
    return engine_.device().properties().describe();
  }
  [[nodiscard]] std::string driver() const override { return engine_.device().driver().release(); }
  [[nodiscard]] std::string compiler() const override { return compiler_; }
  [[nodiscard]] std::optional<isa::Target> target() const override { return target_; }

  [[nodiscard]] Status prepare(std::span<const isa::VerifiedProgram* const> programs) override {
    for (const isa::VerifiedProgram* program : programs) {
      if (Status fits = check_target(*program, target_); !fits) return fits;
    }
    Result<std::vector<backend::LoadedProgram>> loaded = engine_.prepare_together(programs);
    if (!loaded) return loaded.error();
    prepared_ = *std::move(loaded);
    return Done{};
  }

  [[nodiscard]] std::optional<Failure> run(const isa::VerifiedProgram& program, const Entry& entry,
                                           std::vector<HostTensor>& tensors,
                                           RunReport& report) override {
    if (const Status fits = check_target(program, target_); !fits) return fits.error();
    const auto start = std::chrono::steady_clock::now();
    Result<backend::LoadedProgram> loaded = load(program);
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    report.prepare_milliseconds = took.count();
    if (!loaded) return loaded.error();
    note_spills(*loaded, entry, report.notes);
    backend::HostBuffers buffers;
    for (HostTensor& tensor : tensors) buffers.push_back(std::move(tensor.data));
    const Status status = run_loaded(*loaded, entry, buffers, report);
    for (std::size_t i = 0; i < tensors.size(); ++i) tensors[i].data = std::move(buffers[i]);
    if (!status) return failure(program, *loaded, entry, status.error());
    return std::nullopt;
  }

  [[nodiscard]] std::optional<Failure> run_probed(const isa::VerifiedProgram& program,
                                                  const Entry& entry,
                                                  std::vector<HostTensor>& tensors,
                                                  ProbeRun& probes) override {
    if (const Status fits = check_target(program, target_); !fits) return fits.error();
    Result<backend::LoadedProgram> loaded = engine_.prepare(program, {.probes = true});
    if (!loaded) return loaded.error();
    backend::HostBuffers buffers;
    for (HostTensor& tensor : tensors) buffers.push_back(std::move(tensor.data));
    const Status status = launch_probed(*loaded, entry, buffers, probes);
    for (std::size_t i = 0; i < tensors.size(); ++i) tensors[i].data = std::move(buffers[i]);
    if (!status) return failure(program, *loaded, entry, status.error());
    return std::nullopt;
  }

 private:
  /// The assertion that ended the launches, or else what the driver said.
  [[nodiscard]] Failure failure(const isa::VerifiedProgram& program,
                                const backend::LoadedProgram& loaded, const Entry& entry,
                                const Error& error) const {
    const auto failed = engine_.failed_assertion();
    if (!failed) return error;
    for (const isa::Launch& launch : entry.launches) {
      if (launch.kernel != failed->kernel) continue;
      const isa::Kernel& kernel = program.kernel(launch.kernel);
      const auto& emitted = loaded.source().kernels[static_cast<std::size_t>(launch.kernel)];
      const auto grid = backend::grid_of(kernel, emitted, launch.arguments);
      if (!grid) continue;
      if (auto report = isa::assertion_report(*failed, kernel, *grid)) {
        Diagnostics diagnostics;
        diagnostics.report(*std::move(report));
        return diagnostics;
      }
    }
    return error;
  }

  /// A program of the latest batch is loaded.
  Result<backend::LoadedProgram> load(const isa::VerifiedProgram& program) {
    for (const backend::LoadedProgram& each : prepared_) {
      if (&each.program().program() == &program.program()) return each;
    }
    return engine_.prepare(program);
  }

  Status launch_probed(const backend::LoadedProgram& program, const Entry& entry,
                       backend::HostBuffers& buffers, ProbeRun& probes) {
    Result<backend::DeviceMemory> memory = engine_.upload(buffers);
    if (!memory) return memory.error();
    for (std::size_t i = 0; i < entry.launches.size(); ++i) {
      const isa::Launch& launch = entry.launches[i];
      Status status = engine_.launch_probed(program, launch.kernel, launch.arguments, *memory,
                                            timeout_, probes.launches[i]);
      if (!status) return status;
    }
    return engine_.download(*memory, buffers, timeout_);
  }

  /// Notes spills of the kernels that the entry launches.
  static void note_spills(const backend::LoadedProgram& program, const Entry& entry,
                          Diagnostics& notes) {
    for (const backend::CudaKernel& kernel : program.source().kernels) {
      const bool launched =
          std::any_of(entry.launches.begin(), entry.launches.end(),
                      [&](const isa::Launch& launch) { return launch.kernel == kernel.kernel; });
      if (!launched) continue;
      const auto bytes = program.properties(kernel.kernel).local_bytes_per_thread;
      warn_of_spills(program.program().kernel(kernel.kernel), kernel.threads,
                     static_cast<std::int64_t>(bytes), notes);
    }
  }

  /// Uploads, launches between two events, downloads.
  Status run_loaded(const backend::LoadedProgram& program, const Entry& entry,
                    backend::HostBuffers& buffers, RunReport& report) {
    Result<backend::DeviceMemory> memory = engine_.upload(buffers);
    if (!memory) return memory.error();
    Result<backend::Event> begin = engine_.device().make_event();
    if (!begin) return begin.error();
    Result<backend::Event> end = engine_.device().make_event();
    if (!end) return end.error();
    if (Status status = begin->record(); !status) return status;
    for (const isa::Launch& launch : entry.launches) {
      Status status = engine_.launch(program, launch.kernel, launch.arguments, *memory);
      if (!status) return status;
      if (program.program().info(launch.kernel).prints.empty()) continue;
      if (Status ended = engine_.device().wait(timeout_); !ended) return ended;
      Result<isa::LaunchPrints> prints = engine_.read_prints(program, launch.kernel, *memory);
      if (!prints) return prints.error();
      if (!prints->empty()) report.prints.push_back(*std::move(prints));
    }
    if (Status status = end->record(); !status) return status;
    if (Status status = engine_.download(*memory, buffers, timeout_); !status) return status;
    const Result<float> elapsed = backend::Event::elapsed(*begin, *end);
    if (!elapsed) return elapsed.error();
    report.milliseconds = static_cast<double>(*elapsed);
    return Done{};
  }

  backend::CudaEngine engine_;
  isa::Target target_;
  std::string compiler_, name_;
  std::chrono::milliseconds timeout_;
  std::vector<backend::LoadedProgram> prepared_;  ///< together
};

}  // namespace

Status check_target(const isa::VerifiedProgram& program, const isa::Target& device) {
  if (program.target().sm == device.sm) return Done{};
  return Error{ErrorKind::usage,
               fmt::format("the program is for {}, the device is {}: leave the target out, or "
                           "give the device's",
                           isa::to_string(program.target()), isa::to_string(device))};
}

Result<CudaMachine> open_cuda(int ordinal, backend::BuildOptions build) {
  Result<backend::CudaEngine> engine = backend::CudaEngine::create(ordinal, std::move(build));
  if (!engine) return engine.error();
  const Result<isa::Target> target = isa::parse_target(engine->target());
  if (!target) {
    return Error{ErrorKind::unavailable, fmt::format("this version knows no {}: {}",
                                                     engine->target(), target.error().message)};
  }
  const Result<std::string> compiler =
      backend::describe_compiler(backend::CompilerChoice::automatic);
  if (!compiler) return compiler.error();
  return CudaMachine{*std::move(engine), *target, *compiler};
}

Result<std::unique_ptr<Engine>> make_cuda_engine(const EngineOptions& options) {
  Result<CudaMachine> machine = open_cuda(-1, {options.level, options.edit_text});
  if (!machine) return machine.error();
  return std::unique_ptr<Engine>(std::make_unique<CudaRunner>(*std::move(machine), options));
}

}  // namespace tilevm::vm
