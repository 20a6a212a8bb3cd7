// Binding of expressions to scalars and to constant integers.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "frontend/bind/bind_scope.h"
#include "frontend/syntax/ast.h"
#include "isa/inst/expr.h"

namespace tilevm::frontend {

/// A scalar expression; nothing after a report (or where a poisoned name is used).
[[nodiscard]] std::optional<isa::Expr> bind_scalar(const ast::Expr& expr, const BindScope& scope);

/// A constant integer.
[[nodiscard]] std::optional<std::int64_t> bind_integer(const ast::Expr& expr,
                                                       const BindScope& scope);

/// Constant integers: the entries of a list.
[[nodiscard]] std::optional<std::vector<std::int64_t>> bind_integers(const ast::Expr& expr,
                                                                     const BindScope& scope);

}  // namespace tilevm::frontend
