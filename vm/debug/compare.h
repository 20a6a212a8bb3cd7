// `diff` in the debugger: the run from its beginning, as another engine makes it.
#pragma once

#include <string>

#include "isa/base/result.h"
#include "vm/debug/target.h"

namespace tilevm::vm {

/// What the simulator and another engine ("cuda", "emu", "emu:O0" ..) give, and the first statement
/// that differs; or, for "shadow", how far values are from those without rounding. Changes by hand
/// are not in it. Error: of the environment, or a fault of the run.
[[nodiscard]] Result<std::string> compare_with(const TargetRequest& request,
                                               const std::string& engine);

}  // namespace tilevm::vm
