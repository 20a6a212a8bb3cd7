#include "backend/driver/device.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>
#include <thread>
#include <utility>

#include "backend/driver/device_state.h"
#include "backend/driver/image_check.h"
#include "backend/host/tool_search.h"

namespace tilevm::backend {
namespace {

std::size_t positive(int value) { return value > 0 ? static_cast<std::size_t>(value) : 0; }

/// An attribute of a device; 0 where the driver does not know it.
int attribute(const cuda::Api& api, cuda::DeviceHandle device, cuda::DeviceAttribute which) {
  int value = 0;
  return api.device_get_attribute(&value, which, device) == cuda::success ? value : 0;
}

DeviceProperties read_properties(const cuda::Api& api, cuda::DeviceHandle device, int ordinal) {
  const auto get = [&](cuda::DeviceAttribute which) { return attribute(api, device, which); };
  DeviceProperties properties;
  properties.ordinal = ordinal;
  char name[256] = {};
  if (api.device_get_name(name, sizeof name - 1, device) == cuda::success) properties.name = name;
  api.device_total_mem(&properties.memory_bytes, device);
  properties.sm_major = get(cuda::compute_capability_major);
  properties.sm_minor = get(cuda::compute_capability_minor);
  properties.multiprocessors = get(cuda::multiprocessor_count);
  properties.l2_bytes = positive(get(cuda::l2_cache_bytes));
  properties.shared_bytes_per_block = positive(get(cuda::max_shared_bytes_per_block_optin));
  properties.shared_bytes_per_multiprocessor =
      positive(get(cuda::max_shared_bytes_per_multiprocessor));
  properties.max_threads_per_block = get(cuda::max_threads_per_block);
  properties.max_threads_per_multiprocessor = get(cuda::max_threads_per_multiprocessor);
  properties.registers_per_multiprocessor = get(cuda::max_registers_per_multiprocessor);
  properties.clock_khz = get(cuda::clock_rate_khz);
  properties.memory_clock_khz = get(cuda::memory_clock_rate_khz);
  properties.memory_bus_width_bits = get(cuda::memory_bus_width_bits);
  return properties;
}

/// The device that the user wants: the one asked for, else $TILEVM_DEVICE, else 0.
Result<int> wanted_ordinal(const cuda::Api& api, int ordinal) {
  if (ordinal >= 0) return ordinal;
  // The driver's handle of a device is its ordinal (CUDA Driver API, cuDeviceGet).
  if (cuda::DeviceHandle current = 0;
      ordinal == device_of_context && api.ctx_get_device(&current) == cuda::success) {
    return current;
  }
  const auto text = environment("TILEVM_DEVICE");
  if (!text) return 0;
  const bool number =
      text->size() <= 4 && text->find_first_not_of("0123456789") == std::string::npos;
  if (number) return std::stoi(*text);
  return Error{
      ErrorKind::usage,
      fmt::format("$TILEVM_DEVICE is `{}`; it must be the number of a device, such as 0", *text)};
}

/// Waits between two polls: briefly at first, so that short kernels are not slowed down.
void pause(int round) {
  if (round < 1000) return std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::microseconds(200));
}

}  // namespace

Result<Device> Device::open(int ordinal) {
  Result<std::shared_ptr<const Driver>> driver = Driver::open();
  if (!driver) return driver.error();
  const Result<int> wanted = wanted_ordinal((*driver)->api(), ordinal);
  if (!wanted) return wanted.error();
  auto state = std::make_shared<DeviceState>(*std::move(driver));
  const cuda::Api& api = state->api();
  if (const Status got = state->check(api.device_get(&state->handle, *wanted),
                                      fmt::format("opening GPU {}", *wanted));
      !got) {
    return got.error();
  }
  state->properties = read_properties(api, state->handle, *wanted);
  cuda::Context context = nullptr;
  if (const Status made = state->check(api.primary_ctx_retain(&context, state->handle),
                                       fmt::format("taking a context on GPU {}", *wanted));
      !made) {
    return made.error();
  }
  state->context = context;
  Device device;
  device.state_ = std::move(state);
  return device;
}

const DeviceProperties& Device::properties() const { return state_->properties; }
const Driver& Device::driver() const { return *state_->driver; }
bool Device::lost() const { return state_->faulted || state_->stuck; }

Result<DeviceBuffer> Device::allocate(std::size_t bytes) const {
  DeviceBuffer buffer;
  buffer.device_ = state_;
  if (bytes == 0) return buffer;
  const Status done =
      with_context(*state_, fmt::format("allocating {} bytes on the GPU", bytes),
                   [&](const cuda::Api& api) { return api.mem_alloc(&buffer.address_, bytes); });
  if (!done) {
    buffer.address_ = 0;
    return done.error();
  }
  buffer.size_ = bytes;
  return buffer;
}

Result<HostRecord> Device::make_record(std::size_t bytes) const {
  HostRecord record;
  record.device_ = state_;
  const Status done =
      with_context(*state_, "allocating memory of the host for the GPU", [&](const cuda::Api& api) {
        return api.mem_host_alloc(&record.data_, bytes, cuda::host_alloc_device_map);
      });
  if (!done) {
    record.data_ = nullptr;
    return done.error();
  }
  std::memset(record.data_, 0, bytes);
  return record;
}

