// Rendering of diagnostics: clang's layout, or data for JSON.
#pragma once

#include <string>
#include <string_view>

#include "isa/base/diagnostic.h"
#include "isa/base/source.h"

namespace tilevm {

/// Text of strangers for a terminal: control bytes except line breaks, and broken UTF-8, become
/// `?`.
[[nodiscard]] std::string printable(std::string_view text);

/// One diagnostic as text that ends with a line break:
///
///     prog.tile:13:16: error: unknown layout `column` [TV0104]
///             layout=column(2, 2).spatial(8, 4).local(1, 2),
///                    ^~~~~~
///                    column_local
///     prog.tile:12:5: note: ...
///
/// `color` adds terminal escapes. Tabs are kept as they are and carets follow them; bytes that are
/// not printable are shown as `?`; long lines are cut around the caret. A span of {0, 0} is not a
/// location: only the file's name is shown, and no line.
[[nodiscard]] std::string render(const Diagnostic& diagnostic, const SourceFile& source,
                                 bool color);

/// All diagnostics in order of location, and a last line that counts ("2 errors, 1 warning").
[[nodiscard]] std::string render(const Diagnostics& diagnostics, const SourceFile& source,
                                 bool color);

}  // namespace tilevm
