// What a kernel says to no effect: values that nothing depends on, statements that never run,
// barriers that order nothing. `tilevm check` and editors show it as notes.
#pragma once

#include "isa/base/diagnostic.h"
#include "isa/base/source.h"
#include "isa/program/program.h"

namespace tilevm::isa {

/// Reports notes about a kernel that verify() has taken: tiles, scalars, views, shared tensors and
/// parameters that no effect of the kernel depends on (TV0120), statements behind a loop that never
/// ends or behind an Exit (TV0115), and a Synchronize of a kernel whose threads share no memory
/// (TV0408). A name that begins with an underscore is meant to be unused, as are the indices of a
/// block, the counters of loops, and what a function's body leaves over.
void note_idle_code(const Kernel& kernel, const SourceFile& source, Diagnostics& diagnostics);

}  // namespace tilevm::isa
