#include "backend/driver/stream.h"

#include <utility>

#include "backend/driver/device_state.h"

namespace tilevm::backend {

Event::Event(Event&& other) noexcept
    : device_(std::move(other.device_)), handle_(std::exchange(other.handle_, nullptr)) {}

Event& Event::operator=(Event&& other) noexcept {
  if (this != &other) {
    release();
    device_ = std::move(other.device_);
    handle_ = std::exchange(other.handle_, nullptr);
  }
  return *this;
}

Event::~Event() { release(); }

void Event::release() {
  if (handle_ != nullptr && !device_->stuck) {
    const CurrentContext current(*device_);
    device_->api().event_destroy(handle_);
  }
  handle_ = nullptr;
  device_.reset();
}

Status Event::record() {
  if (handle_ == nullptr) return Error{ErrorKind::usage, "the event belongs to no device"};
  return with_context(*device_, "recording an event",
                      [&](const cuda::Api& api) { return api.event_record(handle_, nullptr); });
}

Result<float> Event::elapsed(const Event& start, const Event& stop) {
  if (start.handle_ == nullptr || stop.handle_ == nullptr || start.device_ != stop.device_) {
    return Error{ErrorKind::usage, "the two events must belong to the same device"};
  }
  float milliseconds = 0;
  const Status done =
      with_context(*stop.device_, "waiting for the kernels", [&](const cuda::Api& api) {
        const cuda::Code code = api.event_synchronize(stop.handle_);
        if (code != cuda::success) return code;
        return api.event_elapsed_time(&milliseconds, start.handle_, stop.handle_);
      });
  if (!done) return done.error();
  return milliseconds;
}

Status Graph::launch(cuda::Stream stream) const {
  if (graph_ == nullptr) return Error{ErrorKind::usage, "no graph was captured"};
  return with_context(*device_, "launching a graph", [&](const cuda::Api& api) {
    return api.graph_launch(static_cast<cuda::GraphExecHandle>(graph_.get()), stream);
  });
}

}  // namespace tilevm::backend
