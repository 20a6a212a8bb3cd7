// Binding of scalar expressions. Constants fold as they are built; an integer constant that leaves
// i32 becomes i64, and one that leaves 64 bits is an error, so folding never wraps silently. Only
// `u32`, which a program must ask for by name, wraps as at run time.
//
// More than 400 lines: one binder, with a visit for each kind of expression.
#include "frontend/bind/expressions.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "frontend/bind/bind_call.h"
#include "frontend/bind/bind_scope.h"
#include "frontend/bind/foreign_calls.h"
#include "frontend/bind/inlining.h"
#include "isa/base/check.h"

namespace tilevm::frontend {
namespace {

using isa::Expr;
using isa::Scalar;
using isa::ScalarBinary;
using isa::ScalarKind;
using isa::ScalarUnary;

ScalarBinary to_isa(ast::BinaryOp op) {
  switch (op) {
    case ast::BinaryOp::logical_or:
      return ScalarBinary::logical_or;
    case ast::BinaryOp::logical_and:
      return ScalarBinary::logical_and;
    case ast::BinaryOp::equal:
      return ScalarBinary::eq;
    case ast::BinaryOp::not_equal:
      return ScalarBinary::ne;
    case ast::BinaryOp::less:
      return ScalarBinary::lt;
    case ast::BinaryOp::less_equal:
      return ScalarBinary::le;
    case ast::BinaryOp::greater:
      return ScalarBinary::gt;
    case ast::BinaryOp::greater_equal:
      return ScalarBinary::ge;
    case ast::BinaryOp::bit_or:
      return ScalarBinary::bit_or;
    case ast::BinaryOp::bit_xor:
      return ScalarBinary::bit_xor;
    case ast::BinaryOp::bit_and:
      return ScalarBinary::bit_and;
    case ast::BinaryOp::shift_left:
      return ScalarBinary::shl;
    case ast::BinaryOp::shift_right:
      return ScalarBinary::shr;
    case ast::BinaryOp::add:
      return ScalarBinary::add;
    case ast::BinaryOp::sub:
      return ScalarBinary::sub;
    case ast::BinaryOp::mul:
      return ScalarBinary::mul;
    case ast::BinaryOp::div:
      return ScalarBinary::div;
    case ast::BinaryOp::mod:
      return ScalarBinary::mod;
  }
  TILEVM_NO_ENUMERATOR();
}

/// Converts an operator that changes a value: `+` does not.
ScalarUnary to_isa(ast::UnaryOp op) {
  switch (op) {
    case ast::UnaryOp::minus:
      return ScalarUnary::negate;
    case ast::UnaryOp::bit_not:
      return ScalarUnary::bit_not;
    case ast::UnaryOp::logical_not:
      return ScalarUnary::logical_not;
    case ast::UnaryOp::plus:
      break;
  }
  TILEVM_CHECK(false, "an operator that changes nothing");
  return ScalarUnary::negate;
}

__extension__ using Wide = __int128;

/// Whether constants of a kind are computed exactly.
bool is_exact(ScalarKind kind) {
  switch (kind) {
    case ScalarKind::i32:
    case ScalarKind::i64:
    case ScalarKind::u64:
      return true;
    case ScalarKind::boolean:
    case ScalarKind::u32:
    case ScalarKind::f32:
      return false;
  }
  TILEVM_NO_ENUMERATOR();
}

bool is_exact_constant(const Expr& expr) { return expr.is_constant() && is_exact(expr.kind()); }
bool is_integer_constant(const Expr& expr) { return expr.is_constant() && is_integer(expr.kind()); }

/// The value of a constant of an integer kind.
Wide value_of(const Expr& expr) {
  const Scalar value = *expr.constant_value();
  if (is_signed(value.kind)) return value.as_int();
  return static_cast<Wide>(value.bits);
}

/// a * 2^count; nothing if it has more bits than any kind.
std::optional<Wide> shifted_left(Wide a, Wide count) {
  if (a == 0) return 0;
  if (count > 63) return std::nullopt;
  return a * (Wide{1} << static_cast<int>(count));
}

class ScalarBinder {
 public:
  explicit ScalarBinder(const BindScope& scope) : scope_(scope) {}

  std::optional<Expr> bind(const ast::Expr& expr) const {
    return std::visit([&](const auto& node) { return visit(node, expr.span); }, expr.node);
  }

