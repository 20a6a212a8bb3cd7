#include "backend/emu/emu_engine.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include <fmt/format.h>

#include "backend/emu/emu_launch.h"
#include "backend/emu/lane_operations.h"
#include "backend/launch/print_buffer.h"
#include "backend/launch/probe_buffer.h"
#include "backend/launch/tensor_maps.h"
#include "isa/analysis/assertion.h"
#include "isa/base/check.h"

namespace tilevm::backend {
namespace {

constexpr std::size_t alignment = 256;
/// Bytes between buffers, so that an access that misses one does not hit another.
constexpr std::size_t distance = std::size_t{1} << 16;
/// Programs that stay loaded.
constexpr std::size_t max_prepared = 4096;

/// What the tiles of a thread may take of its stack. Compilers keep some of them twice, and more
/// often where they do not optimise.
std::int64_t max_tile_bytes(int optimisation) {
  return std::int64_t{emu::stack_bytes} / (optimisation == 0 ? 16 : 4);
}

Status check_stack(const isa::Kernel& kernel, std::int64_t most) {
  std::int64_t bytes = 0;
  for (const isa::Variable& variable : kernel.variables) {
    const auto* tile = std::get_if<isa::RegisterType>(&variable.type);
    if (tile != nullptr) bytes += tile_words(*tile) * 4;
  }
  if (bytes <= most) return Done{};
  return Error{
      ErrorKind::limit,
      fmt::format("the tiles of `{}` take {} bytes in each thread; an emulated thread has {} "
                  "for them: spread the tiles over more threads, or run it in the simulator",
                  kernel.name, bytes, most)};
}

unsigned long long bits_of(const void* address) {
  return static_cast<unsigned long long>(reinterpret_cast<std::uintptr_t>(address));
}

}  // namespace

void EmuMemory::Free::operator()(unsigned char* memory) const { std::free(memory); }

EmuMemory::Buffer EmuMemory::allocate(std::size_t size) {
  Buffer buffer;
  buffer.size = size;
  buffer.reach = padded_bytes(size);
  const std::size_t whole = (buffer.reach + alignment - 1) / alignment * alignment + 2 * distance;
  buffer.memory.reset(static_cast<unsigned char*>(std::aligned_alloc(alignment, whole)));
  if (!buffer.memory) throw std::bad_alloc();
  buffer.bytes = buffer.memory.get() + distance;
  std::memset(buffer.bytes, unwritten_byte, buffer.reach);
  return buffer;
}

EmuMemory::EmuMemory(const HostBuffers& buffers) {
  for (const std::vector<std::uint8_t>& bytes : buffers) {
    buffers_.push_back(allocate(bytes.size()));
    std::copy(bytes.begin(), bytes.end(), buffers_.back().bytes);
  }
}

void EmuMemory::download(HostBuffers& buffers) const {
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    const unsigned char* const bytes = buffers_[i].bytes;
    buffers[i].assign(bytes, bytes + buffers_[i].size);
  }
}

EmuEngine::EmuEngine(HostCompiler compiler, EmuOptions options, MmaModels models)
    : compiler_(std::move(compiler)), options_(options), models_(std::move(models)) {}

Result<EmuEngine> EmuEngine::create(EmuOptions options, MmaModels models) {
  Result<HostCompiler> compiler = HostCompiler::find(options.optimisation);
  if (!compiler) return compiler.error();
  return EmuEngine(*std::move(compiler), options, std::move(models));
}

Status EmuEngine::prepare(std::span<const isa::VerifiedProgram* const> programs) {
  return prepare(programs, {});
}

Status EmuEngine::prepare(std::span<const isa::VerifiedProgram* const> programs,
                          const SelectOptions& options) {
  std::vector<const isa::VerifiedProgram*> missing;
  for (const isa::VerifiedProgram* program : programs) {
    if (!prepared_.contains({&program->program(), options.probes})) missing.push_back(program);
  }
  return missing.empty() ? Status(Done{}) : compile(missing, options);
}

