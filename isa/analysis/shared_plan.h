// Where the shared tensors of a kernel lie in a block's memory on a GPU.
//
// A tensor lives from the first statement of the kernel's body that touches it to the first
// Synchronize of the body behind the last one: from there on no thread touches it. Where copies
// fill it, a CopyAsyncWaitGroup(0) of the body must stand between, since a copy in flight still
// writes. One that nothing touches lives always. Tensors whose lives do not meet may have the same
// place. Loops and branches count as one statement. The simulator keeps all tensors apart, so what
// it finds does not depend on places.
#pragma once

#include <cstdint>

#include "isa/program/kernel_info.h"
#include "isa/program/program.h"

namespace tilevm::isa {

/// Gives each tensor of `info.shared` its place, the lowest that is free during its life, and
/// `info.shared_footprint` the end of the last.
void place_shared_tensors(const Kernel& kernel, KernelInfo& info);

}  // namespace tilevm::isa