 private:
  std::optional<Expr> visit(const ast::Integer& node, Span span) const {
    if (node.value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      return Expr::constant(Scalar{ScalarKind::u64, node.value}, span);
    }
    return Expr::constant(static_cast<std::int64_t>(node.value), span);
  }
  std::optional<Expr> visit(const ast::Float& node, Span span) const {
    const auto value = static_cast<float>(node.value);
    if (!std::isinf(value)) return Expr::constant(Scalar::f32(value), span);
    scope_.diagnostics.error(
        Code::value_not_representable, span,
        fmt::format(
            "`{}` is not a value of f32, the type of scalars with a fraction; the largest is {}",
            node.text, std::numeric_limits<float>::max()));
    return std::nullopt;
  }
  std::optional<Expr> visit(const ast::Bool& node, Span span) const {
    return Expr::constant(Scalar::of(node.value), span);
  }
  std::optional<Expr> visit(const ast::String&, Span span) const {
    return not_scalar("a text", span);
  }
  std::optional<Expr> visit(const ast::List&, Span span) const {
    return not_scalar("a list", span);
  }
  std::optional<Expr> visit(const ast::Method& node, Span span) const {
    if (report_foreign_method(node, scope_)) return std::nullopt;
    return not_scalar("a layout", span);
  }

  std::optional<Expr> visit(const ast::Comprehension&, Span span) const {
    return not_scalar("a list", span);
  }

  std::optional<Expr> visit(const ast::Name& node, Span span) const {
    BindScope::Meaning meaning = scope_.lookup(node.text, span);
    switch (meaning.kind) {
      case BindScope::Meaning::Kind::poisoned:
        return std::nullopt;
      case BindScope::Meaning::Kind::value:
        return take_scalar(std::move(meaning.value), node.text, span);
      case BindScope::Meaning::Kind::variable: {
        const isa::Variable& variable = scope_.variables->variable(meaning.var);
        if (const auto* scalar = std::get_if<isa::ScalarType>(&variable.type)) {
          return Expr::variable(meaning.var, node.text, scalar->kind, span);
        }
        return not_scalar(fmt::format("{}, `{}`", isa::kind_name(variable.type), node.text), span);
      }
      case BindScope::Meaning::Kind::unknown:
        break;
    }
    constexpr float infinity = std::numeric_limits<float>::infinity();
    if (node.text == "inf") return Expr::constant(Scalar::f32(infinity), span);
    if (node.text == "nan") return Expr::constant(Scalar::f32(infinity - infinity), span);
    if (isa::parse_dtype(node.text))
      return not_scalar(fmt::format("a type, `{}`", node.text), span);
    scope_.report_unknown(node.text, span, scope_.scalars);
    return std::nullopt;
  }

  /// The scalar that a value is; reports another.
  std::optional<Expr> take_scalar(std::optional<Value> value, std::string_view name,
                                  Span span) const {
    if (!value) return std::nullopt;
    if (auto* scalar = std::get_if<Expr>(&value->node)) {
      return is_affordable(*scalar, span) ? std::optional(scalar->at(span)) : std::nullopt;
    }
    std::string what(kind_name(*value, scope_));
    if (!name.empty()) what += fmt::format(", `{}`", name);
    return not_scalar(what, span);
  }

  /// A name may stand for an expression, whose tree each use repeats.
  bool is_affordable(const Expr& value, Span span) const {
    const bool is_plain =
        value.is_constant() || std::holds_alternative<Expr::Variable>(value.node());
    if (is_plain) return true;
    const TreeSize size = size_of(value, Inlining::most_steps);
    if (size.height <= most_height) return scope_.spend({size.nodes, 0}, span);
    scope_.diagnostics.error(
        Code::nesting_too_deep, span,
        fmt::format("with what its names stand for, this expression is more than {} levels deep",
                    most_height));
    return false;
  }

  std::optional<Expr> visit(const ast::Index& node, Span span) const {
    return take_scalar(bind_element(node, span, scope_), "", span);
  }

  /// Only the chosen value of a constant condition is looked at.
  std::optional<Expr> visit(const ast::Conditional& node, Span span) const {
    auto condition = bind(*node.condition);
    if (!condition) return std::nullopt;
    if (const auto value = condition->constant_value()) {
      const bool holds = isa::convert(*value, ScalarKind::boolean).as_bool();
      return bind(holds ? *node.value : *node.otherwise);
    }
    auto a = bind(*node.value), b = bind(*node.otherwise);
    if (!a || !b) return std::nullopt;
    return Expr::select(*std::move(condition), *std::move(a), *std::move(b), span);
  }

  std::optional<Expr> visit(const ast::Unary& node, Span span) const {
    auto a = bind(*node.operand);
    if (!a) return std::nullopt;
    if (node.op == ast::UnaryOp::plus) return a->at(span);
    if (node.op == ast::UnaryOp::minus && is_exact_constant(*a)) {
      // -9223372036854775808 is an i64, though the number without its sign is none.
      const bool is_literal = std::holds_alternative<ast::Integer>(node.operand->node);
      const ScalarKind kind = is_literal ? ScalarKind::i64 : a->kind();
      return exact(-value_of(*a), kind, fmt::format("-({})", to_string(*a)), span);
    }
    const ScalarUnary op = to_isa(node.op);
    if (!isa::supports(op, a->kind())) return wrong_kinds(isa::to_string(op), "f32", span);
    return Expr::unary(op, std::move(*a), span);
  }

