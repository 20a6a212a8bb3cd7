// Facts that follow from a kernel's text: what is done through each pointer, how often each
// variable is written.
#pragma once

#include <vector>

#include "isa/base/diagnostic.h"
#include "isa/program/kernel_info.h"
#include "isa/program/program.h"

namespace tilevm::isa {

/// How often each variable is written: by the launch, if it is a parameter, and by statements.
[[nodiscard]] std::vector<int> count_writes(const Kernel& kernel);

/// One entry per pointer parameter, in order: what is read and written through the views made of
/// it, and their type and shape where all agree.
[[nodiscard]] std::vector<PointerUse> scan_pointers(const Kernel& kernel);

}  // namespace tilevm::isa
