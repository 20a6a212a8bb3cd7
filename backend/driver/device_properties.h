// What the driver says about a device.
#pragma once

#include <cstddef>
#include <string>

namespace tilevm::backend {

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
  int memory_clock_khz = 0;       ///< memory clock; 0 where the driver does not say
  int memory_bus_width_bits = 0;  ///< memory bus width; 0 where the driver does not say

  /// The name that compiles for exactly this device: `sm_80`, and with the architecture-specific
  /// instructions from 9.0 on: `sm_90a`.
  [[nodiscard]] std::string target() const;
  /// "NVIDIA H200, sm_90, 139 GiB, 132 multiprocessors".
  [[nodiscard]] std::string describe() const;
};

}  // namespace tilevm::backend
