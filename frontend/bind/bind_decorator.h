// Binding of decorators: `@threads(n)` and others before a kernel.
#pragma once

#include <string>
#include <vector>

#include "frontend/bind/bind_scope.h"
#include "frontend/syntax/ast.h"
#include "isa/program/program.h"

namespace tilevm::frontend {

/// The names of decorators, without old ones.
[[nodiscard]] std::vector<std::string> decorator_names();

/// Sets the attribute of the kernel that a decorator names; reports unknown decorators, and numbers
/// that a decorator does not permit.
void bind_decorator(const ast::Decorator& decorator, const BindScope& scope, isa::Kernel& kernel);

}  // namespace tilevm::frontend
