#include "vm/bench/bench.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backend/driver/cuda_library.h"
#include "isa/base/suggest.h"
#include "vm/data/compare.h"
#include "vm/text/file_lock.h"

namespace tilevm::vm {

namespace {

constexpr std::uint64_t full_read_bytes = std::uint64_t{4} << 30;
/// More rounds of the longest reading change nothing.
constexpr int full_read_rounds = 10;

/// cuBLAS with the tensors of its problem.
class CublasBench {
 public:
  static Result<CublasBench> create(const CudaMachine& machine, const backend::Stopwatch& stopwatch,
                                    const MatmulSize& size, bool bf16) {
    Result<backend::Cublas> library = backend::Cublas::open(machine.engine.device());
    if (!library) return library.error();
    CublasBench bench(*std::move(library));
    bench.problem_ = {static_cast<int>(size.m), static_cast<int>(size.n), static_cast<int>(size.k),
                      bf16, false};
    // Both signs and four exponents up to 1, so that products are ordinary numbers.
    const std::uint32_t keep = bf16 ? 0x81ff81ff : 0x8fff8fff;
    const std::uint32_t set = bf16 ? 0x3e003e00 : 0x30003000;
    for (const auto& [buffer, elements] :
         {std::pair{&bench.a_, size.m * size.k}, std::pair{&bench.b_, size.k * size.n},
          std::pair{&bench.c_, size.m * size.n}}) {
      const std::size_t bytes = (static_cast<std::size_t>(elements) * 2 + 3) / 4 * 4;
      Result<backend::DeviceBuffer> made = machine.engine.device().allocate(bytes);
      if (!made) return made.error();
      *buffer = *std::move(made);
      if (Status s = stopwatch.fill_random(*buffer, keep, set); !s) return s.error();
    }
    return bench;
  }

  [[nodiscard]] std::string describe() const { return library_.describe(); }
  Status multiply(bool transposed) {
    backend::MatmulProblem problem = problem_;
    problem.transposed = transposed;
    return library_.multiply(problem, a_, b_, c_);
  }

 private:
  explicit CublasBench(backend::Cublas library) : library_(std::move(library)) {}
  backend::Cublas library_;
  backend::MatmulProblem problem_;
  backend::DeviceBuffer a_, b_, c_;
};

/// One entry on one device.
class Bench {
 public:
  Bench(CudaMachine& machine, backend::LoadedProgram program, const EntryData& data,
        const BenchSettings& settings)
      : machine_(machine),
        program_(std::move(program)),
        entry_(data.entry),
        data_(data),
        settings_(settings) {}

  /// Runs the entry on its data and keeps its tensors on the device.
  Result<std::vector<HostTensor>> run() {
    memory_ = {};
    Result<backend::DeviceMemory> memory = machine_.engine.upload(data_.buffers);
    if (!memory) return memory.error();
    memory_ = *std::move(memory);
    for (const isa::Launch& launch : entry_.launches) {
      if (Status status = this->launch(launch); !status) return status.error();
    }
    const Status done = machine_.engine.device().wait(settings_.timing.timeout);
    if (!done) return done.error();
    return outputs();
  }

  /// Times every launch that the settings ask for.
  Status time(BenchReport& report) {
    const std::uint64_t most = largest_launch();
    const std::uint64_t full = settings_.peak ? full_read_bytes_of_device() : 0;
    report.device_bytes = entry_bytes(entry_) + std::max(most, full) + backend::eviction_bytes;
    Result<backend::Stopwatch> stopwatch =
        backend::Stopwatch::create(machine_.engine.device(), std::max(most, full));
    if (!stopwatch) return stopwatch.error();
    Result<std::optional<CublasBench>> cublas = open_cublas(*stopwatch, report);
    if (!cublas) return cublas.error();
    if (full > 0) {
      if (Status status = time_full_read(*stopwatch, full, report); !status) return status;
    }
    for (std::size_t i = 0; i < entry_.launches.size(); ++i) {
      if (!is_wanted(entry_.launches[i])) continue;
      CublasBench* rival = *cublas ? &**cublas : nullptr;
      Result<KernelTime> kernel = time_launch(*stopwatch, i, rival);
      if (!kernel) return kernel.error();
      report.kernels.push_back(*std::move(kernel));
    }
    const bool all = settings_.kernel.empty() && entry_.launches.size() > 1;
    return all ? time_whole(*stopwatch, report) : Done{};
  }

