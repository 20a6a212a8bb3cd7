// Instructions whose bits on the target are a model, for a note of the run.
#pragma once

#include "isa/base/diagnostic.h"
#include "isa/verify/verify.h"
#include "vm/run/entry.h"

namespace tilevm::vm {

/// Notes the first approximate instruction of the kernels that are launched, unless they were
/// compared with a GPU of the target's architecture (isa/numeric/approximation_evidence.h).
void note_modelled(const isa::VerifiedProgram& program, const Entry& entry, Diagnostics& notes);

}  // namespace tilevm::vm
