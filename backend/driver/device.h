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
// normally. A tool that must go on after a fault (a fuzzer, a tuner) runs its kernels in another
// process.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backend/driver/cuda_api.h"
#include "backend/driver/device_memory.h"
#include "backend/driver/device_properties.h"
#include "backend/driver/launch.h"
#include "backend/driver/stream.h"
#include "isa/base/result.h"

namespace tilevm::backend {

class Driver;
struct DeviceState;

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

  /// Memory of the host that kernels can write to, all zero. Error (unavailable): there is none.
  [[nodiscard]] Result<HostRecord> make_record(std::size_t bytes) const;

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
