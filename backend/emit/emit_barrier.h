// The address of a memory barrier's stage and proxy fences, as text.
#pragma once

#include <optional>
#include <string>

#include "backend/emit/emit_kernel.h"

namespace tilevm::backend {

/// The address of a stage of a barrier; of the first if none is named.
[[nodiscard]] std::string stage_of(isa::BarrierOperand barrier,
                                   const std::optional<isa::ScalarOperand>& stage,
                                   const KernelEmission& kernel);

/// What a thread stored before is there for the async proxy: in shared memory, or in global memory
/// as well, for which it waits until the whole GPU sees the stores.
[[nodiscard]] std::string proxy_fence(bool with_global);

}  // namespace tilevm::backend
