// Spans of a tree, moved: an inlined function has spans of its own for each call
// (SourceFile::add_call).
#pragma once

#include <cstdint>

#include "frontend/syntax/ast.h"

namespace tilevm::frontend {

/// Adds `offset`, modulo 2^32, to every span of the statements, or of an expression.
void shift_spans(ast::Block& block, std::uint32_t offset);
void shift_spans(ast::Expr& expr, std::uint32_t offset);

}  // namespace tilevm::frontend
