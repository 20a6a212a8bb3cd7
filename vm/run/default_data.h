// Data that a program's file names for inputs which the user leaves out: lines such as
// "# data: table=iota length=full:200".
#pragma once

#include "isa/base/source.h"
#include "isa/program/program.h"
#include "vm/run/entry_parts.h"

namespace tilevm::vm {

/// Adds the file's choices for parameters of the entry that have no text yet. Names of other
/// entries are left out, so that one line serves a file with several entries.
void add_default_data(const isa::Program& program, const SourceFile& source,
                      const EntryIndex& entry, Texts& inputs);

}  // namespace tilevm::vm
