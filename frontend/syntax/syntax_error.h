// The message of a syntax error: what was expected where the grammar could not go on.
#pragma once

#include <cstddef>
#include <string_view>

#include "isa/base/diagnostic.h"
#include "isa/base/source.h"

namespace tilevm::frontend {

/// Reports that `expected` (what the grammar wanted, in words) was not found at byte `at` of the
/// logical line `line`: "expected `,` or `)` to close the `(` at line 3, but found `b`", with
/// advice on mistakes that people make by habit from other languages.
void report_expected(const SourceFile& source, Span line, std::size_t at, std::string_view expected,
                     Diagnostics& diagnostics);

}  // namespace tilevm::frontend