  /// The type that an expression stands for, if it does.
  [[nodiscard]] std::optional<isa::DType> type_of(const ast::Expr& expr) const {
    if (classify(expr, scope_) != ValueKind::dtype) return std::nullopt;
    return bind_dtype(expr, scope_);
  }

  std::optional<Expr> visit(const ast::Binary& node, Span span) const {
    const bool equal = node.op == ast::BinaryOp::equal;
    if (equal || node.op == ast::BinaryOp::not_equal) {
      const auto left = type_of(*node.left), right = type_of(*node.right);
      if (left && right) return Expr::constant(Scalar::of((*left == *right) == equal), span);
    }
    auto a = bind(*node.left);
    auto b = bind(*node.right);
    if (!a || !b) return std::nullopt;
    const ScalarBinary op = to_isa(node.op);
    if (!isa::supports(op, a->kind(), b->kind())) {
      return wrong_kinds(isa::to_string(op), "f32", node.op_span);
    }
    const bool divides = op == ScalarBinary::div || op == ScalarBinary::mod;
    if (divides && b->constant_int() == std::int64_t{0} && a->kind() != ScalarKind::f32) {
      scope_.diagnostics.error(Code::division_by_zero, span, "division by zero");
      return std::nullopt;
    }
    if (is_exact_constant(*a) && is_integer_constant(*b)) return fold(op, *a, *b, span);
    return Expr::binary(op, std::move(*a), std::move(*b), span);
  }

  /// An exact result as a constant: of the narrowest signed kind, or of u64 if an operand is. What
  /// does not fit 64 bits is an error.
  std::optional<Expr> exact(std::optional<Wide> value, ScalarKind kind, const std::string& text,
                            Span span) const {
    const bool is_u64 = kind == ScalarKind::u64;
    const Wide low = is_u64 ? 0 : std::numeric_limits<std::int64_t>::min();
    const Wide high = is_u64 ? static_cast<Wide>(std::numeric_limits<std::uint64_t>::max())
                             : static_cast<Wide>(std::numeric_limits<std::int64_t>::max());
    if (value && *value >= low && *value <= high) {
      if (is_u64) return Expr::constant(Scalar{kind, static_cast<std::uint64_t>(*value)}, span);
      return Expr::constant(static_cast<std::int64_t>(*value), span);
    }
    scope_.diagnostics.error(Code::constant_overflow, span,
                             fmt::format("{} does not fit {}", text, is_u64 ? "u64" : "64 bits"));
    return std::nullopt;
  }

  /// Constants are computed exactly, then take the narrowest kind. What no operator can make too
  /// large is computed as at run time.
  std::optional<Expr> fold(ScalarBinary op, const Expr& a, const Expr& b, Span span) const {
    const Wide x = value_of(a), y = value_of(b);
    const auto text = [&] {
      return fmt::format("{} {} {}", to_string(a), isa::to_string(op), to_string(b));
    };
    if (isa::is_shift(op) && y < 0) {
      scope_.diagnostics.error(
          Code::constant_overflow, span,
          fmt::format("{}: bits cannot be shifted by a negative count", text()));
      return std::nullopt;
    }
    const ScalarKind kind = isa::is_shift(op) ? a.kind() : std::max(a.kind(), b.kind());
    if (is_exact(kind) && (isa::is_shift(op) || is_exact(b.kind()))) {
      if (op == ScalarBinary::add) return exact(x + y, kind, text(), span);
      if (op == ScalarBinary::sub) return exact(x - y, kind, text(), span);
      if (op == ScalarBinary::mul) return exact_product(x, y, kind, text(), span);
      if (op == ScalarBinary::shl) return exact(shifted_left(x, y), kind, text(), span);
      if (op == ScalarBinary::div && y == -1) return exact(-x, kind, text(), span);
    }
    if (!is_signed(a.kind()) || !is_signed(b.kind())) return Expr::binary(op, a, b, span);
    const Expr wide = Expr::binary(op, Expr::convert(a, ScalarKind::i64), b, span);
    if (wide.kind() == ScalarKind::i64) return Expr::constant(*wide.constant_int(), span);
    return wide;
  }

  std::optional<Expr> exact_product(Wide x, Wide y, ScalarKind kind, const std::string& text,
                                    Span span) const {
    Wide product = 0;
    if (__builtin_mul_overflow(x, y, &product)) return exact(std::nullopt, kind, text, span);
    return exact(product, kind, text, span);
  }

