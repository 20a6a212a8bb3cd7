#include "backend/engine/engine.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "backend/compile/kernel_cache.h"
#include "backend/engine/map_arguments.h"
#include "backend/launch/print_buffer.h"
#include "backend/launch/probe_buffer.h"

namespace tilevm::backend {
namespace {

/// Programs that stay loaded in a process.
constexpr std::size_t max_loaded = 64;

std::size_t at(int index) { return static_cast<std::size_t>(index); }

/// What the device holds of a program text.
struct LoadedText {
  std::vector<LoadedKernel> kernels;  // as in CudaSource::kernels
  std::string log;
};

Result<LoadedText> compile_and_load(const Device& device, const CudaSource& source,
                                    const BuildOptions& build, std::string name) {
  CompileRequest request;
  request.level = build.level;
  request.source = source.text;
  request.name = std::move(name);
  request.target = device.properties().target();
  Result<Compiled> compiled = compile_cached(request);
  if (!compiled) return compiled.error();
  Result<Module> module = device.load(compiled->image);
  if (!module) return module.error();
  LoadedText loaded;
  loaded.log = std::move(compiled->log);
  for (const CudaKernel& kernel : source.kernels) {
    Result<LoadedKernel> entry = module->kernel(kernel.entry, kernel.parameters.size());
    if (!entry) return entry.error();
    loaded.kernels.push_back(*std::move(entry));
  }
  return loaded;
}

/// Binds the program's own parameters.
Result<LaunchArguments> bind_tensors(const isa::Kernel& kernel, const CudaKernel& emitted,
                                     const std::vector<Argument>& arguments,
                                     const Addresses& buffers) {
  LaunchArguments bound;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const CudaParameter& parameter = emitted.parameters[i];
    if (parameter.role == CudaParameter::Role::scalar) {
      const auto* scalar = std::get_if<isa::Scalar>(&arguments[i]);
      if (scalar == nullptr || scalar->kind != parameter.scalar) {
        return wrong_argument(kernel, parameter.var, to_string(parameter.scalar));
      }
      bound.add_bits(scalar->bits, parameter.bytes());
    } else {
      const auto* index = std::get_if<int>(&arguments[i]);
      if (index == nullptr || *index < 0 || static_cast<std::size_t>(*index) >= buffers.size()) {
        return wrong_argument(kernel, parameter.var, "a buffer");
      }
      bound.add(buffers[static_cast<std::size_t>(*index)]);
    }
  }
  return bound;
}

/// Binds the workspaces that follow. Workspaces that must begin as zeros are cleared on the stream.
Status add_workspaces(const CudaKernel& emitted, const Workspaces& workspaces, cuda::Stream stream,
                      LaunchArguments& bound) {
  std::size_t position = 0;
  for (const CudaParameter& parameter : emitted.parameters) {
    if (parameter.role != CudaParameter::Role::workspace) continue;
    TILEVM_CHECK(position < workspaces.size(), "a workspace that was not reserved");
    const DeviceBuffer& workspace = workspaces[position++];
    if (parameter.zeroed) {
      if (Status filled = workspace.fill(0, stream); !filled) return filled;
    }
    bound.add(workspace);
  }
  return Done{};
}

bool has_assertions(const CudaSource& source) {
  return std::any_of(source.kernels.begin(), source.kernels.end(),
                     [](const CudaKernel& kernel) { return kernel.has_assertions(); });
}

}  // namespace

struct LoadedProgram::State {
  isa::VerifiedProgram program;
  CudaSource source;  ///< source with the kernels of this program alone
  std::shared_ptr<const LoadedText> text;
  std::size_t first = 0;  ///< kernel of this program in the text

  [[nodiscard]] const LoadedKernel& kernel(int index) const {
    return text->kernels[first + at(index)];
  }
};

struct CudaEngine::Cache {
  std::mutex mutex;
  std::map<std::string, std::shared_ptr<const LoadedText>> texts;
  /// Where kernels say which assertion failed. One for all of the engine's launches, since the
  /// first fault ends them all.
  std::optional<HostRecord> assertions;
};

