// Binding of expressions: scalars, constants, types, layouts, lists and tensors.
//
// They contain one another, so they have one header; each sort has a source (classify.cc,
// bind_scalar.cc, bind_layout.cc, bind_builtin.cc, and bind_value.cc for what may be
// of any sort).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "frontend/bind/bind_scope.h"
#include "frontend/syntax/ast.h"
#include "isa/inst/expr.h"
#include "isa/layout/memory_layout.h"
#include "isa/layout/register_layout.h"
#include "isa/type/dtype.h"

namespace tilevm::frontend {

enum class ValueKind : std::uint8_t { scalar, dtype, layout, list, tensor, unknown };

/// What sort of value an expression gives, as far as its form and its names tell. Reports nothing.
[[nodiscard]] ValueKind classify(const ast::Expr& expr, const BindScope& scope);
[[nodiscard]] ValueKind kind_of(const Value& value);

/// "a scalar", "a type", "a register tile" ... for messages.
[[nodiscard]] std::string_view kind_name(const Value& value, const BindScope& scope);

/// A value of any sort; nothing after a report.
[[nodiscard]] std::optional<Value> bind_value(const ast::Expr& expr, const BindScope& scope);

/// A list that has a name, or that is in one, where it is. Nothing is copied but by at().
struct NamedList {
  const ValueList* values = nullptr;
  const ConstantList* constants = nullptr;

  [[nodiscard]] std::size_t size() const {
    return values != nullptr ? values->size() : constants->values.size();
  }
  [[nodiscard]] Value at(std::size_t i, Span span) const {
    return values != nullptr ? (*values)[i] : to_value(constants->values[i].value, span);
  }
  [[nodiscard]] ValueKind kind_at(std::size_t i) const;
  /// An element that is a list.
  [[nodiscard]] std::optional<NamedList> list_at(std::size_t i) const;
  [[nodiscard]] Cost cost() const;
  [[nodiscard]] Cost cost_at(std::size_t i) const;
};
/// The list that an expression names, `sizes` or `sizes[2]`; nothing if it is none. Reports
/// nothing.
[[nodiscard]] std::optional<NamedList> list_named(const ast::Expr& expr, const BindScope& scope);

/// A list: `[a, b]`, a comprehension, a name, `shape_of(x)`.
[[nodiscard]] std::optional<ValueList> bind_list(const ast::Expr& expr, const BindScope& scope);
/// What a loop or a comprehension goes through: a list, or a range of constants.
[[nodiscard]] std::optional<ValueList> bind_iterated(const ast::Expr& expr, const BindScope& scope);
/// An element of a list.
[[nodiscard]] std::optional<Value> bind_element(const ast::Index& node, Span span,
                                                const BindScope& scope);
/// The position that an index means in a list of `size` elements.
[[nodiscard]] std::optional<std::size_t> bind_position(const ast::Expr& index, std::size_t size,
                                                       const BindScope& scope);
/// The one value that a function returns.
[[nodiscard]] std::optional<Value> bind_function_call(const ast::Function& function,
                                                      const ast::Call& call, Span span,
                                                      const BindScope& scope);

/// The value that a constant condition chooses; null after a report, or if the condition is known
/// only when the kernel runs.
[[nodiscard]] const ast::Expr* chosen(const ast::Conditional& node, const BindScope& scope);

// --- Scalars and constants

/// A scalar expression; nothing after a report (or where a poisoned name is used).
[[nodiscard]] std::optional<isa::Expr> bind_scalar(const ast::Expr& expr, const BindScope& scope);

/// A constant, as a condition.
[[nodiscard]] std::optional<bool> bind_constant_condition(const ast::Expr& expr,
                                                          const BindScope& scope);

/// A constant integer.
[[nodiscard]] std::optional<std::int64_t> bind_integer(const ast::Expr& expr,
                                                       const BindScope& scope);

/// Constant integers: the entries of a list.
[[nodiscard]] std::optional<std::vector<std::int64_t>> bind_integers(const ast::Expr& expr,
                                                                     const BindScope& scope);

// --- Types and layouts

/// An element type: its name, or a constant.
[[nodiscard]] std::optional<isa::DType> bind_dtype(const ast::Expr& expr, const BindScope& scope);

/// The function that gives the layout of a view: one stride a dimension, `strides(s0, s1, ..)`.
inline constexpr std::string_view strides_function = "strides";

/// Names of the operations on layouts: `reduce`, `permute` ...
[[nodiscard]] std::vector<std::string> layout_operations();

using AnyLayoutValue = std::variant<isa::RegisterLayout, isa::MemoryLayout>;

/// A layout: a product of factors, a constant, either of them in brackets.
[[nodiscard]] std::optional<AnyLayoutValue> bind_layout(const ast::Expr& expr,
                                                        const BindScope& scope);

/// Whether calls of this name make layouts.
[[nodiscard]] bool is_layout_function(std::string_view name);

// --- Functions of the language

/// What a function of the language gives; nothing if there is none of this name.
[[nodiscard]] std::optional<ValueKind> builtin_kind(std::string_view name);
[[nodiscard]] inline bool is_builtin(std::string_view name) {
  return builtin_kind(name).has_value();
}
[[nodiscard]] std::vector<std::string> builtin_names();

/// A call of such a function with scalars, constants or the tensors that it asks about; nothing
/// after a report.
[[nodiscard]] std::optional<Value> bind_builtin(const ast::Call& call, Span span,
                                                const BindScope& scope);

/// Whether a function of the language works on tiles too: `min`, `max`, `abs`.
[[nodiscard]] bool tile_operator(std::string_view name);

}  // namespace tilevm::frontend
