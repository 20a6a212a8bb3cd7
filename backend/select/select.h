// Instruction selection: from a verified program to the form of each of its statements.
//
// Everything that is decided about a kernel's machine code, beyond what the verifier planned, is
// decided here, by passes whose order is the list in select.cc. The result is a value: the printer
// (backend/emit) walks over it, and `tilevm compile --explain` dumps it (remarks.h).
#pragma once

#include "backend/select/selected_program.h"
#include "isa/verify/verify.h"

namespace tilevm::backend {

/// Selects the forms of all statements of a program. Pure and total.
[[nodiscard]] SelectedProgram select(const isa::VerifiedProgram& program,
                                     const SelectOptions& options = {});

}  // namespace tilevm::backend
