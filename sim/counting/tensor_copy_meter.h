// What copies by tensor maps read and write in global memory.
#pragma once

#include <optional>

#include "isa/verify/verify.h"
#include "sim/counting/meter.h"

namespace tilevm::sim {

/// The meter of a copy by a tensor map; nothing for other statements. A request is one instruction
/// of the GPU, which moves a box; its sectors are those of the box's elements inside the view. They
/// go past L1 and no warp's threads take part, so nothing is counted in shared memory.
[[nodiscard]] std::optional<Meter> make_tensor_copy_meter(const isa::VerifiedProgram& program,
                                                          int kernel, const isa::InstStmt& stmt);

}  // namespace tilevm::sim
