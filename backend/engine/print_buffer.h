// The memory in which a launch records its prints; the layout is in prelude/print.cuh.
#pragma once

#include "backend/driver/device.h"
#include "isa/base/result.h"
#include "isa/program/print.h"

namespace tilevm::backend {

/// Makes `buffer` ready for a launch of that many blocks; it grows where needed.
Status clear_print_buffer(const Device& device, std::uint64_t blocks, DeviceBuffer& buffer);

/// What a finished launch recorded. Errors: program (the launch faulted, or wrote over the buffer).
[[nodiscard]] Result<isa::LaunchPrints> read_print_buffer(const DeviceBuffer& buffer, int kernel,
                                                          const std::array<std::int64_t, 3>& grid,
                                                          const std::vector<isa::PrintSite>& sites);

}  // namespace tilevm::backend
