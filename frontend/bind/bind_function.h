// Functions: what can be said of one without a call.
#pragma once

#include "frontend/bind/bind_scope.h"
#include "frontend/syntax/ast.h"
#include "isa/base/diagnostic.h"

namespace tilevm::frontend {

/// The functions and the kernels of a file and of those that it includes. The first of a name.
[[nodiscard]] Functions functions_of(const ast::Program& tree);

/// Reports kinds that there are not, parameters of one name, and defaults out of order.
void check_function(const ast::Function& function, Diagnostics& diagnostics);

}  // namespace tilevm::frontend