const isa::VerifiedProgram& LoadedProgram::program() const { return state_->program; }
const CudaSource& LoadedProgram::source() const { return state_->source; }
const std::string& LoadedProgram::compiler_log() const { return state_->text->log; }
const KernelProperties& LoadedProgram::properties(int kernel) const {
  return state_->kernel(kernel).properties();
}

CudaEngine::CudaEngine(Device device, BuildOptions build)
    : device_(std::move(device)), build_(std::move(build)), cache_(std::make_shared<Cache>()) {}

Result<CudaEngine> CudaEngine::create(int ordinal, BuildOptions build) {
  Result<Device> device = Device::open(ordinal);
  if (!device) return device.error();
  return CudaEngine(*std::move(device), std::move(build));
}

Result<LoadedProgram> CudaEngine::prepare(const isa::VerifiedProgram& program) {
  return prepare(program, {});
}

Result<LoadedProgram> CudaEngine::prepare(const isa::VerifiedProgram& program,
                                          const SelectOptions& options) {
  const isa::VerifiedProgram* const one = &program;
  Result<std::vector<LoadedProgram>> loaded = prepare_together({&one, 1}, options);
  if (!loaded) return loaded.error();
  return std::move(loaded->front());
}

Result<std::vector<LoadedProgram>> CudaEngine::prepare_together(
    std::span<const isa::VerifiedProgram* const> programs) {
  return prepare_together(programs, {});
}

Result<std::vector<LoadedProgram>> CudaEngine::prepare_together(
    std::span<const isa::VerifiedProgram* const> programs, const SelectOptions& options) {
  if (programs.empty()) return std::vector<LoadedProgram>();
  std::vector<SelectedProgram> selected;
  for (const isa::VerifiedProgram* program : programs)
    selected.push_back(select(*program, options));
  CudaSource source = emit_together(selected, MachineKind::gpu);
  if (build_.edit_text) source.text = build_.edit_text(std::move(source.text));
  const std::lock_guard lock(cache_->mutex);
  if (has_assertions(source) && !cache_->assertions) {
    Result<HostRecord> record = device_.make_record(sizeof(isa::AssertionRecord));
    if (!record) return record.error();
    cache_->assertions = *std::move(record);
  }
  std::shared_ptr<const LoadedText>& text = cache_->texts[source.text];
  if (!text) {
    Result<LoadedText> loaded =
        compile_and_load(device_, source, build_, programs.front()->source().name() + ".cu");
    if (!loaded) {
      cache_->texts.erase(source.text);
      return loaded.error();
    }
    text = std::make_shared<const LoadedText>(*std::move(loaded));
  }
  std::vector<LoadedProgram> result(programs.size());
  std::size_t first = 0;
  for (std::size_t p = 0; p < programs.size(); ++p) {
    CudaSource own = source;
    std::erase_if(own.kernels, [&](const CudaKernel& kernel) { return kernel.program != p; });
    const std::size_t count = own.kernels.size();
    result[p].state_ = std::make_shared<const LoadedProgram::State>(
        LoadedProgram::State{*programs[p], std::move(own), text, first});
    first += count;
  }
  if (cache_->texts.size() > max_loaded) cache_->texts.clear();
  return result;
}

Result<DeviceBuffer> CudaEngine::allocate(std::size_t bytes) const {
  return device_.allocate(padded_bytes(bytes));
}

Result<DeviceMemory> CudaEngine::upload(const HostBuffers& buffers) const {
  DeviceMemory memory;
  for (const auto& bytes : buffers) {
    Result<DeviceBuffer> buffer = allocate(bytes.size());
    if (!buffer) return buffer.error();
    if (Status status = buffer->write(bytes.data(), bytes.size()); !status) return status.error();
    memory.buffers_.push_back(*std::move(buffer));
    memory.bytes_.push_back(bytes.size());
  }
  return memory;
}

Addresses DeviceMemory::addresses() const {
  Addresses addresses;
  addresses.reserve(buffers_.size());
  for (const DeviceBuffer& buffer : buffers_) addresses.push_back(buffer.address());
  return addresses;
}