Status EmuEngine::compile(const std::vector<const isa::VerifiedProgram*>& programs,
                          const SelectOptions& options) {
  for (const isa::VerifiedProgram* program : programs) {
    for (const isa::Kernel& kernel : program->program().kernels) {
      if (Status fits = check_stack(kernel, max_tile_bytes(options_.optimisation)); !fits)
        return fits;
    }
  }
  if (prepared_.size() + programs.size() > max_prepared) prepared_.clear();
  std::vector<SelectedProgram> selected;
  for (const isa::VerifiedProgram* program : programs)
    selected.push_back(select(*program, options));
  CudaSource source = emit_together(selected, MachineKind::emulated);
  if (edit_) edit_(source);
  Result<std::shared_ptr<const EmuUnit>> unit =
      EmuUnit::load(compiler_, source, programs[0]->source().name());
  if (!unit) return unit.error();
  std::size_t first = 0;
  for (std::size_t p = 0; p < programs.size(); ++p) {
    Prepared prepared{*programs[p], *unit, {}, first};
    for (; first < source.kernels.size() && source.kernels[first].program == p; ++first) {
      prepared.kernels.push_back(source.kernels[first]);
    }
    prepared_.insert_or_assign({&programs[p]->program(), options.probes}, std::move(prepared));
  }
  return Done{};
}

/// Fills in the arguments and the memory of a launch.
class EmuArguments {
 public:
  /// `log` is that of a kernel with probes, else null.
  EmuArguments(const isa::VerifiedProgram& program, const CudaKernel& emitted, EmuLaunch& launch,
               isa::ProbeLog* log)
      : program_(program),
        kernel_(program.kernel(emitted.kernel)),
        emitted_(emitted),
        launch_(launch),
        log_(log) {}

  Status bind(const std::vector<Argument>& arguments, const EmuMemory& memory,
              const std::vector<std::string>& names) {
    for (std::size_t i = 0; i < memory.buffers_.size(); ++i) {
      const EmuMemory::Buffer& buffer = memory.buffers_[i];
      launch_.memory.add(names[i], buffer.bytes, buffer.size, buffer.reach);
      probed_.push_back({bits_of(buffer.bytes), buffer.reach});
    }
    for (std::size_t i = 0; i < emitted_.parameters.size(); ++i) {
      const CudaParameter& parameter = emitted_.parameters[i];
      if (parameter.role == CudaParameter::Role::tensor_map) {
        if (Status made = add_map(*parameter.map, arguments); !made) return made;
      } else if (i >= arguments.size()) {
        add_hidden(parameter);
      } else if (Status bound = bind(parameter, arguments[i], memory); !bound) {
        return bound;
      }
    }
    return Done{};
  }

  /// What the kernel printed; nothing if it has no prints.
  [[nodiscard]] Result<std::optional<isa::LaunchPrints>> read_prints(
      const std::vector<isa::PrintSite>& sites) const {
    if (sites.empty()) return std::optional<isa::LaunchPrints>();
    const EmuMemory::Buffer& prints = own_[prints_];
    const auto read = [&](void* to, std::size_t bytes, std::size_t offset) -> Status {
      TILEVM_CHECK(offset <= prints.size && bytes <= prints.size - offset, "prints past the end");
      if (bytes > 0) std::memcpy(to, prints.bytes + offset, bytes);  // `to` may be null of none
      return Done{};
    };
    const auto& grid = launch_.grid;
    auto records = read_print_buffer(read, emitted_.kernel, {grid[0], grid[1], grid[2]}, sites);
    if (!records) return records.error();
    return std::optional(*std::move(records));
  }

  /// The report of an assertion that failed; nothing if none did.
  [[nodiscard]] std::optional<Diagnostic> failed_assertion() const {
    if (!assertions_) return std::nullopt;
    isa::AssertionRecord record;
    std::memcpy(record.data(), own_[*assertions_].bytes, sizeof record);
    const auto failed = isa::read_assertion(record);
    if (!failed) return std::nullopt;
    return isa::assertion_report(*failed, kernel_, launch_.grid);
  }

