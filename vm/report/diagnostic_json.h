// Diagnostics as JSON, for the command's `--json` and for callers of the library
// (docs/reference/data.md).
#pragma once

#include "isa/base/diagnostic.h"
#include "isa/base/source.h"
#include "vm/text/json.h"

namespace tilevm::vm {

/// A diagnostic as an object: code, severity, file, line, column, end_line, end_column, message
/// and, where there are, fix and notes.
[[nodiscard]] Json to_json(const Diagnostic& diagnostic, const SourceFile& source);

/// Adds all of them to an array, in the order in which they are shown.
void add_diagnostics(const Diagnostics& diagnostics, const SourceFile& source, Json& array);

}  // namespace tilevm::vm
