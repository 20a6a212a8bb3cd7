// The grammar of one logical line.
#pragma once

#include <optional>
#include <variant>

#include "frontend/syntax/ast.h"
#include "frontend/syntax/lines.h"
#include "isa/base/diagnostic.h"
#include "isa/base/source.h"

namespace tilevm::frontend {

/// `if condition:`, `elif condition:` and `else:` are lines of their own; blocks make an ast::If
/// of them.
struct IfLine {
  ast::Expr condition;
};
struct ElifLine {
  ast::Expr condition;
};
struct ElseLine {};

/// What a line can be. Nodes that own a block have it empty.
using LineNode = std::variant<ast::ConstDecl, ast::Require, ast::Decorator, ast::Kernel,
                              ast::Pipeline, ast::Assign, ast::ExprStmt, ast::For, ast::While,
                              ast::With, IfLine, ElifLine, ElseLine, ast::Break, ast::Continue,
                              ast::Pass, ast::Return, ast::Function, ast::Include>;

/// Parses a line that is not broken; nothing, and one message, if it has a fault.
[[nodiscard]] std::optional<LineNode> parse_line(const SourceFile& source, const LogicalLine& line,
                                                 Diagnostics& diagnostics);

/// Parses a line that is one expression; nothing, and one message, if it is not.
[[nodiscard]] std::optional<ast::Expr> parse_expression_line(const SourceFile& source,
                                                             const LogicalLine& line,
                                                             Diagnostics& diagnostics);

}  // namespace tilevm::frontend