  /// Fills the log of a kernel with probes.
  [[nodiscard]] Status read_probes() const {
    if (log_ == nullptr) return Done{};
    const EmuMemory::Buffer& probes = own_.back();
    return read_probe_buffer(program_, {probes.bytes, probes.bytes + probes.size}, *log_);
  }

 private:
  Status bind(const CudaParameter& parameter, const Argument& argument, const EmuMemory& memory) {
    if (parameter.role == CudaParameter::Role::scalar) {
      const auto* scalar = std::get_if<isa::Scalar>(&argument);
      if (scalar == nullptr || scalar->kind != parameter.scalar) {
        return wrong_argument(kernel_, parameter.var, to_string(parameter.scalar));
      }
      launch_.arguments.push_back(scalar->bits);
      return Done{};
    }
    const auto* index = std::get_if<int>(&argument);
    if (index == nullptr || *index < 0 ||
        static_cast<std::size_t>(*index) >= memory.buffers_.size()) {
      return wrong_argument(kernel_, parameter.var, "a buffer");
    }
    const EmuMemory::Buffer& buffer = memory.buffers_[static_cast<std::size_t>(*index)];
    launch_.arguments.push_back(bits_of(buffer.bytes));
    return Done{};
  }

  /// The launch keeps the map, whose address is the argument.
  Status add_map(const MapOfView& map, const std::vector<Argument>& arguments) {
    const Result<MapNumbers> numbers = map_numbers(kernel_, emitted_, map, arguments);
    if (!numbers) return numbers.error();
    const unsigned long long address = launch_.arguments[numbers->pointer];
    if (Status fits = check_map_address(kernel_, map, address); !fits) return fits;
    auto made = std::make_unique<emu::TensorMap>();
    made->address = reinterpret_cast<unsigned char*>(static_cast<std::uintptr_t>(address));
    made->rank = static_cast<unsigned>(numbers->extents.size());
    made->element_bytes = static_cast<unsigned>(map.dtype.bits / 8);
    made->swizzle_bytes = static_cast<unsigned>(map.map.swizzle_bytes);
    made->fill_nan = map.map.fill_nan;
    for (std::size_t d = 0; d < made->rank; ++d) {
      const std::size_t dim = made->rank - 1 - d;  // maps begin with the innermost dimension
      made->extents[d] = static_cast<unsigned long long>(numbers->extents[dim]);
      made->strides[d] =
          d == 0 ? made->element_bytes : static_cast<unsigned long long>(numbers->strides[dim]);
      made->box[d] = static_cast<unsigned>(map.map.box[dim]);
    }
    launch_.arguments.push_back(bits_of(made.get()));
    maps_.push_back(std::move(made));
    return Done{};
  }

  /// Memory that a kernel has besides its parameters (CudaParameter).
  void add_hidden(const CudaParameter& parameter) {
    if (parameter.role == CudaParameter::Role::probes) {
      const std::vector<std::uint8_t> made = make_probe_buffer(program_, *log_, probed_);
      std::copy(made.begin(), made.end(), add_own("probes", made.size()));
      return;
    }
    if (parameter.role == CudaParameter::Role::prints) {
      const auto& grid = launch_.grid;
      const std::vector<std::uint8_t> made =
          make_print_buffer(std::uint64_t{grid[0]} * grid[1] * grid[2]);
      std::copy(made.begin(), made.end(), add_own("prints", made.size()));
      prints_ = own_.size() - 1;
      return;
    }
    if (parameter.role == CudaParameter::Role::assertions) {
      constexpr std::size_t bytes = sizeof(isa::AssertionRecord);
      std::memset(add_own("assertions", bytes), 0, bytes);
      assertions_ = own_.size() - 1;
      return;
    }
    const auto bytes = static_cast<std::size_t>(parameter.workspace_bytes);
    unsigned char* const begin = add_own(kernel_.variable(parameter.var).name, bytes);
    if (parameter.zeroed) std::memset(begin, 0, own_.back().reach);
    probed_.push_back({bits_of(begin), own_.back().reach});
  }