  [[nodiscard]] bool is_wanted(const isa::Launch& launch) const {
    return settings_.kernel.empty() || kernel(launch).name == settings_.kernel;
  }

 private:
  [[nodiscard]] const isa::Kernel& kernel(const isa::Launch& launch) const {
    return program_.program().kernel(launch.kernel);
  }

  Status launch(const isa::Launch& launch) {
    return machine_.engine.launch(program_, launch.kernel, launch.arguments, memory_);
  }

  Result<std::vector<HostTensor>> outputs() const {
    std::vector<HostTensor> tensors;
    for (std::size_t i = 0; i < entry_.tensors.size(); ++i) {
      if (!entry_.tensors[i].output) continue;
      HostTensor tensor{entry_.tensors[i].dtype, entry_.tensors[i].shape, {}};
      tensor.data.resize(data_.buffers[i].size());
      if (Status s = memory_[i].read(tensor.data.data(), tensor.data.size()); !s) return s.error();
      tensors.push_back(std::move(tensor));
    }
    return tensors;
  }

  [[nodiscard]] std::uint64_t largest_launch() const {
    std::uint64_t most = 0;
    for (const isa::Launch& launch : entry_.launches) {
      if (is_wanted(launch)) most = std::max(most, launch_bytes(entry_, launch));
    }
    return most;
  }

  /// Less than the usual size where that would be much of the device's memory.
  [[nodiscard]] std::uint64_t full_read_bytes_of_device() const {
    const std::uint64_t memory = machine_.engine.device().properties().memory_bytes;
    return std::min<std::uint64_t>(full_read_bytes, memory / 8);
  }

  Status time_full_read(const backend::Stopwatch& stopwatch, std::uint64_t bytes,
                        BenchReport& report) {
    backend::TimingOptions options = settings_.timing;
    options.rounds = std::min(options.rounds, full_read_rounds);
    options.warm = false;
    const auto times = stopwatch.time({[&] { return stopwatch.read(bytes); }}, options);
    if (!times) return times.error();
    report.peak_bytes = bytes;
    report.peak = times->front();
    return Done{};
  }

  /// Nothing, with the reason in the report, where there is nothing to compare with.
  Result<std::optional<CublasBench>> open_cublas(const backend::Stopwatch& stopwatch,
                                                 BenchReport& report) const {
    std::optional<CublasBench> none;
    if (!settings_.cublas) return none;
    const bool any_product =
        std::any_of(entry_.launches.begin(), entry_.launches.end(),
                    [&](const isa::Launch& launch) { return has_product(kernel(launch)); });
    if (!settings_.size || !any_product) {
      report.cublas_why = !any_product ? "no kernel has a matrix product"
                                       : "the sizes are unknown: the file has no positive integer "
                                         "constants M, N and K";
      return none;
    }
    const bool bf16 = std::any_of(
        entry_.tensors.begin(), entry_.tensors.end(),
        [](const Entry::Tensor& tensor) { return tensor.input && tensor.dtype == isa::bf16; });
    Result<CublasBench> bench = CublasBench::create(machine_, stopwatch, *settings_.size, bf16);
    if (!bench) {
      if (machine_.engine.device().lost()) return bench.error();
      report.cublas_why = bench.error().message;
      return none;
    }
    report.cublas = bench->describe();
    const MatmulSize& size = *settings_.size;
    report.device_bytes +=
        2 * static_cast<std::uint64_t>(size.m * size.k + size.k * size.n + size.m * size.n);
    return std::optional(*std::move(bench));
  }

