#include "backend/driver/device_memory.h"

#include <fmt/format.h>

#include <cstdint>
#include <utility>

#include "backend/driver/device_state.h"

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
  // Freeing waits for the device, so memory of a stuck device is not freed.
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

HostRecord::HostRecord(HostRecord&& other) noexcept
    : device_(std::move(other.device_)), data_(std::exchange(other.data_, nullptr)) {}

HostRecord& HostRecord::operator=(HostRecord&& other) noexcept {
  if (this != &other) {
    release();
    device_ = std::move(other.device_);
    data_ = std::exchange(other.data_, nullptr);
  }
  return *this;
}

HostRecord::~HostRecord() { release(); }

void HostRecord::release() {
  if (data_ != nullptr && !device_->stuck) {
    const CurrentContext current(*device_);
    device_->api().mem_free_host(data_);
  }
  data_ = nullptr;
  device_.reset();
}

/// Addresses of the host's and the device's memory are unified on every platform that we run on.
cuda::DevicePointer HostRecord::address() const {
  return static_cast<cuda::DevicePointer>(reinterpret_cast<std::uintptr_t>(data_));
}

}  // namespace tilevm::backend
