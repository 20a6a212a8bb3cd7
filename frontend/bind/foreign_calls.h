// Calls as other languages and libraries write them, `t.sum()`, `np.sum(t)`, `exp(t)`: reported
// with the instruction that does it.
#pragma once

#include "frontend/bind/bind_scope.h"
#include "frontend/syntax/ast.h"

namespace tilevm::frontend {

/// Reports a method of a tensor, or of a library that nothing here has; false if the receiver may
/// be a layout.
bool report_foreign_method(const ast::Method& node, const BindScope& scope);

/// Reports the call of a function that other libraries have; false if it is not such a name.
bool report_foreign_call(const ast::Call& call, const BindScope& scope);

/// Reports `strides(..)` where no view takes it.
void report_lone_strides(const ast::Call& call, const BindScope& scope);

/// Reports a choice between two scalars by a tile of u1, `1.0 if mask else 0.0`.
void report_no_tile_to_choose(const ast::Expr& condition, const ast::Expr& value,
                              const ast::Expr& otherwise, Span span, const BindScope& scope);

}  // namespace tilevm::frontend
