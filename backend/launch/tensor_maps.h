// The numbers of a kernel's tensor maps, from the arguments of a launch.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/launch/kernel_arguments.h"

namespace tilevm::backend {

/// What a launch makes a map of. By dimension of the map, the last one innermost.
struct MapNumbers {
  std::size_t pointer = 0;  ///< number of the parameter that points to the tensor
  std::vector<std::int64_t> extents;
  std::vector<std::int64_t> strides;  ///< bytes, of all dimensions but the last
};

/// Evaluates a map's extents and strides. Error (program): they make no map, or divide by zero.
[[nodiscard]] Result<MapNumbers> map_numbers(const isa::Kernel& kernel, const CudaKernel& emitted,
                                             const MapOfView& map,
                                             const std::vector<Argument>& arguments);

/// Error (program): a tensor begins at an address that is not a multiple of 16 bytes.
[[nodiscard]] Status check_map_address(const isa::Kernel& kernel, const MapOfView& map,
                                       std::uint64_t address);

}  // namespace tilevm::backend
