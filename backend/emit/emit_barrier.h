// The address of a memory barrier's stage, as text.
#pragma once

#include <optional>
#include <string>

#include "backend/emit/emit_kernel.h"

namespace tilevm::backend {

/// The address of a stage of a barrier; of the first if none is named.
[[nodiscard]] std::string stage_of(isa::BarrierOperand barrier,
                                   const std::optional<isa::ScalarOperand>& stage,
                                   const KernelEmission& kernel);

}  // namespace tilevm::backend
