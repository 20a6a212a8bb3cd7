// The selected forms in words: what became of each instruction, for `tilevm compile --explain`.
//
// The report is a dump of the value that the printer walks over, so it cannot differ from the code.
#pragma once

#include <vector>

#include "backend/select/remark.h"
#include "backend/select/select.h"

namespace tilevm::backend {

/// The remarks about a kernel's instructions, in the order of the text. Instructions that have one
/// form only leave none.
[[nodiscard]] std::vector<Remark> describe(const isa::VerifiedProgram& program,
                                           const SelectedKernel& selected);

}  // namespace tilevm::backend
