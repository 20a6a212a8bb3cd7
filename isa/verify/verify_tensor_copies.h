// Rules of copies by tensor maps that need the whole kernel: who begins them, and of which views a
// launch can make maps.
#pragma once

#include "isa/base/diagnostic.h"
#include "isa/program/kernel_info.h"
#include "isa/program/program.h"

namespace tilevm::isa {

/// Reports copies that more than one thread would begin, and views without a map. Aligns the shared
/// tensors to the periods of their swizzles. The groups of the kernel are known.
void check_tensor_copies(const Kernel& kernel, Diagnostics& diagnostics, KernelInfo& info);

}  // namespace tilevm::isa
