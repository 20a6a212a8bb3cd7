// Which names a body assigns, and how often at most.
#pragma once

#include <map>
#include <string>

#include "frontend/syntax/ast.h"

namespace tilevm::frontend {

/// For each name that a body assigns (or writes with `out=`, or takes for a loop), the number of
/// assignments on the way through it that has the most: of the branches of an `if`, one is taken.
[[nodiscard]] std::map<std::string, int> count_assignments(const ast::Block& body);

}  // namespace tilevm::frontend
