// Binding of what stands before a kernel: `@threads(n)` and its like.
#pragma once

#include "frontend/bind/names.h"
#include "frontend/syntax/ast.h"
#include "isa/program/program.h"

namespace tilevm::frontend {

/// Sets what a decorator says of its kernel; reports unknown ones, and numbers that it does not
/// take.
void bind_decorator(const ast::Decorator& decorator, const Names& names, isa::Kernel& kernel);

}  // namespace tilevm::frontend