Result<Module> Device::load(const std::string& image) const {
  if (const std::string fault = find_image_fault(image); !fault.empty()) {
    return Error{ErrorKind::unavailable,
                 fmt::format("the compiled code cannot be loaded: {}; compile it again", fault)};
  }
  Module module;
  module.device_ = state_;
  constexpr std::size_t log_bytes = 16384;
  std::vector<char> log(log_bytes, '\0');
  cuda::JitOption options[] = {cuda::jit_error_log_buffer, cuda::jit_error_log_bytes};
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the driver takes numbers as pointers
  void* values[] = {log.data(), reinterpret_cast<void*>(log.size() - 1)};
  cuda::ModuleHandle handle = nullptr;
  const Status done = with_context(*state_, "loading code on the GPU", [&](const cuda::Api& api) {
    return api.module_load_data_ex(&handle, image.c_str(), 2, options, values);
  });
  if (!done) {
    Error error = done.error();
    error.message += fmt::format(" (GPU {}: {}; {})", state_->properties.ordinal,
                                 state_->properties.describe(), state_->driver->describe());
    if (log.front() != '\0') error.message += fmt::format("\n{}", log.data());
    return error;
  }
  module.module_ = std::shared_ptr<void>(handle, [state = state_](void* loaded) {
    if (state->stuck) return;
    const CurrentContext current(*state);
    state->api().module_unload(static_cast<cuda::ModuleHandle>(loaded));
  });
  return module;
}

Result<Event> Device::make_event() const {
  Event event;
  event.device_ = state_;
  const Status done = with_context(*state_, "making an event", [&](const cuda::Api& api) {
    return api.event_create(&event.handle_, cuda::event_default);
  });
  if (!done) return done.error();
  return event;
}

Result<Stream> Device::make_stream() const {
  cuda::Stream handle = nullptr;
  const Status made = with_context(*state_, "making a stream", [&](const cuda::Api& api) {
    return api.stream_create(&handle, cuda::stream_non_blocking);
  });
  if (!made) return made.error();
  Stream stream;
  stream.stream_ = std::shared_ptr<void>(handle, [state = state_](void* used) {
    if (state->stuck) return;
    const CurrentContext current(*state);
    state->api().stream_destroy(static_cast<cuda::Stream>(used));
  });
  return stream;
}

Result<Graph> Device::capture(const std::function<Status(cuda::Stream)>& work) const {
  const Result<Stream> stream = make_stream();
  if (!stream) return stream.error();
  const Status begun = with_context(*state_, "beginning to capture", [&](const cuda::Api& api) {
    return api.stream_begin_capture(stream->handle(), cuda::capture_thread_local);
  });
  if (!begun) return begun.error();
  const Status worked = work(stream->handle());
  cuda::GraphHandle captured = nullptr;
  cuda::GraphExecHandle handle = nullptr;
  const Status made = with_context(*state_, "making a graph", [&](const cuda::Api& api) {
    cuda::Code code = api.stream_end_capture(stream->handle(), &captured);
    if (code == cuda::success && worked) code = api.graph_instantiate(&handle, captured, 0);
    if (captured != nullptr) api.graph_destroy(captured);
    return code;
  });
  if (!worked) return worked.error();
  if (!made) return made.error();
  Graph graph;
  graph.device_ = state_;
  graph.graph_ = std::shared_ptr<void>(handle, [state = state_](void* used) {
    if (state->stuck) return;
    const CurrentContext current(*state);
    state->api().graph_exec_destroy(static_cast<cuda::GraphExecHandle>(used));
  });
  return graph;
}

Status Device::wait(std::chrono::milliseconds timeout) const {
  Result<Event> end = make_event();
  if (!end) return end.error();
  if (const Status marked = end->record(); !marked) return marked;
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  for (int round = 0;; round = std::min(round + 1, 1'000'000)) {
    cuda::Code code = cuda::success;
    {
      const CurrentContext current(*state_);
      code = state_->api().event_query(end->handle_);
    }
    if (code != cuda::not_ready) return state_->check(code, "waiting for the kernels");
    if (timeout.count() > 0 && std::chrono::steady_clock::now() >= deadline) {
      state_->stuck = true;
      return Error{ErrorKind::limit,
                   fmt::format("the kernel did not end within {} s and was given up; its GPU "
                               "context is lost",
                               static_cast<double>(timeout.count()) / 1000.0)};
    }
    pause(round);
  }
}

Status Device::with_current(const std::function<Status()>& call) const {
  if (Status usable = state_->usable(); !usable) return usable;
  const CurrentContext current(*state_);
  if (Status pushed = state_->check(current.code(), "taking the context"); !pushed) return pushed;
  return call();
}

Result<std::vector<DeviceProperties>> list_devices() {
  const Result<std::shared_ptr<const Driver>> driver = Driver::open();
  if (!driver) return driver.error();
  const cuda::Api& api = (*driver)->api();
  int count = 0;
  if (const cuda::Code code = api.device_get_count(&count); code != cuda::success) {
    return (*driver)->error(code, "counting the GPUs");
  }
  std::vector<DeviceProperties> devices;
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    cuda::DeviceHandle device = 0;
    if (api.device_get(&device, ordinal) != cuda::success) continue;
    devices.push_back(read_properties(api, device, ordinal));
  }
  return devices;
}

}  // namespace tilevm::backend
