// The tensor maps of a launch on a GPU.
#pragma once

#include <vector>

#include "backend/driver/device.h"
#include "backend/launch/kernel_arguments.h"

namespace tilevm::backend {

/// Encodes the tensor maps of a kernel and binds them, behind its workspaces. `buffers` are the
/// addresses of those that the arguments name. Errors: program (a view that makes no map),
/// unavailable (a driver that makes none).
[[nodiscard]] Status add_tensor_maps(const Device& device, const isa::Kernel& kernel,
                                     const CudaKernel& emitted,
                                     const std::vector<Argument>& arguments,
                                     const std::vector<cuda::DevicePointer>& buffers,
                                     LaunchArguments& bound);

}  // namespace tilevm::backend
