// Binding of kernels: statements, variables and the types that the instructions' rules give them.
#pragma once

#include "frontend/bind/bind_scope.h"
#include "frontend/bind/inlining.h"
#include "frontend/syntax/ast.h"
#include "isa/numeric/target.h"
#include "isa/program/program.h"

namespace tilevm::frontend {

/// Binds one kernel. Faults are reported; what could be bound is returned nevertheless, so that the
/// rest of the file can be checked.
[[nodiscard]] isa::Kernel bind_kernel(const ast::Kernel& tree, const Constants& constants,
                                      const Functions& functions, const isa::Target& target,
                                      Inlining& inlining, Diagnostics& diagnostics);

}  // namespace tilevm::frontend
