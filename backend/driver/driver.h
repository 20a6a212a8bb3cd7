// Devices, their memory, loaded code and launches, through NVIDIA's driver opened at run time.
//
// The first use opens libcuda.so.1 ($TILEVM_LIBCUDA names another file) and takes the primary
// context of the device, which other CUDA libraries in the process share. Work goes to the default
// stream, or to one that the caller names. Every object keeps its device's context alive, and every
// call makes that context current for its own duration only, so that objects may be used from any
// thread (one at a time).
//
// Faults: after a kernel that accesses a wrong address, CUDA answers nothing else in this process
// (CUDA Driver API, CUDA_ERROR_ILLEGAL_ADDRESS); after one that does not end in time, the context
// is given up. Calls then return an error, destructors stay silent, and the process can end
// normally. What must go on after a fault (a fuzzer, a tuner) runs its kernels in a process of
// their own.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "backend/driver/cuda_api.h"
#include "isa/base/result.h"

namespace tilevm::backend {

class Driver;
struct DeviceState;

/// What the driver says about a device. Sizes in bytes.
struct DeviceProperties {
  int ordinal = 0;
  std::string name;
  int sm_major = 0;
  int sm_minor = 0;
  std::size_t memory_bytes = 0;
  int multiprocessors = 0;
  std::size_t l2_bytes = 0;
  std::size_t shared_bytes_per_block = 0;  ///< the most a block may ask for
  std::size_t shared_bytes_per_multiprocessor = 0;
  int max_threads_per_block = 0;
  int max_threads_per_multiprocessor = 0;
  int registers_per_multiprocessor = 0;
  int clock_khz = 0;              ///< 0 where the driver does not say
  int memory_clock_khz = 0;       ///< likewise
  int memory_bus_width_bits = 0;  ///< likewise

  /// The name that compiles for exactly this device: `sm_80`, and with the architecture-specific
  /// instructions from 9.0 on: `sm_90a`.
  [[nodiscard]] std::string target() const;
  /// "NVIDIA H200, sm_90, 139 GiB, 132 multiprocessors".
  [[nodiscard]] std::string describe() const;
};

/// A block of device memory, freed when the object dies.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  DeviceBuffer(DeviceBuffer&& other) noexcept;
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept;
  ~DeviceBuffer();

  [[nodiscard]] cuda::DevicePointer address() const { return address_; }
  [[nodiscard]] std::size_t size() const { return size_; }

  /// Copies `bytes` from the host to `offset`. Error (usage): not inside the buffer.
  Status write(const void* source, std::size_t bytes, std::size_t offset = 0);
  /// Copies `bytes` at `offset` to the host, after all launches before it.
  Status read(void* target, std::size_t bytes, std::size_t offset = 0) const;
  /// Sets every byte, in the order of the stream.
  Status fill(unsigned char byte, cuda::Stream stream = nullptr) const;

 private:
  friend class Device;
  void release();
  std::shared_ptr<DeviceState> device_;
  cuda::DevicePointer address_ = 0;
  std::size_t size_ = 0;
};

/// The arguments of a launch in the order of the kernel's parameters, each by value.
class LaunchArguments {
 public:
  LaunchArguments& add(const DeviceBuffer& buffer) { return add(buffer.address()); }
  LaunchArguments& add(std::int32_t value);
  LaunchArguments& add(std::uint32_t value) { return add_bits(value, 4); }
  LaunchArguments& add(std::int64_t value);
  LaunchArguments& add(std::uint64_t value) { return add_bits(value, 8); }
  LaunchArguments& add(cuda::DevicePointer address) { return add_bits(address, 8); }
  LaunchArguments& add(float value);
  LaunchArguments& add(bool value) { return add_bits(value ? 1 : 0, 1); }
  LaunchArguments& add(const void* host_pointer) = delete;  // would pass as a bool
  /// The low `bytes` (1 to 8) bytes of `bits`, little-endian; also for raw device addresses.
  LaunchArguments& add_bits(std::uint64_t bits, std::size_t bytes);

  [[nodiscard]] std::size_t size() const { return slots_.size(); }

 private:
  friend class LoadedKernel;
  struct Slot {
    std::uint64_t bits = 0;
    std::size_t bytes = 0;
  };
  std::vector<Slot> slots_;
};

struct LaunchShape {
  std::array<unsigned, 3> grid{1, 1, 1};
  std::array<unsigned, 3> block{1, 1, 1};
  std::size_t shared_bytes = 0;  ///< dynamic shared memory; above 48 KiB is asked for by itself
};

/// What the compiler made of a kernel. Sizes in bytes.
struct KernelProperties {
  int registers_per_thread = 0;
  std::size_t static_shared_bytes = 0;
  std::size_t local_bytes_per_thread = 0;  ///< spills and stack
  int max_threads_per_block = 0;
};

