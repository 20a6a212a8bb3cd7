// Writing a tree back as text, in the one canonical form (`tilevm fmt`).
//
// Laws: parsing what was printed gives an equal tree with the same comments, and printing that
// again gives the same text. Form: four spaces an indentation, one statement a line, a line that is
// longer than 100 columns broken after commas, the fewest parentheses that keep the tree, every
// comment where it was, and at most one empty line in a row.
#pragma once

#include <string>

#include "frontend/syntax/ast.h"

namespace tilevm::frontend {

/// The canonical text of a file; it ends with a line break, or is empty.
[[nodiscard]] std::string print(const ast::Program& program);

/// The canonical text of an expression, on one line.
[[nodiscard]] std::string print(const ast::Expr& expression);

}  // namespace tilevm::frontend
