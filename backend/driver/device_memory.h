// Blocks of device memory.
#pragma once

#include <cstddef>
#include <memory>

#include "backend/driver/cuda_api.h"
#include "isa/base/result.h"

namespace tilevm::backend {

class Device;
struct DeviceState;

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

/// Memory of the host that kernels reach under the same address, all zero at first: what they wrote
/// there can be read after a fault, too. Freed when the object dies.
class HostRecord {
 public:
  HostRecord() = default;
  HostRecord(HostRecord&& other) noexcept;
  HostRecord& operator=(HostRecord&& other) noexcept;
  ~HostRecord();

  [[nodiscard]] cuda::DevicePointer address() const;
  [[nodiscard]] const void* data() const { return data_; }

 private:
  friend class Device;
  void release();
  std::shared_ptr<DeviceState> device_;
  void* data_ = nullptr;
};

}  // namespace tilevm::backend
