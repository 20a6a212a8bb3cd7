// Queues of work on a device, marks in them for timing, and work that was captured once.
#pragma once

#include <memory>

#include "backend/driver/cuda_api.h"
#include "isa/base/result.h"

namespace tilevm::backend {

class Device;
struct DeviceState;

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

/// Work that was captured once and is launched as a whole: the host's time for a launch does not
/// grow with the number of kernels. Copies share it.
class Graph {
 public:
  /// Puts all of it on a stream.
  Status launch(cuda::Stream stream = nullptr) const;

 private:
  friend class Device;
  std::shared_ptr<DeviceState> device_;
  std::shared_ptr<void> graph_;
};

}  // namespace tilevm::backend
