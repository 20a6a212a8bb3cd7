// What sort of value an expression gives, before it is bound.
#include "frontend/bind/expressions.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "frontend/bind/bind_call.h"
#include "frontend/bind/inlining.h"

namespace tilevm::frontend {
namespace {

/// The kind that `-> kind` promises of a function's result.
ValueKind promised(std::string_view kind) {
  if (kind == "scalar") return ValueKind::scalar;
  if (kind == "dtype") return ValueKind::dtype;
  if (kind == "layout") return ValueKind::layout;
  if (kind == "list") return ValueKind::list;
  return ValueKind::tensor;
}

ValueKind kind_of(const ConstantValue& value) {
  if (std::holds_alternative<isa::Scalar>(value)) return ValueKind::scalar;
  if (std::holds_alternative<isa::DType>(value)) return ValueKind::dtype;
  return std::holds_alternative<ConstantList>(value) ? ValueKind::list : ValueKind::layout;
}

/// Copies no value: it is asked often.
ValueKind kind_of_name(const std::string& name, const BindScope& scope) {
  const auto binding = scope.variables != nullptr ? scope.variables->find(name) : std::nullopt;
  if (binding) {
    if (binding->poisoned()) return ValueKind::unknown;
    if (binding->value != nullptr) return frontend::kind_of(*binding->value);
    return std::holds_alternative<isa::ScalarType>(scope.variables->variable(binding->var).type)
               ? ValueKind::scalar
               : ValueKind::tensor;
  }
  const auto constant = scope.constants.find(name);
  if (constant != scope.constants.end()) {
    return constant->second.poisoned ? ValueKind::unknown : kind_of(constant->second.value);
  }
  if (name == "inf" || name == "nan") return ValueKind::scalar;
  return isa::parse_dtype(name) ? ValueKind::dtype : ValueKind::unknown;
}

}  // namespace

ValueKind NamedList::kind_at(std::size_t i) const {
  return values != nullptr ? frontend::kind_of((*values)[i]) : kind_of(constants->values[i].value);
}

std::optional<NamedList> NamedList::list_at(std::size_t i) const {
  const NamedList inner{
      values != nullptr ? std::get_if<ValueList>(&(*values)[i].node) : nullptr,
      values == nullptr ? std::get_if<ConstantList>(&constants->values[i].value) : nullptr};
  const bool is_list = inner.values != nullptr || inner.constants != nullptr;
  return is_list ? std::optional(inner) : std::nullopt;
}

Cost NamedList::cost() const { return values != nullptr ? cost_of(*values) : cost_of(*constants); }

Cost NamedList::cost_at(std::size_t i) const {
  return values != nullptr ? cost_of((*values)[i]) : cost_of(constants->values[i].value);
}

namespace {

/// The position that an index means, without reports.
std::optional<std::size_t> quiet_position(const std::vector<ast::ListEntry>& entries,
                                          std::size_t size, const BindScope& scope) {
  if (entries.size() != 1 || entries[0].colon) return std::nullopt;
  Diagnostics ignored;
  const BindScope quiet{scope.constants, scope.variables, ignored, scope.functions, nullptr};
  return bind_position(entries[0].value, size, quiet);
}

}  // namespace

std::optional<NamedList> list_named(const ast::Expr& expr, const BindScope& scope) {
  if (const auto* node = std::get_if<ast::Index>(&expr.node)) {
    const auto outer = list_named(*node->base, scope);
    if (!outer) return std::nullopt;
    const auto at = quiet_position(node->entries, outer->size(), scope);
    return at ? outer->list_at(*at) : std::nullopt;
  }
  const auto* name = std::get_if<ast::Name>(&expr.node);
  if (name == nullptr || kind_of_name(name->text, scope) != ValueKind::list) return std::nullopt;
  const auto binding =
      scope.variables != nullptr ? scope.variables->find(name->text) : std::nullopt;
  if (binding) return NamedList{std::get_if<ValueList>(&binding->value->node), nullptr};
  return NamedList{nullptr,
                   std::get_if<ConstantList>(&scope.constants.find(name->text)->second.value)};
}

namespace {

bool any_tensor(const std::vector<ast::Argument>& args, const BindScope& scope) {
  return std::ranges::any_of(args, [&](const ast::Argument& argument) {
    return classify(argument.value, scope) == ValueKind::tensor;
  });
}

ValueKind kind_of_call(const ast::Call& call, const BindScope& scope) {
  const std::string& name = call.callee.text;
  if (isa::parse_scalar_kind(name)) return ValueKind::scalar;
  if (const auto* function = scope.function(name)) {
    return function->results.size() == 1 ? promised(function->results[0].text) : ValueKind::unknown;
  }
  if (const auto kind = builtin_kind(name)) {
    return tile_operator(name) && any_tensor(call.args, scope) ? ValueKind::tensor : *kind;
  }
  if (is_instruction(name)) return ValueKind::tensor;
  return is_layout_function(name) ? ValueKind::layout : ValueKind::unknown;
}

/// What is in a list that has no name, `depth` lists deep. Goes through the text once: who asks for
/// the kinds of each part of `x[0][0]` again would take twice as long for each of them.
ValueKind kind_within(const ast::Expr& expr, std::size_t depth, const BindScope& scope) {
  if (depth == 0) return classify(expr, scope);
  if (const auto* node = std::get_if<ast::Index>(&expr.node)) {
    return kind_within(*node->base, depth + 1, scope);
  }
  if (const auto* list = std::get_if<ast::List>(&expr.node)) {
    return list->entries.empty() ? ValueKind::unknown
                                 : kind_within(list->entries[0].value, depth - 1, scope);
  }
  if (const auto* made = std::get_if<ast::Comprehension>(&expr.node)) {
    const ValueKind kind = kind_within(*made->element, depth - 1, scope);
    return kind == ValueKind::unknown ? ValueKind::scalar : kind;
  }
  if (auto list = list_named(expr, scope)) {
    for (; list && depth > 1; --depth) {
      list = list->size() > 0 ? list->list_at(0) : std::nullopt;
    }
    return list && list->size() > 0 ? list->kind_at(0) : ValueKind::unknown;
  }
  // Only lists of extents come from calls.
  return classify(expr, scope) == ValueKind::list ? ValueKind::scalar : ValueKind::unknown;
}

/// The kind of an element, without reports.
ValueKind kind_of_index(const ast::Index& node, const BindScope& scope) {
  if (const auto list = list_named(*node.base, scope)) {
    if (list->size() == 0 || node.entries.size() != 1) return ValueKind::unknown;
    return list->kind_at(quiet_position(node.entries, list->size(), scope).value_or(0));
  }
  return kind_within(*node.base, 1, scope);
}

ValueKind kind_of_binary(const ast::Binary& node, const BindScope& scope) {
  const ValueKind left = classify(*node.left, scope), right = classify(*node.right, scope);
  if (left == ValueKind::tensor || right == ValueKind::tensor) return ValueKind::tensor;
  const bool product = node.op == ast::BinaryOp::mul || node.op == ast::BinaryOp::div;
  if (product && left == ValueKind::layout) return ValueKind::layout;
  return node.op == ast::BinaryOp::add && left == ValueKind::list ? ValueKind::list
                                                                  : ValueKind::scalar;
}

}  // namespace

ValueKind kind_of(const Value& value) {
  if (std::holds_alternative<isa::Expr>(value.node)) return ValueKind::scalar;
  if (std::holds_alternative<isa::VarId>(value.node)) return ValueKind::tensor;
  if (std::holds_alternative<isa::DType>(value.node)) return ValueKind::dtype;
  return std::holds_alternative<ValueList>(value.node) ? ValueKind::list : ValueKind::layout;
}

std::string_view kind_name(const Value& value, const BindScope& scope) {
  switch (kind_of(value)) {
    case ValueKind::scalar:
      return "a scalar";
    case ValueKind::dtype:
      return "a type";
    case ValueKind::layout:
      return "a layout";
    case ValueKind::list:
      return "a list";
    case ValueKind::tensor:
      return isa::kind_name(scope.variables->variable(*std::get_if<isa::VarId>(&value.node)).type);
    case ValueKind::unknown:
      break;
  }
  return "nothing";
}

ValueKind classify(const ast::Expr& expr, const BindScope& scope) {
  if (const auto* name = std::get_if<ast::Name>(&expr.node)) {
    return kind_of_name(name->text, scope);
  }
  if (const auto* unary = std::get_if<ast::Unary>(&expr.node)) {
    return classify(*unary->operand, scope) == ValueKind::tensor ? ValueKind::tensor
                                                                 : ValueKind::scalar;
  }
  if (const auto* binary = std::get_if<ast::Binary>(&expr.node)) {
    return kind_of_binary(*binary, scope);
  }
  if (const auto* call = std::get_if<ast::Call>(&expr.node)) return kind_of_call(*call, scope);
  if (const auto* node = std::get_if<ast::Index>(&expr.node)) return kind_of_index(*node, scope);
  if (const auto* node = std::get_if<ast::Conditional>(&expr.node)) {
    const ValueKind first = classify(*node->value, scope),
                    second = classify(*node->otherwise, scope);
    if (classify(*node->condition, scope) == ValueKind::tensor || second == ValueKind::tensor) {
      return ValueKind::tensor;
    }
    return first == ValueKind::unknown ? second : first;
  }
  if (std::holds_alternative<ast::Method>(expr.node)) return ValueKind::layout;
  const bool list = std::holds_alternative<ast::List>(expr.node) ||
                    std::holds_alternative<ast::Comprehension>(expr.node);
  if (list) return ValueKind::list;
  return std::holds_alternative<ast::String>(expr.node) ? ValueKind::unknown : ValueKind::scalar;
}

}  // namespace tilevm::frontend