  unsigned char* add_own(const std::string& name, std::size_t bytes) {
    own_.push_back(EmuMemory::allocate(bytes));
    unsigned char* const begin = own_.back().bytes;
    launch_.memory.add(name, begin, bytes, own_.back().reach);
    launch_.arguments.push_back(bits_of(begin));
    return begin;
  }

  const isa::VerifiedProgram& program_;
  const isa::Kernel& kernel_;
  const CudaKernel& emitted_;
  EmuLaunch& launch_;
  isa::ProbeLog* log_;
  std::vector<EmuMemory::Buffer> own_;
  std::vector<std::unique_ptr<emu::TensorMap>> maps_;
  std::size_t prints_ = 0;                 ///< index in own_, of a kernel that prints
  std::optional<std::size_t> assertions_;  ///< index in own_, of a kernel with assertions
  std::vector<ProbedBuffer> probed_;       ///< the tensors and the workspaces
};

Result<EmuRun> EmuEngine::launch(const isa::VerifiedProgram& program, int kernel,
                                 const std::vector<Argument>& arguments, EmuMemory& memory,
                                 const std::vector<std::string>& names) {
  return launch(program, kernel, arguments, memory, names, nullptr);
}

Result<EmuRun> EmuEngine::launch_probed(const isa::VerifiedProgram& program, int kernel,
                                        const std::vector<Argument>& arguments, EmuMemory& memory,
                                        const std::vector<std::string>& names, isa::ProbeLog& log) {
  return launch(program, kernel, arguments, memory, names, &log);
}

Result<EmuRun> EmuEngine::launch(const isa::VerifiedProgram& program, int kernel,
                                 const std::vector<Argument>& arguments, EmuMemory& memory,
                                 const std::vector<std::string>& names, isa::ProbeLog* log) {
  const isa::VerifiedProgram* const one = &program;
  const bool probes = log != nullptr;
  if (Status ready = prepare({&one, 1}, {.probes = probes}); !ready) return ready.error();
  const Prepared& prepared = prepared_.at({&program.program(), probes});
  const auto index = static_cast<std::size_t>(kernel);
  const CudaKernel& emitted = prepared.kernels[index];
  const Result<std::array<unsigned, 3>> grid = grid_of(program.kernel(kernel), emitted, arguments);
  if (!grid) return grid.error();

  EmuLaunch launch;
  launch.operations = lane_operations();
  launch.entry = prepared.unit->entry(prepared.first + index);
  launch.grid = *grid;
  const std::vector<std::int64_t>& cluster = program.kernel(kernel).cluster;
  std::transform(cluster.begin(), cluster.end(), launch.cluster.begin(),
                 [](std::int64_t blocks) { return static_cast<unsigned>(blocks); });
  launch.threads = static_cast<unsigned>(emitted.threads);
  launch.shared_bytes = static_cast<std::size_t>(emitted.shared_bytes);
  launch.barrier_bytes = static_cast<std::size_t>(emitted.barrier_bytes);
  launch.compares_stores = emitted.stores_replicas;
  launch.mma = &prepared.unit->mma();
  launch.wgmma = &prepared.unit->wgmma();
  launch.options = options_;
  launch.phases_order_stores = emitted.orders_itself;
  launch.options.check_order = options_.check_order && !emitted.orders_itself;
  const MmaModel model = models_(program.target());
  launch.model = &model;
  EmuArguments binder(program, emitted, launch, log);
  if (Status bound = binder.bind(arguments, memory, names); !bound) return bound.error();

  Result<std::optional<EmuFault>> fault = run_emulated(launch);
  if (!fault) return fault.error();
  if (Status read = binder.read_probes(); !read) return read.error();
  if (std::optional<EmuFault>& met = *fault) {
    if (met->line == 0) met->line = prepared.unit->line_of(met->frames);
    if (met->earlier != nullptr) met->earlier_line = prepared.unit->line_of({met->earlier});
    return EmuRun{std::move(met), {}, binder.failed_assertion()};
  }
  auto prints = binder.read_prints(program.info(kernel).prints);
  if (!prints) return prints.error();
  return EmuRun{{}, *std::move(prints), {}};
}

}  // namespace tilevm::backend
