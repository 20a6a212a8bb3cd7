#include "frontend/bind/expressions.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "frontend/bind/bind_call.h"
#include "frontend/bind/bind_range.h"
#include "frontend/bind/inlining.h"

namespace tilevm::frontend {
namespace {

constexpr std::size_t max_list = 65'536;

}  // namespace

std::optional<Value> bind_value(const ast::Expr& expr, const BindScope& scope) {
  const auto wrap = [](auto result) -> std::optional<Value> {
    if (!result) return std::nullopt;
    return Value{*std::move(result)};
  };
  switch (classify(expr, scope)) {
    case ValueKind::dtype:
      return wrap(bind_dtype(expr, scope));
    case ValueKind::layout: {
      auto layout = bind_layout(expr, scope);
      if (!layout) return std::nullopt;
      return std::visit([](auto& of) { return Value{std::move(of)}; }, *layout);
    }
    case ValueKind::list:
      return wrap(bind_list(expr, scope));
    case ValueKind::tensor:
      if (scope.emitter != nullptr) return wrap(scope.emitter->tensor(expr));
      break;
    case ValueKind::scalar:
      break;
    case ValueKind::unknown:
      if (const auto* call = std::get_if<ast::Call>(&expr.node);
          call != nullptr && scope.function(call->callee.text) == nullptr) {
        report_unknown_call(*call, scope);
        return std::nullopt;
      }
  }
  return wrap(bind_scalar(expr, scope));
}

const ast::Expr* chosen(const ast::Conditional& node, const BindScope& scope) {
  const auto condition = bind_scalar(*node.condition, scope);
  if (!condition) return nullptr;
  const auto value = condition->constant_value();
  if (!value) {
    scope.diagnostics.error(Code::not_a_constant, node.condition->span,
                            "only scalars are chosen while a kernel runs; for tiles write an `if` "
                            "statement, or `Where` with a mask");
    return nullptr;
  }
  const bool holds = isa::convert(*value, isa::ScalarKind::boolean).as_bool();
  return holds ? &*node.value : &*node.otherwise;
}

std::optional<Value> bind_function_call(const ast::Function& function, const ast::Call& call,
                                        Span span, const BindScope& scope) {
  if (scope.emitter == nullptr) {
    scope.diagnostics.error(Code::misplaced, span,
                            fmt::format("`{}` cannot be called here; give its result a name before",
                                        function.name.text));
    return std::nullopt;
  }
  auto results = scope.emitter->call(function, call, span);
  if (!results) return std::nullopt;
  if (results->size() == 1) return std::move((*results)[0]);
  scope.diagnostics.error(Code::result_count, span,
                          fmt::format("`{}` returns {} values, one is expected here",
                                      function.name.text, results->size()));
  return std::nullopt;
}

// ---------------------------------------------------------------------------------------------
// Lists

namespace {

std::optional<ValueList> bind_entries(const ast::List& node, const BindScope& scope) {
  ValueList values;
  bool ok = true;
  for (const ast::ListEntry& entry : node.entries) {
    if (entry.colon) {
      scope.diagnostics.error(Code::wrong_operand_kind, entry.span,
                              "a colon may only appear in offsets");
      return std::nullopt;
    }
    if (!scope.spend({1, sizeof(Value)}, entry.span)) return std::nullopt;
    auto value = bind_value(entry.value, scope);
    ok = ok && value.has_value();
    if (value) values.push_back(*std::move(value));
  }
  if (!ok) return std::nullopt;
  return values;
}

std::optional<ValueList> too_long(Span span, const BindScope& scope) {
  scope.diagnostics.error(Code::program_too_large, span,
                          fmt::format("a list has at most {} elements", max_list));
  return std::nullopt;
}

/// The variable of a comprehension is a name of a block of its own.
std::optional<ValueList> bind_comprehension(const ast::Comprehension& node,
                                            const BindScope& scope) {
  if (scope.emitter == nullptr) {
    scope.diagnostics.error(Code::misplaced, node.variable.span,
                            "a list is not made here; give it a name before");
    return std::nullopt;
  }
  const auto all = bind_iterated(*node.values, scope);
  if (!all) return std::nullopt;
  ValueList values;
  bool ok = true;
  for (const Value& each : *all) {
    // The variable has a copy of its value while the element is made.
    Cost cost = cost_of(each);
    cost.bytes += sizeof(Value);
    if (!scope.spend(cost, node.variable.span)) return std::nullopt;
    scope.variables->enter();
    scope.variables->bind(node.variable.text, each, node.variable.span);
    const auto condition =
        node.condition ? bind_constant_condition(**node.condition, scope) : std::optional(true);
    auto value = condition.value_or(false) ? bind_value(*node.element, scope) : std::nullopt;
    scope.variables->leave();
    ok = condition.has_value() && (!*condition || value.has_value());
    if (!ok) return std::nullopt;
    if (value) values.push_back(*std::move(value));
  }
  return values;
}

std::optional<ValueList> not_a_list(const ast::Expr& expr, const BindScope& scope) {
  auto& error = scope.diagnostics.error(Code::wrong_operand_kind, expr.span,
                                        "a list is expected here, such as `[16, 32]`");
  if (scope.emitter != nullptr && classify(expr, scope) == ValueKind::tensor) {
    add_note(error, fmt::format("the extents of a tensor are a list, `shape_of({})`",
                                scope.emitter->text(expr.span)));
  }
  return std::nullopt;
}

std::optional<ValueList> take_list(std::optional<Value> value, const ast::Expr& expr,
                                   const BindScope& scope) {
  if (!value) return std::nullopt;
  auto* list = std::get_if<ValueList>(&value->node);
  if (list == nullptr) return not_a_list(expr, scope);
  return std::move(*list);
}

std::optional<ValueList> bind_named_list(const ast::Name& name, const ast::Expr& expr,
                                         const BindScope& scope) {
  const auto known = list_named(expr, scope);
  if (known && !scope.spend(known->cost(), expr.span)) return std::nullopt;
  BindScope::Meaning meaning = scope.lookup(name.text, expr.span);
  if (meaning.kind == BindScope::Meaning::Kind::poisoned) return std::nullopt;
  if (meaning.kind == BindScope::Meaning::Kind::unknown) {
    scope.report_unknown(name.text, expr.span, Wanted::list);
    return std::nullopt;
  }
  if (!meaning.value) return not_a_list(expr, scope);
  return take_list(std::move(meaning.value), expr, scope);
}

}  // namespace

std::optional<ValueList> bind_list(const ast::Expr& expr, const BindScope& scope) {
  if (const auto* list = std::get_if<ast::List>(&expr.node)) return bind_entries(*list, scope);
  if (const auto* node = std::get_if<ast::Comprehension>(&expr.node)) {
    return bind_comprehension(*node, scope);
  }
  if (const auto* name = std::get_if<ast::Name>(&expr.node)) {
    return bind_named_list(*name, expr, scope);
  }
  if (const auto* node = std::get_if<ast::Index>(&expr.node)) {
    return take_list(bind_element(*node, expr.span, scope), expr, scope);
  }
  if (const auto* node = std::get_if<ast::Conditional>(&expr.node)) {
    const ast::Expr* const taken = chosen(*node, scope);
    return taken != nullptr ? bind_list(*taken, scope) : std::nullopt;
  }
  if (const auto* node = std::get_if<ast::Binary>(&expr.node)) {
    if (node->op != ast::BinaryOp::add) return not_a_list(expr, scope);
    auto left = bind_list(*node->left, scope), right = bind_list(*node->right, scope);
    if (!left || !right) return std::nullopt;
    const std::size_t size = left->size() + right->size();
    if (size > max_list) return too_long(expr.span, scope);
    if (!scope.spend({size, size * sizeof(Value)}, expr.span)) return std::nullopt;
    std::ranges::move(*right, std::back_inserter(*left));
    return left;
  }
  if (const auto* call = std::get_if<ast::Call>(&expr.node)) {
    if (const auto* function = scope.function(call->callee.text)) {
      return take_list(bind_function_call(*function, *call, expr.span, scope), expr, scope);
    }
    if (is_builtin(call->callee.text)) {
      return take_list(bind_builtin(*call, expr.span, scope), expr, scope);
    }
  }
  return not_a_list(expr, scope);
}

std::optional<ValueList> bind_iterated(const ast::Expr& expr, const BindScope& scope) {
  const auto* call = std::get_if<ast::Call>(&expr.node);
  if (call == nullptr || call->callee.text != "range") return bind_list(expr, scope);
  if (call->args.empty()) return not_a_list(expr, scope);
  const auto range = bind_range(call->args, scope);
  if (!range) return std::nullopt;
  const auto first = range->begin.constant_int(), last = range->end.constant_int(),
             step = range->step.constant_int();
  if (!first || !last || !step) {
    scope.diagnostics.error(Code::not_a_constant, expr.span,
                            "the range of a list is made of constants");
    return std::nullopt;
  }
  ValueList values;
  bool ended = false;
  for (std::int64_t x = *first; !ended && (*step > 0 ? x < *last : x > *last);
       ended = __builtin_add_overflow(x, *step, &x)) {
    if (values.size() == max_list) return too_long(expr.span, scope);
    if (!scope.spend({1, sizeof(Value)}, expr.span)) return std::nullopt;
    values.push_back({isa::Expr::constant(x, expr.span)});
  }
  return values;
}

std::optional<std::size_t> bind_position(const ast::Expr& index, std::size_t size,
                                         const BindScope& scope) {
  const auto position = bind_integer(index, scope);
  if (!position) return std::nullopt;
  if (*position >= 0 && static_cast<std::size_t>(*position) < size) {
    return static_cast<std::size_t>(*position);
  }
  scope.diagnostics.error(
      Code::index_out_of_range, index.span,
      size == 0 ? std::string("the list is empty")
                : fmt::format("index {}; the list has the indices 0 to {}", *position, size - 1));
  return std::nullopt;
}

std::optional<Value> bind_element(const ast::Index& node, Span span, const BindScope& scope) {
  if (classify(*node.base, scope) == ValueKind::tensor) {
    add_note(scope.diagnostics.error(Code::wrong_operand_kind, span,
                                     "tensors are not indexed; this takes an element of a list"),
             "a part of a tensor is loaded: `LoadGlobal(x, layout=.., offset=[i:, j:])`, "
             "`LoadShared(..)`");
    return std::nullopt;
  }
  const bool one = node.entries.size() == 1 && !node.entries[0].colon;
  if (!one) {
    scope.diagnostics.error(Code::wrong_operand_kind, span,
                            "a list is indexed by one integer, such as `sizes[2]`");
    return std::nullopt;
  }
  if (const auto known = list_named(*node.base, scope)) {
    const auto at = bind_position(node.entries[0].value, known->size(), scope);
    if (!at || !scope.spend(known->cost_at(*at), span)) return std::nullopt;
    return known->at(*at, span);
  }
  auto list = bind_list(*node.base, scope);
  if (!list) return std::nullopt;
  const auto at = bind_position(node.entries[0].value, list->size(), scope);
  if (!at) return std::nullopt;
  return std::move((*list)[*at]);
}

}  // namespace tilevm::frontend
