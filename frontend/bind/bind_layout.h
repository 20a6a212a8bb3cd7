// Binding of element types and layouts: names, factors, products and the operations of the layout
// algebra.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "frontend/bind/bind_scope.h"
#include "frontend/syntax/ast.h"
#include "isa/layout/memory_layout.h"
#include "isa/layout/register_layout.h"
#include "isa/type/dtype.h"

namespace tilevm::frontend {

/// An element type: its name, or a constant.
[[nodiscard]] std::optional<isa::DType> bind_dtype(const ast::Expr& expr, const BindScope& scope);

/// Of the layout of a view: one stride a dimension, `strides(s0, s1, ..)`.
inline constexpr std::string_view strides_function = "strides";

/// Names of the operations on layouts: `reduce`, `permute` ...
[[nodiscard]] std::vector<std::string> layout_operations();

using AnyLayoutValue = std::variant<isa::RegisterLayout, isa::MemoryLayout>;

/// A layout: a product of factors, a constant, either of them in brackets.
[[nodiscard]] std::optional<AnyLayoutValue> bind_layout(const ast::Expr& expr,
                                                        const BindScope& scope);

/// Whether an expression looks like a layout, so that a constant without annotation can hold one.
[[nodiscard]] bool looks_like_layout(const ast::Expr& expr, const BindScope& scope);

}  // namespace tilevm::frontend
