// Reading text: a `.tile` file, or one expression, becomes a tree (ast.h).
//
// lines.h first joins physical lines to logical lines and measures their indentation; each logical
// line is then parsed on its own (by Boost.Spirit X3, in grammar.cc and nowhere else), and the
// blocks are assembled from the indentation. So one broken line costs one message and the rest of
// the file is still read.
#pragma once

#include <optional>

#include "frontend/syntax/ast.h"
#include "isa/base/diagnostic.h"
#include "isa/base/source.h"

namespace tilevm::frontend {

/// The tree of a whole file; nothing if any error was reported. Every faulty line gives one
/// message.
[[nodiscard]] std::optional<ast::Program> parse(const SourceFile& source, Diagnostics& diagnostics);

/// Parses for an editor: what could be read of a file that may have faults. A faulty line is left
/// out; the body of a faulty header, too.
[[nodiscard]] ast::Program parse_partially(const SourceFile& source, Diagnostics& diagnostics);

/// The tree of a text that is one expression (an operand of `tilevm layout`, the value of a
/// `-D NAME=VALUE`); nothing if an error was reported.
[[nodiscard]] std::optional<ast::Expr> parse_expression(const SourceFile& source,
                                                        Diagnostics& diagnostics);

}  // namespace tilevm::frontend
