// The report of a block whose groups of warps all wait.
#pragma once

#include "sim/state/context.h"

namespace tilevm::sim {

/// Reports what each group waits for, and what the phase that it waits for still needs.
void report_group_deadlock(Context& context);

}  // namespace tilevm::sim