Status CudaEngine::reserve(const LoadedProgram& program, int kernel, Workspaces& workspaces) const {
  std::size_t position = 0;
  for (const CudaParameter& parameter : program.source().kernels[at(kernel)].parameters) {
    if (parameter.role != CudaParameter::Role::workspace) continue;
    const auto bytes = static_cast<std::size_t>(parameter.workspace_bytes);
    if (workspaces.size() <= position) workspaces.resize(position + 1);
    DeviceBuffer& workspace = workspaces[position++];
    if (workspace.size() >= padded_bytes(bytes)) continue;
    Result<DeviceBuffer> buffer = allocate(bytes);
    if (!buffer) return buffer.error();
    // Launches that still use the old one finish before the driver frees it.
    workspace = *std::move(buffer);
  }
  return Done{};
}

Status CudaEngine::prepare_prints(const std::array<unsigned, 3>& grid, DeviceMemory& memory) const {
  std::uint64_t blocks = 1;
  for (std::size_t d = 0; d < grid.size(); ++d) {
    memory.print_grid_[d] = grid[d];
    blocks *= grid[d];
  }
  const std::size_t bytes = print_buffer_bytes(blocks);
  if (memory.prints_.size() < bytes) {
    Result<DeviceBuffer> larger = device_.allocate(bytes);
    if (!larger) return larger.error();
    memory.prints_ = *std::move(larger);
  }
  if (Status status = memory.prints_.fill(0); !status) return status;
  const std::vector<std::uint8_t> head = print_buffer_head(blocks);
  return memory.prints_.write(head.data(), head.size());
}

Result<isa::LaunchPrints> CudaEngine::read_prints(const LoadedProgram& program, int kernel,
                                                  const DeviceMemory& memory) const {
  const auto read = [&](void* to, std::size_t bytes, std::size_t offset) {
    return memory.prints_.read(to, bytes, offset);
  };
  return read_print_buffer(read, kernel, memory.print_grid_, program.program().info(kernel).prints);
}

Status CudaEngine::launch(const LoadedProgram& program, int kernel,
                          const std::vector<Argument>& arguments, DeviceMemory& memory) const {
  if (Status ready = reserve(program, kernel, memory.workspaces_); !ready) return ready;
  const Result<const DeviceBuffer*> prints = prints_of(program, kernel, arguments, memory);
  if (!prints) return prints.error();
  return put(program, kernel, arguments, memory.addresses(), memory.workspaces_, {*prints},
             nullptr);
}

Result<const DeviceBuffer*> CudaEngine::prints_of(const LoadedProgram& program, int kernel,
                                                  const std::vector<Argument>& arguments,
                                                  DeviceMemory& memory) const {
  if (program.program().info(kernel).prints.empty()) return nullptr;
  const auto grid =
      grid_of(program.program().kernel(kernel), program.source().kernels[at(kernel)], arguments);
  if (!grid) return grid.error();
  if (Status status = prepare_prints(*grid, memory); !status) return status.error();
  return &memory.prints_;
}

Status CudaEngine::launch_probed(const LoadedProgram& program, int kernel,
                                 const std::vector<Argument>& arguments, DeviceMemory& memory,
                                 std::chrono::milliseconds timeout, isa::ProbeLog& log) const {
  if (Status ready = reserve(program, kernel, memory.workspaces_); !ready) return ready;
  const Result<const DeviceBuffer*> prints = prints_of(program, kernel, arguments, memory);
  if (!prints) return prints.error();
  std::vector<ProbedBuffer> buffers;
  for (std::size_t i = 0; i < memory.size(); ++i) {
    buffers.push_back({memory[i].address(), memory[i].size()});
  }
  for (const auto& workspace : program.program().info(kernel).workspaces) {
    const DeviceBuffer& place = memory.workspaces_[buffers.size() - memory.size()];
    buffers.push_back({place.address(), static_cast<std::uint64_t>(workspace.bytes)});
  }
  std::vector<std::uint8_t> bytes = make_probe_buffer(program.program(), log, buffers);
  Result<DeviceBuffer> probes = allocate(bytes.size());
  if (!probes) return probes.error();
  memory.probes_ = *std::move(probes);
  if (Status s = memory.probes_.write(bytes.data(), bytes.size()); !s) return s;
  if (Status s = put(program, kernel, arguments, memory.addresses(), memory.workspaces_,
                     {*prints, &memory.probes_}, nullptr);
      !s) {
    return s;
  }
  if (Status ended = device_.wait(timeout); !ended) return ended;
  if (Status s = memory.probes_.read(bytes.data(), bytes.size()); !s) return s;
  return read_probe_buffer(program.program(), bytes, log);
}

