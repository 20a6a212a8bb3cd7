// Scalar expressions as C++ over the prelude's functions.
#pragma once

#include <functional>
#include <string>

#include "isa/inst/expr.h"

namespace tilevm::backend {

/// The C++ text of a variable.
using NameOf = std::function<std::string(isa::VarId)>;

/// The C++ type of a scalar: "tv::i32" ...
[[nodiscard]] std::string scalar_type(isa::ScalarKind kind);
/// A literal of that type.
[[nodiscard]] std::string scalar_literal(const isa::Scalar& value);
/// An expression of that type, in parentheses where it is neither a name nor a call.
[[nodiscard]] std::string scalar_text(const isa::Expr& expr, const NameOf& name_of);
/// An index of 64 bits; a constant stays readable.
[[nodiscard]] std::string index_text(const isa::Expr& expr, const NameOf& name_of);

}  // namespace tilevm::backend
