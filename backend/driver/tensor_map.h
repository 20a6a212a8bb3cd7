// Tensor maps by the driver (CUDA Driver API, cuTensorMapEncodeTiled).
#pragma once

#include <cstdint>
#include <vector>

#include "backend/driver/device.h"

namespace tilevm::backend {

/// What a map is made of. Dimension 0 is the innermost one, in which elements are side by side.
struct MapEncoding {
  cuda::TensorMapType type = cuda::map_u8;
  cuda::DevicePointer address = 0;
  std::vector<std::uint64_t> extents;
  std::vector<std::uint64_t> strides;  ///< bytes, of all dimensions but the first
  std::vector<std::uint32_t> box;
  int swizzle_bytes = 0;  ///< 0, 32, 64 or 128
  bool fill_nan = false;
};

/// The 16 words of a map. Errors: unavailable (a driver before CUDA 12.0), program (a map that the
/// driver refuses).
[[nodiscard]] Result<std::vector<std::uint64_t>> encode_map(const Device& device,
                                                            const MapEncoding& encoding);

}  // namespace tilevm::backend
