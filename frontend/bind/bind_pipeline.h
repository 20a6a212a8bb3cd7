// Binding of pipelines: tensors and kernel launches.
#pragma once

#include "frontend/bind/bind_scope.h"
#include "frontend/bind/inlining.h"
#include "frontend/syntax/ast.h"
#include "isa/numeric/target.h"
#include "isa/program/program.h"

namespace tilevm::frontend {

/// Binds one pipeline of a program whose kernels are bound. Faults are reported.
[[nodiscard]] isa::Pipeline bind_pipeline(const ast::Pipeline& tree, const isa::Program& program,
                                          const Constants& constants, const Functions& functions,
                                          const isa::Target& target, Inlining& inlining,
                                          Diagnostics& diagnostics);

}  // namespace tilevm::frontend
