// Which statements of a selected kernel have a probe (isa/program/probe.h).
#pragma once

#include "backend/select/selected_program.h"
#include "isa/program/probe.h"

namespace tilevm::backend {

/// Every statement that writes a register tile, a scalar or memory makes a record, and so does
/// every iteration of a loop. Without a probe are statements whose result the code does not have
/// (fused and elided forms), and an update of memory by a variable that takes its result. Bulk
/// copies that share one branch make one record, at the last of them.
[[nodiscard]] isa::ProbePlan plan_probes(const SelectedProgram& program, int kernel);

}  // namespace tilevm::backend