/// A kernel of a loaded module, which it keeps loaded. A default-made one launches nothing and
/// says so.
class LoadedKernel {
 public:
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const KernelProperties& properties() const { return properties_; }

  /// Puts a launch on a stream and returns; faults of the kernel show at the next call
  /// that waits. Errors: unavailable (the device has not what it needs), usage (the arguments do
  /// not fit the kernel's parameters, where the driver can tell; an empty grid or block).
  Status launch(const LaunchShape& shape, const LaunchArguments& arguments,
                cuda::Stream stream = nullptr) const;

  /// How many blocks of this shape one multiprocessor holds at a time.
  [[nodiscard]] Result<int> blocks_per_multiprocessor(const LaunchShape& shape) const;

 private:
  friend class Module;
  [[nodiscard]] Status prepare(const LaunchShape& shape) const;
  [[nodiscard]] Status check_arguments(const LaunchArguments& arguments) const;
  void read_properties();
  std::shared_ptr<DeviceState> device_;
  std::shared_ptr<void> module_;
  cuda::Function function_ = nullptr;
  std::string name_;
  KernelProperties properties_;
  bool knows_parameters_ = false;  // drivers before CUDA 12.4 do not tell
  std::vector<std::size_t> parameter_bytes_;
};

/// Loaded code: a cubin, PTX text or a fatbin.
class Module {
 public:
  /// Error (unavailable): no kernel of that name, or no code for this device in the image.
  [[nodiscard]] Result<LoadedKernel> kernel(const std::string& name) const;

 private:
  friend class Device;
  Module() = default;
  std::shared_ptr<DeviceState> device_;
  std::shared_ptr<void> module_;  // unloads when the last kernel is gone
};

/// A mark in the default stream, for timing.
class Event {
 public:
  Event() = default;
  Event(Event&& other) noexcept;
  Event& operator=(Event&& other) noexcept;
  ~Event();

  Status record();
  /// Milliseconds between two recorded events; waits for the later one.
  [[nodiscard]] static Result<float> elapsed(const Event& start, const Event& stop);

 private:
  friend class Device;
  void release();
  std::shared_ptr<DeviceState> device_;
  cuda::EventHandle handle_ = nullptr;
};

/// A queue of work that does not wait for the default stream. Copies share it.
class Stream {
 public:
  [[nodiscard]] cuda::Stream handle() const { return static_cast<cuda::Stream>(stream_.get()); }

 private:
  friend class Device;
  std::shared_ptr<void> stream_;
};

/// Work that was captured once and is launched as a whole: what it costs the host does not grow
/// with the number of its kernels. Copies share it.
class Graph {
 public:
  /// Puts all of it on a stream.
  Status launch(cuda::Stream stream = nullptr) const;

 private:
  friend class Device;
  std::shared_ptr<DeviceState> device_;
  std::shared_ptr<void> graph_;
};

/// For Device::open: the device of the calling thread's context, where it has one.
inline constexpr int device_of_context = -2;

/// One GPU. Copies share it.
class Device {
 public:
  /// Opens a device: the ordinal given, else $TILEVM_DEVICE, else 0.
  /// Error (unavailable): no driver, no device, or a driver that does not start, with what to do.
  [[nodiscard]] static Result<Device> open(int ordinal = -1);

  [[nodiscard]] const DeviceProperties& properties() const;
  [[nodiscard]] const Driver& driver() const;

  /// Loads machine code (or PTX text, which the driver compiles).
  [[nodiscard]] Result<Module> load(const std::string& image) const;

  /// Allocates; 0 bytes give a buffer with the address 0. Error (unavailable): memory is short.
  [[nodiscard]] Result<DeviceBuffer> allocate(std::size_t bytes) const;

  [[nodiscard]] Result<Event> make_event() const;
  [[nodiscard]] Result<Stream> make_stream() const;

  /// A graph of what `work` puts on the stream that it is given; it must not allocate or wait.
  [[nodiscard]] Result<Graph> capture(const std::function<Status(cuda::Stream)>& work) const;

  /// Waits for all launches. Errors: program (a kernel faulted), limit (not done in time; a
  /// timeout of 0 waits for ever).
  Status wait(std::chrono::milliseconds timeout = std::chrono::milliseconds{0}) const;

  /// Calls `call` with the device's context current, for other CUDA libraries. Error (program): the
  /// context is lost; else that of `call`.
  Status with_current(const std::function<Status()>& call) const;

  /// True after a fault or a timeout: nothing runs on this context any more.
  [[nodiscard]] bool lost() const;

 private:
  Device() = default;
  std::shared_ptr<DeviceState> state_;
};

/// The properties of every device, without taking a context on any.
[[nodiscard]] Result<std::vector<DeviceProperties>> list_devices();

}  // namespace tilevm::backend
