// Remarks about a kernel's machine program: the forms of its instructions, and what orders them.
#pragma once

#include <vector>

#include "backend/machine/machine_kernel.h"
#include "backend/select/remark.h"

namespace tilevm::backend {

/// The remarks of selection (backend/select/remarks.h). In a kernel with barriers of its own also
/// what commits, waits and barriers became, and where fences are.
[[nodiscard]] std::vector<Remark> describe(const isa::VerifiedProgram& program,
                                           const SelectedKernel& selected,
                                           const MachineKernel& machine);

}  // namespace tilevm::backend