  Result<KernelTime> time_launch(const backend::Stopwatch& stopwatch, std::size_t index,
                                 CublasBench* cublas) {
    const isa::Launch& launch = entry_.launches[index];
    const backend::CudaKernel& emitted =
        program_.source().kernels[static_cast<std::size_t>(launch.kernel)];
    KernelTime result;
    result.name = name_of(index);
    result.bytes = launch_bytes(entry_, launch);
    result.properties = program_.properties(launch.kernel);
    result.threads = emitted.threads;
    result.shared_bytes = emitted.shared_bytes;
    std::vector<backend::Work> works = {[&] { return this->launch(launch); },
                                        [&] { return stopwatch.read(result.bytes); }};
    const bool is_matmul = has_product(kernel(launch));
    if (is_matmul && settings_.size) result.operations = settings_.size->operations();
    if (is_matmul && cublas != nullptr) {
      Result<CublasTime> both = time_cublas(stopwatch, *cublas);
      if (!both) return both.error();
      result.cublas = *both;
      const bool transposed = both->tn.median < both->nn.median;
      works.emplace_back([=] { return cublas->multiply(transposed); });
    }
    const Result<std::vector<backend::Spread>> times = stopwatch.time(works, settings_.timing);
    if (!times) return times.error();
    result.time = (*times)[0];
    result.read = (*times)[1];
    if (result.cublas) result.cublas->time = (*times)[2];
    return result;
  }

  /// Both variants in turns. Only the faster runs in turns with a kernel, so that each of the two
  /// has as many launches: what one draws from the GPU's power slows the other.
  Result<CublasTime> time_cublas(const backend::Stopwatch& stopwatch, CublasBench& cublas) const {
    const auto times = stopwatch.time(
        {[&] { return cublas.multiply(false); }, [&] { return cublas.multiply(true); }},
        settings_.timing);
    if (!times) return times.error();
    return CublasTime{(*times)[0], (*times)[1], {}};
  }

  Status time_whole(const backend::Stopwatch& stopwatch, BenchReport& report) const {
    const backend::Addresses addresses = memory_.addresses();
    const auto launch_all = [&](backend::cuda::Stream stream) -> Status {
      for (const isa::Launch& launch : entry_.launches) {
        Status put = machine_.engine.launch(program_, launch.kernel, launch.arguments, addresses,
                                            memory_.workspaces(), stream);
        if (!put) return put;
      }
      return Done{};
    };
    const Result<backend::Graph> graph = machine_.engine.device().capture(launch_all);
    if (!graph) return graph.error();
    const auto times = stopwatch.time(
        {[&] { return launch_all(nullptr); }, [&] { return graph->launch(); }}, settings_.timing);
    if (!times) return times.error();
    report.whole = {(*times)[0], (*times)[1]};
    return Done{};
  }

  [[nodiscard]] std::string name_of(std::size_t index) const {
    const auto same = [&](const isa::Launch& launch) {
      return launch.kernel == entry_.launches[index].kernel;
    };
    const std::string& name = kernel(entry_.launches[index]).name;
    const auto begin = entry_.launches.begin();
    if (std::count_if(begin, entry_.launches.end(), same) == 1) return name;
    const auto end = begin + static_cast<std::ptrdiff_t>(index) + 1;
    return fmt::format("{}#{}", name, std::count_if(begin, end, same));
  }

