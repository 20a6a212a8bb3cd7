// Scalar expressions as C99 text, with the meaning they have in programs: integers wrap, shifts
// clamp, and a division by zero is a fault that the surrounding code sees.
#pragma once

#include <functional>
#include <string>

#include "isa/inst/expr.h"

namespace tilevm::backend {

/// C's type of a scalar: "int32_t", "bool", "float" ...
[[nodiscard]] std::string c_type(isa::ScalarKind kind);

/// Whether an expression computes with floats, which `c_expression` does not.
[[nodiscard]] bool has_floats(const isa::Expr& expr);

/// The expression's text; `name` gives a variable's. It calls the functions of
/// `c_expression_helpers`, and expects an `int fault` around it, which a division by zero makes 1.
[[nodiscard]] std::string c_expression(const isa::Expr& expr, const std::string& prefix,
                                       const std::function<std::string(isa::VarId)>& name);

/// Static inline functions whose names begin with `prefix`.
[[nodiscard]] std::string c_expression_helpers(const std::string& prefix);

}  // namespace tilevm::backend