  /// `i64(x)`: a conversion; a function of the language, or of the program.
  std::optional<Expr> visit(const ast::Call& node, Span span) const {
    const std::string& name = node.callee.text;
    if (const auto* function = scope_.function(name)) {
      return take_scalar(bind_function_call(*function, node, span, scope_), "", span);
    }
    if (is_builtin(name)) return take_scalar(bind_builtin(node, span, scope_), "", span);
    const auto kind = isa::parse_scalar_kind(name);
    if (!kind) return wrong_call(node, span);
    if (node.args.size() != 1 || node.args[0].name) {
      scope_.diagnostics.error(Code::missing_operand, span,
                               fmt::format("`{}(..)` takes one value", node.callee.text));
      return std::nullopt;
    }
    auto value = bind(node.args[0].value);
    if (!value) return std::nullopt;
    return Expr::convert(std::move(*value), *kind, span).at(span);
  }

  std::optional<Expr> wrong_call(const ast::Call& node, Span span) const {
    if (report_foreign_call(node, scope_)) return std::nullopt;
    if (node.callee.text == strides_function) {
      report_lone_strides(node, scope_);
      return std::nullopt;
    }
    auto& error = scope_.diagnostics.error(
        Code::wrong_operand_kind, span,
        fmt::format("a scalar is expected here, not the call of `{}`", node.callee.text));
    add_note(error,
             is_instruction(node.callee.text)
                 ? "what an instruction gives takes a name first, on a line of its own"
                 : fmt::format("what can be called in a scalar expression are conversions, i32(x), "
                               "i64(x), u32(x), u64(x), f32(x), bool(x), functions of the file, "
                               "and {}",
                               fmt::join(builtin_names(), ", ")));
    return std::nullopt;
  }

  std::optional<Expr> not_scalar(std::string_view what, Span span) const {
    scope_.diagnostics.error(Code::wrong_operand_kind, span,
                             fmt::format("a scalar is expected here, not {}", what));
    return std::nullopt;
  }
  std::optional<Expr> wrong_kinds(std::string_view op, std::string_view kind, Span span) const {
    scope_.diagnostics.error(Code::scalar_type, span,
                             fmt::format("`{}` does not take {}; it takes integers", op, kind));
    return std::nullopt;
  }

  static constexpr std::size_t most_height = 2048;

  const BindScope& scope_;
};

}  // namespace

std::optional<Expr> bind_scalar(const ast::Expr& expr, const BindScope& scope) {
  return ScalarBinder(scope).bind(expr);
}

std::optional<bool> bind_constant_condition(const ast::Expr& expr, const BindScope& scope) {
  const auto bound = bind_scalar(expr, scope);
  if (!bound) return std::nullopt;
  if (const auto value = bound->constant_value()) {
    return isa::convert(*value, ScalarKind::boolean).as_bool();
  }
  scope.diagnostics.error(Code::not_a_constant, expr.span,
                          "a condition that is known before the run is expected here");
  return std::nullopt;
}

std::optional<std::int64_t> bind_integer(const ast::Expr& expr, const BindScope& scope) {
  const auto bound = bind_scalar(expr, scope);
  if (!bound) return std::nullopt;
  if (const auto value = bound->constant_int()) return value;
  scope.diagnostics.error(Code::not_a_constant, expr.span,
                          bound->is_constant() ? "an integer is expected here"
                                               : "a value that is known before the run is expected "
                                                 "here: integers and constants");
  return std::nullopt;
}

std::optional<std::vector<std::int64_t>> bind_integers(const ast::Expr& expr,
                                                       const BindScope& scope) {
  const auto* list = std::get_if<ast::List>(&expr.node);
  std::vector<std::int64_t> values;
  if (list == nullptr) {
    if (classify(expr, scope) != ValueKind::list) {
      scope.diagnostics.error(Code::wrong_operand_kind, expr.span,
                              "a list of integers is expected here, such as `[16, 8]`");
      return std::nullopt;
    }
    const auto all = bind_list(expr, scope);
    if (!all) return std::nullopt;
    for (const Value& each : *all) {
      const auto* scalar = std::get_if<Expr>(&each.node);
      const auto value = scalar != nullptr ? scalar->constant_int() : std::nullopt;
      if (!value) {
        scope.diagnostics.error(Code::not_a_constant, expr.span,
                                "a list of constant integers is expected here");
        return std::nullopt;
      }
      values.push_back(*value);
    }
    return values;
  }
  for (const ast::ListEntry& entry : list->entries) {
    if (entry.colon) {
      scope.diagnostics.error(Code::wrong_operand_kind, entry.span,
                              "a colon may only appear in offsets");
      return std::nullopt;
    }
    const auto value = bind_integer(entry.value, scope);
    if (!value) return std::nullopt;
    values.push_back(*value);
  }
  return values;
}

}  // namespace tilevm::frontend