Status CudaEngine::launch(const LoadedProgram& program, int kernel,
                          const std::vector<Argument>& arguments, const Addresses& buffers,
                          const Workspaces& workspaces, cuda::Stream stream) const {
  if (program.program().info(kernel).prints.empty()) {
    return put(program, kernel, arguments, buffers, workspaces, {}, stream);
  }
  return Error{ErrorKind::usage,
               fmt::format("`{}` prints, which needs a run on its own; take its Print out",
                           program.program().kernel(kernel).name)};
}

Status CudaEngine::put(const LoadedProgram& program, int kernel,
                       const std::vector<Argument>& arguments, const Addresses& buffers,
                       const Workspaces& workspaces, const HiddenBuffers& hidden,
                       cuda::Stream stream) const {
  const CudaKernel& emitted = program.source().kernels[at(kernel)];
  const isa::Kernel& definition = program.program().kernel(kernel);
  const Result<std::array<unsigned, 3>> grid = grid_of(definition, emitted, arguments);
  if (!grid) return grid.error();
  Result<LaunchArguments> bound = bind_tensors(definition, emitted, arguments, buffers);
  if (!bound) return bound.error();
  if (Status added = add_workspaces(emitted, workspaces, stream, *bound); !added) return added;
  if (Status added = add_tensor_maps(device_, definition, emitted, arguments, buffers, *bound);
      !added) {
    return added;
  }
  if (hidden.prints != nullptr) bound->add(*hidden.prints);
  if (emitted.has_assertions()) bound->add(cache_->assertions->address());
  if (hidden.probes != nullptr) bound->add(*hidden.probes);
  LaunchShape shape;
  shape.grid = *grid;
  shape.block[0] = static_cast<unsigned>(emitted.threads);
  shape.shared_bytes = static_cast<std::size_t>(emitted.shared_bytes);
  return program.state_->kernel(kernel).launch(shape, *bound, stream);
}

std::optional<isa::FailedAssertion> CudaEngine::failed_assertion() const {
  const std::lock_guard lock(cache_->mutex);
  if (!cache_->assertions) return std::nullopt;
  isa::AssertionRecord record;
  std::memcpy(record.data(), cache_->assertions->data(), sizeof record);
  return isa::read_assertion(record);
}

Status CudaEngine::download(const DeviceMemory& memory, HostBuffers& buffers,
                            std::chrono::milliseconds timeout) const {
  if (Status status = device_.wait(timeout); !status) return status;
  buffers.resize(memory.size());
  for (std::size_t i = 0; i < memory.size(); ++i) {
    buffers[i].resize(memory.bytes_[i]);
    const Status status = memory[i].read(buffers[i].data(), buffers[i].size());
    if (!status) return status;
  }
  return Done{};
}

Status CudaEngine::run_kernel(const isa::VerifiedProgram& program, int kernel,
                              const std::vector<Argument>& arguments, HostBuffers& buffers,
                              std::chrono::milliseconds timeout) {
  const Result<LoadedProgram> loaded = prepare(program);
  if (!loaded) return loaded.error();
  Result<DeviceMemory> memory = upload(buffers);
  if (!memory) return memory.error();
  if (Status status = launch(*loaded, kernel, arguments, *memory); !status) return status;
  return download(*memory, buffers, timeout);
}

}  // namespace tilevm::backend
