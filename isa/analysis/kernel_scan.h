// What a kernel does through each pointer, as far as its text shows.
#pragma once

#include <vector>

#include "isa/base/diagnostic.h"
#include "isa/program/kernel_info.h"
#include "isa/program/program.h"

namespace tilevm::isa {

/// One entry per pointer parameter, in order: what is read and written through the views made of
/// it, and their type and shape where all agree.
[[nodiscard]] std::vector<PointerUse> scan_pointers(const Kernel& kernel);

}  // namespace tilevm::isa
