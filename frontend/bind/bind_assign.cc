// Assignments: to variables, to names of constants and lists, to entries of arrays of tiles.
#include <utility>

#include <fmt/format.h>

#include "frontend/bind/bind_body.h"
#include "frontend/bind/expressions.h"
#include "frontend/bind/inlining.h"

namespace tilevm::frontend {
namespace {

/// A value of the same kind fits, and so does a constant integer that the kind can hold.
bool fits(const isa::Expr& value, isa::ScalarKind kind) {
  if (value.kind() == kind) return true;
  const auto integer = value.constant_int();
  if (!integer || kind == isa::ScalarKind::boolean) return false;
  const isa::Scalar converted = isa::convert(*value.constant_value(), kind);
  if (kind == isa::ScalarKind::f32) {
    return static_cast<double>(converted.as_float()) == static_cast<double>(*integer);
  }
  return converted.as_int() == *integer && (*integer >= 0 || isa::is_signed(kind));
}

}  // namespace

void BodyBinder::bind_stmt(const ast::Assign& stmt, Span span) {
  for (const ast::Identifier& target : stmt.targets) {
    const auto constant = scope_.constants.find(target.text);
    if (constant == scope_.constants.end() || is_function_) continue;
    add_note(
        diagnostics_.error(Code::duplicate_name, target.span,
                           fmt::format("`{}` is a constant and cannot be assigned", target.text)),
        "the constant is here", constant->second.span);
    return;
  }
  if (stmt.index) return assign_element(stmt, span);
  const auto* call = std::get_if<ast::Call>(&stmt.value.node);
  if (call != nullptr) {
    const std::string& name = call->callee.text;
    if (const auto* function = scope_.function(name)) {
      return assign_call(*function, *call, stmt, span);
    }
    if (!isa::parse_scalar_kind(name) && !is_builtin(name) && !is_layout_function(name)) {
      return instructions_.bind(*call, stmt.value.span, span, stmt.targets);
    }
  }
  const ValueKind kind = classify(stmt.value, scope_);
  if (stmt.targets.size() > 1 && kind == ValueKind::list) return assign_list(stmt, span);
  const bool is_single = stmt.targets.size() == 1;
  if (is_single && kind == ValueKind::tensor) {
    return instructions_.assign(stmt.value, stmt.targets[0], span);
  }
  if (!is_single || kind == ValueKind::scalar || kind == ValueKind::unknown) {
    return assign_scalar(stmt, span);
  }
  const auto first_own = static_cast<std::int32_t>(builder_.kernel.variables.size());
  auto value = bind_value(stmt.value, scope_);
  if (!value) return poison_if_new(stmt.targets[0].text);
  if (kind == ValueKind::list) {  // arrays own their tiles
    std::vector<isa::VarId> taken;
    value = owned(*std::move(value), first_own, taken, stmt.value.span);
  }
  assign_constant(*std::move(value), stmt.targets[0]);
}

/// What a function returns goes to as many names.
void BodyBinder::assign_call(const ast::Function& function, const ast::Call& call,
                             const ast::Assign& stmt, Span span) {
  auto results = this->call(function, call, stmt.value.span);
  if (results && results->size() == stmt.targets.size()) {
    for (std::size_t i = 0; i < stmt.targets.size(); ++i) {
      assign_value(std::move((*results)[i]), stmt.targets[i], span, stmt.value.span);
    }
    return;
  }
  for (const ast::Identifier& target : stmt.targets) poison_if_new(target.text);
  if (!results) return;
  if (results->empty()) {
    diagnostics_.error(Code::no_result, stmt.value.span,
                       fmt::format("`{}` returns nothing to assign", function.name.text));
    return;
  }
  diagnostics_.error(Code::result_count, span,
                     fmt::format("`{}` returns {} value{}, {} name{} given", function.name.text,
                                 results->size(), results->size() == 1 ? "" : "s",
                                 stmt.targets.size(), stmt.targets.size() == 1 ? " is" : "s are"));
}

/// `a, b = [x, y]`.
void BodyBinder::assign_list(const ast::Assign& stmt, Span span) {
  const auto first_own = static_cast<std::int32_t>(builder_.kernel.variables.size());
  auto list = bind_list(stmt.value, scope_);
  if (list && list->size() == stmt.targets.size()) {
    std::vector<isa::VarId> taken;
    for (std::size_t i = 0; i < list->size(); ++i) {
      Value value = owned(std::move((*list)[i]), first_own, taken, stmt.value.span);
      assign_value(std::move(value), stmt.targets[i], span, stmt.value.span);
    }
    return;
  }
  for (const ast::Identifier& target : stmt.targets) poison_if_new(target.text);
  if (!list) return;
  diagnostics_.error(Code::result_count, span,
                     fmt::format("{} values for {} names", list->size(), stmt.targets.size()));
}

void BodyBinder::assign_value(Value value, const ast::Identifier& target, Span span,
                              Span value_span) {
  if (const auto* var = std::get_if<isa::VarId>(&value.node)) {
    return instructions_.assign(*var, target, span);
  }
  if (const auto* scalar = std::get_if<isa::Expr>(&value.node)) {
    return assign_scalar(*scalar, target, span, value_span);
  }
  assign_constant(std::move(value), target);
}

/// A type, a layout or a list. Its name may take another one where that always happens.
void BodyBinder::assign_constant(Value value, const ast::Identifier& target) {
  const auto existing = variables_.find(target.text);
  if (existing && existing->var.valid()) {
    add_note(diagnostics_.error(Code::wrong_operand_kind, target.span,
                                fmt::format("`{}` is {}; it cannot take {}", target.text,
                                            isa::kind_name(variables_.variable(existing->var).type),
                                            kind_name(value, scope_))),
             "it was declared here", existing->span);
    return;
  }
  if (!existing || existing->poisoned()) {
    return variables_.bind(target.text, std::move(value), target.span);
  }
  if (variables_.is_certain(existing->depth)) {
    return variables_.set_value(target.text, std::move(value));
  }
  add_note(diagnostics_.error(Code::duplicate_name, target.span,
                              fmt::format("`{}` is {} known before the run; it cannot take another "
                                          "in a loop or a branch",
                                          target.text, kind_name(value, scope_))),
           "it was given its value here", existing->span);
}

/// `t[1] = value`: a tile is written in place; another element is replaced.
void BodyBinder::assign_element(const ast::Assign& stmt, Span span) {
  const ast::Identifier& target = stmt.targets[0];
  const auto binding = variables_.find(target.text);
  const auto* list = binding && binding->value != nullptr
                         ? std::get_if<ValueList>(&binding->value->node)
                         : nullptr;
  if (list == nullptr) {
    if (!binding) return scope_.report_unknown(target.text, target.span, Wanted::list);
    if (binding->poisoned()) return;
    add_note(diagnostics_.error(Code::wrong_operand_kind, target.span,
                                fmt::format("`{}` is not a list", target.text)),
             "elements of tiles are written by instructions, such as `StoreShared(tile, x, "
             "offset=[i:])`");
    return;
  }
  const auto at = bind_position(*stmt.index, list->size(), scope_);
  if (!at) return;
  const auto* old = std::get_if<isa::VarId>(&(*list)[*at].node);
  auto value = old != nullptr ? std::optional<Value>() : bind_value(stmt.value, scope_);
  if (old != nullptr) {
    const auto var = instructions_.tensor(stmt.value, true);
    if (!var) return;
    const isa::Type &type = variables_.variable(*var).type,
                    &expected = variables_.variable(*old).type;
    if (std::holds_alternative<isa::RegisterType>(type) && type == expected) {
      return instructions_.write_to(*old, *var, span);
    }
    diagnostics_.error(Code::out_type_mismatch, stmt.value.span,
                       fmt::format("`{}[{}]` is {}, but this is {}", target.text, *at,
                                   isa::to_string(expected), isa::to_string(type)));
    return;
  }
  if (!value || !spend(cost_of(*list), span)) return;
  ValueList changed = *list;
  changed[*at] = *std::move(value);
  assign_constant(Value{std::move(changed)}, target);
}

void BodyBinder::assign_scalar(const ast::Assign& stmt, Span span) {
  if (stmt.targets.size() != 1) {
    diagnostics_.error(Code::result_count, span,
                       fmt::format("one value for {} names", stmt.targets.size()));
    for (const ast::Identifier& name : stmt.targets) poison_if_new(name.text);
    return;
  }
  const ast::Identifier& target = stmt.targets[0];
  const auto value = bind_scalar(stmt.value, scope_);
  if (!value) return poison_if_new(target.text);
  assign_scalar(*value, target, span, stmt.value.span);
}

void BodyBinder::assign_scalar(const isa::Expr& value, const ast::Identifier& target, Span span,
                               Span value_span) {
  const auto binding = variables_.find(target.text);
  if (!binding || binding->poisoned()) {
    const auto var = variables_.declare(target.text, isa::ScalarType{value.kind()}, target.span);
    builder_.emit(isa::ScalarStmt{var, value, true}, span);
    return remember(target.text, value);
  }
  if (!binding->var.valid()) {
    add_note(diagnostics_.error(Code::wrong_operand_kind, target.span,
                                fmt::format("`{}` is {}; it cannot take a scalar", target.text,
                                            kind_name(*binding->value, scope_))),
             "it was given its value here", binding->span);
    return;
  }
  const isa::Variable& variable = variables_.variable(binding->var);
  const auto* type = std::get_if<isa::ScalarType>(&variable.type);
  if (type == nullptr) {
    add_note(diagnostics_.error(Code::wrong_operand_kind, target.span,
                                fmt::format("`{}` is {}; it cannot take a scalar", target.text,
                                            isa::kind_name(variable.type))),
             "it was declared here", variable.span);
    return;
  }
  if (!fits(value, type->kind)) {
    add_note(
        diagnostics_.error(Code::scalar_type, value_span,
                           fmt::format("`{}` is {}, the value is {}; convert it with `{}(..)`",
                                       target.text, isa::to_string(type->kind),
                                       isa::to_string(value.kind()), isa::to_string(type->kind))),
        "it was declared here", variable.span);
    return;
  }
  builder_.emit(
      isa::ScalarStmt{binding->var, isa::Expr::convert(value, type->kind, value.span()), false},
      span);
}

/// A variable that is assigned once, a constant, is that constant.
void BodyBinder::remember(const std::string& name, const isa::Expr& value) {
  const auto times = assignments_.find(name);
  if (times == assignments_.end() || times->second != 1 || !value.is_constant()) return;
  variables_.set_value(name, Value{value});
}

void BodyBinder::poison_if_new(const std::string& name) {
  if (!variables_.find(name)) variables_.poison(name);
}

}  // namespace tilevm::frontend
