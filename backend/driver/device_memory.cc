#include <fmt/format.h>

#include <utility>

#include "backend/driver/device_state.h"
#include "backend/driver/driver.h"

namespace tilevm::backend {
namespace {

Status check_range(std::size_t size, std::size_t offset, std::size_t bytes) {
  if (offset <= size && bytes <= size - offset) return Done{};
  return Error{ErrorKind::usage,
               fmt::format("{} bytes at {} are not inside a device buffer of {} bytes", bytes,
                           offset, size)};
}

}  // namespace

DeviceBuffer::DeviceBuffer(DeviceBuffer&& other) noexcept
    : device_(std::move(other.device_)),
      address_(std::exchange(other.address_, 0)),
      size_(std::exchange(other.size_, 0)) {}

DeviceBuffer& DeviceBuffer::operator=(DeviceBuffer&& other) noexcept {
  if (this != &other) {
    release();
    device_ = std::move(other.device_);
    address_ = std::exchange(other.address_, 0);
    size_ = std::exchange(other.size_, 0);
  }
  return *this;
}

DeviceBuffer::~DeviceBuffer() { release(); }

void DeviceBuffer::release() {
  // Freeing waits for the device, so a stuck one is left alone.
  if (address_ != 0 && !device_->stuck) {
    const CurrentContext current(*device_);
    device_->api().mem_free(address_);
  }
  address_ = 0;
  device_.reset();
}

Status DeviceBuffer::write(const void* source, std::size_t bytes, std::size_t offset) {
  if (Status inside = check_range(size_, offset, bytes); !inside || bytes == 0) return inside;
  return with_context(*device_, "copying to the GPU", [&](const cuda::Api& api) {
    return api.memcpy_htod(address_ + offset, source, bytes);
  });
}

Status DeviceBuffer::read(void* target, std::size_t bytes, std::size_t offset) const {
  if (Status inside = check_range(size_, offset, bytes); !inside || bytes == 0) return inside;
  return with_context(*device_, "copying from the GPU", [&](const cuda::Api& api) {
    return api.memcpy_dtoh(target, address_ + offset, bytes);
  });
}

Status DeviceBuffer::fill(unsigned char byte, cuda::Stream stream) const {
  if (size_ == 0) return Done{};
  return with_context(*device_, "filling device memory", [&](const cuda::Api& api) {
    return api.memset_d8_async(address_, byte, size_, stream);
  });
}

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

}  // namespace tilevm::backend
