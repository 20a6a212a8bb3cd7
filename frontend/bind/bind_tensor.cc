// Tensors that expressions give: names, nested calls, calls of functions.
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "frontend/bind/bind_instruction.h"
#include "frontend/bind/expressions.h"
#include "isa/rules/rules.h"

namespace tilevm::frontend {

namespace {

constexpr std::size_t longest_name = 24;

bool is_name(const ast::Expr& expr) {
  return std::holds_alternative<ast::Name>(expr.node) ||
         std::holds_alternative<ast::Index>(expr.node);
}

}  // namespace

/// The call with its first argument, if that is a name: `LoadShared(x, ..)`.
std::string InstructionBinder::text_of(const ast::Call& call, Span span) const {
  std::string text = text_of(span);
  if (!text.ends_with("...")) return text;
  const auto* first =
      call.args.empty() ? nullptr : std::get_if<ast::Name>(&call.args[0].value.node);
  return fmt::format("{}({})", call.callee.text,
                     first != nullptr ? first->text + ", .." : std::string(".."));
}

/// The program's text with single spaces, cut where it is long: how messages name what has no name.
std::string InstructionBinder::text_of(Span span) const {
  std::string name;
  for (const char c : kernel_.inlining.source.text(span)) {
    const bool space = c == ' ' || c == '\t' || c == '\n' || c == '\r';
    if (!space) name += c;
    if (space && !name.empty() && name.back() != ' ') name += ' ';
    if (name.size() > longest_name) return name.substr(0, longest_name) + "...";
  }
  return name;
}

std::optional<isa::VarId> InstructionBinder::tensor(const ast::Expr& expr, bool own,
                                                    Wanted wanted) {
  if (own && is_name(expr)) {
    const auto var = tensor(expr, false, wanted);
    return var ? std::optional(copy_of(*var, text_of(expr.span), expr.span)) : std::nullopt;
  }
  if (const auto* name = std::get_if<ast::Name>(&expr.node)) {
    return named_tensor(name->text, expr.span, wanted);
  }
  if (const auto* node = std::get_if<ast::Index>(&expr.node)) {
    const auto value = bind_element(*node, expr.span, scope_);
    if (!value) return std::nullopt;
    if (const auto* var = std::get_if<isa::VarId>(&value->node)) return *var;
    diagnostics_.error(Code::wrong_operand_kind, expr.span,
                       fmt::format("a tensor is expected here, not {}", kind_name(*value, scope_)));
    return std::nullopt;
  }
  if (const auto* call = std::get_if<ast::Call>(&expr.node); call != nullptr) {
    if (!tile_operator(call->callee.text)) return called_tensor(*call, expr.span);
  }
  if (const auto* node = std::get_if<ast::Conditional>(&expr.node)) {
    if (classify(*node->condition, scope_) != ValueKind::tensor) {
      const ast::Expr* const taken = chosen(*node, scope_);
      return taken != nullptr ? tensor(*taken, own, wanted) : std::nullopt;
    }
  }
  if (const auto* node = std::get_if<ast::Unary>(&expr.node)) {
    if (node->op == ast::UnaryOp::plus) return tensor(*node->operand, own, wanted);
  }
  if (classify(expr, scope_) != ValueKind::tensor) return not_a_tensor(expr);
  auto bound = operator_call(expr);
  return bound ? emit_nested(*std::move(bound), expr.span, text_of(expr.span)) : std::nullopt;
}

/// Names that are not known, or were reported, say more than that this is not a tensor.
std::optional<isa::VarId> InstructionBinder::not_a_tensor(const ast::Expr& expr) {
  const ValueKind kind = classify(expr, scope_);
  const bool is_text = std::holds_alternative<ast::String>(expr.node);
  const bool may_be_scalar = kind == ValueKind::unknown || kind == ValueKind::scalar;
  BindScope for_tile = scope_;
  for_tile.scalars = Wanted::tile;
  if (may_be_scalar && !is_text && !bind_scalar(expr, for_tile)) return std::nullopt;
  if (kind == ValueKind::layout && !bind_value(expr, scope_)) return std::nullopt;
  auto& error = diagnostics_.error(Code::wrong_operand_kind, expr.span,
                                   "the name of a tensor is expected here");
  if (kind == ValueKind::scalar) {
    add_note(error, "operators take tiles and scalars: `x + 1.0`, `max(x, 0.0)`");
  }
  return std::nullopt;
}

std::optional<isa::VarId> InstructionBinder::named_tensor(const std::string& name, Span span,
                                                          Wanted wanted) {
  const BindScope::Meaning meaning = scope_.lookup(name, span);
  switch (meaning.kind) {
    case BindScope::Meaning::Kind::variable:
      return meaning.var;
    case BindScope::Meaning::Kind::poisoned:
      return std::nullopt;
    case BindScope::Meaning::Kind::unknown:
      scope_.report_unknown(name, span, wanted);
      return std::nullopt;
    case BindScope::Meaning::Kind::value:
      break;
  }
  if (const auto* var = std::get_if<isa::VarId>(&meaning.value->node)) return *var;
  if (meaning.var.valid()) return meaning.var;  // a scalar whose value is known
  const auto constant = to_constant(*meaning.value);
  diagnostics_.error(
      Code::wrong_operand_kind, span,
      fmt::format("a tensor is expected here, but `{}` is {}", name,
                  constant ? kind_name(*constant) : kind_name(*meaning.value, scope_)));
  return std::nullopt;
}

std::optional<isa::VarId> InstructionBinder::called_tensor(const ast::Call& call, Span span) {
  if (const auto* function = scope_.function(call.callee.text)) {
    const auto value = bind_function_call(*function, call, span, scope_);
    if (!value) return std::nullopt;
    if (const auto* var = std::get_if<isa::VarId>(&value->node)) return *var;
    diagnostics_.error(Code::wrong_operand_kind, span,
                       fmt::format("a tensor is expected here, but `{}` returns {}",
                                   call.callee.text, kind_name(*value, scope_)));
    return std::nullopt;
  }
  auto bound = bind_call(call, span, scope_, *this);
  if (!bound) return std::nullopt;
  if (bound->out != nullptr) {
    diagnostics_.error(Code::out_not_allowed, bound->out->span, "a nested call cannot have `out=`");
    return std::nullopt;
  }
  return emit_nested(*std::move(bound), span, text_of(call, span));
}

/// A call as an operand: its result gets a name of its own.
std::optional<isa::VarId> InstructionBinder::emit_nested(BoundCall bound, Span span,
                                                         std::string name) {
  const auto types = infer(bound, span, std::nullopt);
  if (!types) return std::nullopt;
  if (types->size() != 1) {
    diagnostics_.error(Code::no_result, span,
                       fmt::format("`{}` cannot be an operand: it gives {} results",
                                   isa::mnemonic(bound.inst), types->size()));
    return std::nullopt;
  }
  const auto var = variables_.declare_temporary(std::move(name), (*types)[0], span);
  kernel_.emit(isa::InstStmt{std::move(bound.inst), {var}, true, std::move(bound.slot_spans)},
               span);
  return var;
}

isa::VarId InstructionBinder::copy_of(isa::VarId var, std::string name, Span span) {
  if (!std::holds_alternative<isa::RegisterType>(variables_.variable(var).type)) return var;
  BoundCall view{isa::View{{var}, {}, {}}, {span, {}, {}}, nullptr};
  return emit_nested(std::move(view), span, std::move(name)).value_or(var);
}

void InstructionBinder::write_to(isa::VarId to, isa::VarId value, Span span) {
  auto* last =
      kernel_.block->empty() ? nullptr : std::get_if<isa::InstStmt>(&kernel_.block->back().node);
  const bool made =
      last != nullptr && last->declares && last->results.size() == 1 && last->results[0] == value;
  if (!made) {
    kernel_.emit(isa::InstStmt{isa::View{{value}, {}, {}}, {to}, false, {span, {}, {}}}, span);
    return;
  }
  last->results[0] = to;
  last->declares = false;
}

void InstructionBinder::assign(const ast::Expr& expr, const ast::Identifier& target, Span span) {
  const auto fail = [&] { variables_.poison(target.text); };
  const auto* call = std::get_if<ast::Call>(&expr.node);
  const bool is_operator = std::holds_alternative<ast::Binary>(expr.node) ||
                           std::holds_alternative<ast::Unary>(expr.node) ||
                           (call != nullptr && tile_operator(call->callee.text));
  if (is_operator) {
    auto bound = operator_call(expr);
    if (!bound || !finish(*std::move(bound), expr.span, span, {target})) fail();
    return;
  }
  const auto value = tensor(expr, true);
  if (!value) return fail();
  assign(*value, target, span);
}

void InstructionBinder::assign(isa::VarId value, const ast::Identifier& target, Span span) {
  const isa::Type type = variables_.variable(value).type;
  const auto existing = variable_named(target.text);
  const bool is_tile = std::holds_alternative<isa::RegisterType>(type);
  if (existing && is_tile && variables_.variable(existing->var).type == type) {
    return write_to(existing->var, value, span);
  }
  if (existing && existing->depth < variables_.depth()) {
    warn_shadowed(target, variables_.variable(existing->var), type);
  }
  if (is_tile) variables_.rename(value, target.text, target.span);
  variables_.bind(target.text, value, target.span);
}

}  // namespace tilevm::frontend