  CudaMachine& machine_;
  backend::LoadedProgram program_;
  const Entry& entry_;
  const EntryData& data_;
  const BenchSettings& settings_;
  backend::DeviceMemory memory_;
};

/// What cannot be timed.
Status check_launches(const isa::VerifiedProgram& program, const Entry& entry,
                      const std::string& only) {
  std::vector<std::string> names;
  for (const isa::Launch& launch : entry.launches) {
    const std::string& name = program.kernel(launch.kernel).name;
    names.push_back(name);
    if (program.info(launch.kernel).prints.empty()) continue;
    return Error{ErrorKind::program,
                 fmt::format("`{}` prints, which takes time of its own; take its Print out", name)};
  }
  if (only.empty() || std::find(names.begin(), names.end(), only) != names.end()) return Done{};
  const std::string near = nearest(only, names);
  return Error{ErrorKind::usage,
               fmt::format("`{}` launches no kernel `{}`; {}", entry.name, only,
                           near.empty() ? fmt::format("there is `{}`", fmt::join(names, "`, `"))
                                        : fmt::format("did you mean `{}`?", near))};
}

/// The outputs of the reference, in the order of the entry's.
Result<std::vector<HostTensor>> run_reference(CudaMachine& machine,
                                              const backend::LoadedProgram& program,
                                              const EntryData& data, const EntryData& reference,
                                              const BenchSettings& settings) {
  Result<std::vector<HostTensor>> given = Bench(machine, program, reference, settings).run();
  if (!given) return given.error();
  std::vector<HostTensor> ordered;
  for (const Entry::Tensor& wanted : data.entry.tensors) {
    std::size_t next = 0;
    for (const Entry::Tensor& tensor : reference.entry.tensors) {
      if (!tensor.output) continue;
      if (wanted.output && tensor.name == wanted.name) ordered.push_back((*given)[next]);
      ++next;
    }
  }
  return ordered;
}

void compare_with_reference(const Entry& entry, const std::vector<HostTensor>& outputs,
                            const std::vector<HostTensor>& expected, BenchReport& report) {
  std::size_t next = 0;
  for (const Entry::Tensor& tensor : entry.tensors) {
    if (!tensor.output) continue;
    report.errors.push_back({tensor.name, relative_error(outputs[next], expected[next])});
    ++next;
  }
}

}  // namespace

Environment environment_of(const CudaMachine& machine) {
  const backend::Driver& driver = machine.engine.device().driver();
  return {machine.engine.device().properties().describe(), machine.engine.target(),
          fmt::format("{} (CUDA {})", driver.release().empty() ? "unknown" : driver.release(),
                      backend::cuda_version_text(driver.version())),
          machine.compiler};
}

Status refuse_spills(CudaMachine& machine, const isa::VerifiedProgram& program, const Entry& entry,
                     const std::string& kernel) {
  if (Status s = check_launches(program, entry, kernel); !s) return s;
  const Result<backend::LoadedProgram> loaded = machine.engine.prepare(program);
  if (!loaded) return loaded.error();
  for (const isa::Launch& launch : entry.launches) {
    const std::string& name = program.kernel(launch.kernel).name;
    const std::size_t bytes = loaded->properties(launch.kernel).local_bytes_per_thread;
    if (bytes == 0 || (!kernel.empty() && name != kernel)) continue;
    return Error{ErrorKind::program, fmt::format("{}: `{}` keeps {} bytes of a thread in memory",
                                                 spill_refusal, name, bytes)};
  }
  return Done{};
}

Result<BenchReport> measure(CudaMachine& machine, const isa::VerifiedProgram& program,
                            const EntryData& data, const EntryData* reference,
                            const BenchSettings& settings) {
  if (Status s = check_launches(program, data.entry, settings.kernel); !s) return s.error();
  Result<backend::LoadedProgram> loaded = machine.engine.prepare(program);
  if (!loaded) return loaded.error();
  const Result<FileLock> lock = FileLock::take(settings.lock);
  if (!lock) return lock.error();
  BenchReport report;
  report.environment = environment_of(machine);
  report.entry = data.entry.name;
  report.timing = settings.timing;
  std::vector<HostTensor> expected;
  if (reference != nullptr) {
    report.reference = reference->entry.name;
    auto given = run_reference(machine, *loaded, data, *reference, settings);
    if (!given) return given.error();
    expected = *std::move(given);
  }
  Bench bench(machine, *loaded, data, settings);
  const Result<std::vector<HostTensor>> first = bench.run();
  if (!first) return first.error();
  if (reference != nullptr) compare_with_reference(data.entry, *first, expected, report);
  if (Status status = bench.time(report); !status) return status.error();
  if (!settings.check) return report;
  const Result<std::vector<HostTensor>> second = bench.run();
  if (!second) return second.error();
  if (*first != *second) {
    return Error{ErrorKind::program,
                 fmt::format("`{}` gave other bits when it was run again: it has a race, or reads "
                             "what nothing wrote; `tilevm run` finds where",
                             data.entry.name)};
  }
  report.checked = true;
  return report;
}

}  // namespace tilevm::vm
