// Whether the warps of a kernel's block run as one, or order themselves in groups.
#pragma once

#include "isa/program/program.h"

namespace tilevm::isa {

/// Whether a kernel has groups of warps, an instruction that orders warps without being a barrier
/// of the block, or clusters of blocks.
[[nodiscard]] bool tells_warps_apart(const Kernel& kernel);

}  // namespace tilevm::isa
