#include "isa/inst/expr.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "isa/base/check.h"

namespace tilevm::isa {

Expr::Expr() : Expr(constant(Scalar::i32(0))) {}

Expr Expr::constant(Scalar value, Span span) {
  return Expr(std::make_shared<const Body>(Body{Constant{value}, value.kind, span}));
}

Expr Expr::constant(std::int64_t value, Span span) {
  const bool fits = value >= std::numeric_limits<std::int32_t>::min() &&
                    value <= std::numeric_limits<std::int32_t>::max();
  return constant(fits ? Scalar::i32(static_cast<std::int32_t>(value)) : Scalar::i64(value), span);
}

Expr Expr::variable(VarId var, std::string name, ScalarKind kind, Span span) {
  return Expr(std::make_shared<const Body>(Body{Variable{var, std::move(name)}, kind, span}));
}

Expr Expr::convert(Expr a, ScalarKind to, Span span) {
  if (a.kind() == to) return a;
  if (const auto value = a.constant_value()) return constant(isa::convert(*value, to), span);
  return Expr(std::make_shared<const Body>(Body{Convert{std::move(a)}, to, span}));
}

namespace {

/// The kind in which an operation happens.
ScalarKind computed_in(ScalarUnary op, ScalarKind a) {
  switch (op) {
    case ScalarUnary::negate:
    case ScalarUnary::bit_not:
      return promoted(a);
    case ScalarUnary::logical_not:
      return ScalarKind::boolean;
  }
  TILEVM_NO_ENUMERATOR();
}

ScalarKind computed_in(ScalarBinary op, ScalarKind a, ScalarKind b) {
  switch (class_of(op)) {
    case ScalarClass::arithmetic:
    case ScalarClass::integer:
    case ScalarClass::comparison:
    case ScalarClass::choice:
      return promoted(std::max(a, b));
    case ScalarClass::shift:
      return promoted(a);
    case ScalarClass::logical:
      return ScalarKind::boolean;
  }
  TILEVM_NO_ENUMERATOR();
}

/// A conversion with the operand's span.
Expr converted(Expr a, ScalarKind kind) {
  const Span span = a.span();
  return Expr::convert(std::move(a), kind, span);
}

}  // namespace

Expr Expr::unary(ScalarUnary op, Expr a, Span span) {
  TILEVM_CHECK(supports(op, a.kind()), "operator does not take this kind");
  const ScalarKind kind = computed_in(op, a.kind());
  a = converted(std::move(a), kind);
  if (const auto value = a.constant_value()) return constant(*apply(op, *value), span);
  return Expr(std::make_shared<const Body>(Body{Unary{op, std::move(a)}, kind, span}));
}

Expr Expr::binary(ScalarBinary op, Expr a, Expr b, Span span) {
  TILEVM_CHECK(supports(op, a.kind(), b.kind()), "operator does not take these kinds");
  const ScalarKind kind = computed_in(op, a.kind(), b.kind());
  a = converted(std::move(a), kind);
  if (!is_shift(op)) b = converted(std::move(b), kind);
  if (const auto left = a.constant_value()) {
    // A constant left side can decide a logical operator alone.
    if (is_logical(op) && left->as_bool() == (op == ScalarBinary::logical_or)) {
      return constant(*left, span);
    }
    if (const auto right = b.constant_value()) {
      if (const auto value = apply(op, *left, *right)) return constant(*value, span);
    }
  }
  const ScalarKind result = class_of(op) == ScalarClass::comparison ? ScalarKind::boolean : kind;
  return Expr(
      std::make_shared<const Body>(Body{Binary{op, std::move(a), std::move(b)}, result, span}));
}

Expr Expr::select(Expr condition, Expr a, Expr b, Span span) {
  condition = converted(std::move(condition), ScalarKind::boolean);
  const ScalarKind kind = std::max(a.kind(), b.kind());
  a = converted(std::move(a), kind);
  b = converted(std::move(b), kind);
  if (const auto value = condition.constant_value()) return (value->as_bool() ? a : b).at(span);
  return Expr(std::make_shared<const Body>(
      Body{Select{std::move(condition), std::move(a), std::move(b)}, kind, span}));
}

ScalarKind Expr::kind() const { return body_->kind; }
Span Expr::span() const { return body_->span; }
const Expr::Node& Expr::node() const { return body_->node; }

Expr Expr::at(Span span) const {
  Body body = *body_;
  body.span = span;
  return Expr(std::make_shared<const Body>(std::move(body)));
}

std::optional<Scalar> Expr::constant_value() const {
  if (const auto* constant = std::get_if<Constant>(&body_->node)) return constant->value;
  return std::nullopt;
}

std::optional<std::int64_t> Expr::constant_int() const {
  const auto value = constant_value();
  if (!value || !value->is_integer()) return std::nullopt;
  if (value->kind == ScalarKind::u64 && value->as_int() < 0) return std::nullopt;
  return value->as_int();
}

namespace {

// Structural equality, one overload a node.
bool same(const Expr::Constant& a, const Expr::Constant& b) { return a.value == b.value; }
bool same(const Expr::Variable& a, const Expr::Variable& b) { return a.var == b.var; }
bool same(const Expr::Unary& a, const Expr::Unary& b) { return a.op == b.op && a.a == b.a; }
bool same(const Expr::Binary& a, const Expr::Binary& b) {
  return a.op == b.op && a.a == b.a && a.b == b.b;
}
bool same(const Expr::Convert& a, const Expr::Convert& b) { return a.a == b.a; }
bool same(const Expr::Select& a, const Expr::Select& b) {
  return a.condition == b.condition && a.a == b.a && a.b == b.b;
}

}  // namespace

bool operator==(const Expr& a, const Expr& b) {
  if (a.body_ == b.body_) return true;
  if (a.kind() != b.kind() || a.node().index() != b.node().index()) return false;
  return std::visit(
      [&]<class Node>(const Node& node) { return same(node, *std::get_if<Node>(&b.node())); },
      a.node());
}

namespace {

struct Evaluator {
  const std::function<Scalar(VarId)>& value_of;
  Span* fault;

  std::optional<Scalar> operator()(const Expr& expr) const {
    return std::visit([&](const auto& node) { return visit(node, expr); }, expr.node());
  }

  std::optional<Scalar> visit(const Expr::Constant& node, const Expr&) const { return node.value; }
  std::optional<Scalar> visit(const Expr::Variable& node, const Expr&) const {
    return value_of(node.var);
  }
  std::optional<Scalar> visit(const Expr::Unary& node, const Expr&) const {
    const auto a = (*this)(node.a);
    return a ? apply(node.op, *a) : std::nullopt;
  }
  std::optional<Scalar> visit(const Expr::Convert& node, const Expr& expr) const {
    const auto a = (*this)(node.a);
    if (!a) return std::nullopt;
    return convert(*a, expr.kind());
  }
  std::optional<Scalar> visit(const Expr::Select& node, const Expr&) const {
    const auto condition = (*this)(node.condition);
    if (!condition) return std::nullopt;
    return (*this)(condition->as_bool() ? node.a : node.b);
  }
  std::optional<Scalar> visit(const Expr::Binary& node, const Expr& expr) const {
    const auto a = (*this)(node.a);
    if (!a) return std::nullopt;
    if (is_logical(node.op) && a->as_bool() == (node.op == ScalarBinary::logical_or)) return a;
    const auto b = (*this)(node.b);
    if (!b) return std::nullopt;
    const auto result = apply(node.op, *a, *b);
    if (!result && fault != nullptr) *fault = expr.span();
    return result;
  }
};

constexpr int call_precedence = 12;

/// Binding strength as in C; higher binds tighter.
int precedence(ScalarBinary op) {
  switch (op) {
    case ScalarBinary::logical_or:
      return 1;
    case ScalarBinary::logical_and:
      return 2;
    case ScalarBinary::bit_or:
      return 3;
    case ScalarBinary::bit_xor:
      return 4;
    case ScalarBinary::bit_and:
      return 5;
    case ScalarBinary::eq:
    case ScalarBinary::ne:
      return 6;
    case ScalarBinary::lt:
    case ScalarBinary::le:
    case ScalarBinary::gt:
    case ScalarBinary::ge:
      return 7;
    case ScalarBinary::shl:
    case ScalarBinary::shr:
      return 8;
    case ScalarBinary::add:
    case ScalarBinary::sub:
      return 9;
    case ScalarBinary::mul:
    case ScalarBinary::div:
    case ScalarBinary::mod:
      return 10;
    case ScalarBinary::minimum:
    case ScalarBinary::maximum:
      return call_precedence;
  }
  return 0;
}
constexpr int unary_precedence = 11;

/// An expression as text, in parentheses if the operator around it binds tighter.
struct Printer {
  int around = 0;

  std::string operator()(const Expr& expr) const { return std::visit(*this, expr.node()); }
  std::string operator()(const Expr::Constant& node) const { return to_string(node.value); }
  std::string operator()(const Expr::Variable& node) const { return node.name; }
  std::string operator()(const Expr::Convert& node) const { return (*this)(node.a); }
  std::string operator()(const Expr::Unary& node) const {
    return fmt::format("{}{}", to_string(node.op), Printer{unary_precedence}(node.a));
  }
  std::string operator()(const Expr::Select& node) const {
    const std::string text = fmt::format("{} if {} else {}", Printer{1}(node.a),
                                         Printer{1}(node.condition), Printer{}(node.b));
    return around > 0 ? "(" + text + ")" : text;
  }
  std::string operator()(const Expr::Binary& node) const {
    if (is_choice(node.op)) {
      return fmt::format("{}({}, {})", to_string(node.op), Printer{}(node.a), Printer{}(node.b));
    }
    const int own = precedence(node.op);
    const std::string text =
        fmt::format("{} {} {}", Printer{own}(node.a), to_string(node.op), Printer{own + 1}(node.b));
    return own < around ? "(" + text + ")" : text;
  }
};

/// Calls f for the variables below a node.
struct VariableWalk {
  const std::function<void(VarId)>& f;

  void operator()(const Expr& expr) const { std::visit(*this, expr.node()); }
  void operator()(const Expr::Constant&) const {}
  void operator()(const Expr::Variable& node) const { f(node.var); }
  void operator()(const Expr::Unary& node) const { (*this)(node.a); }
  void operator()(const Expr::Convert& node) const { (*this)(node.a); }
  void operator()(const Expr::Binary& node) const {
    (*this)(node.a);
    (*this)(node.b);
  }
  void operator()(const Expr::Select& node) const {
    (*this)(node.condition);
    (*this)(node.a);
    (*this)(node.b);
  }
};

}  // namespace

std::optional<Scalar> evaluate(const Expr& expr, const std::function<Scalar(VarId)>& value_of,
                               Span* fault) {
  return Evaluator{value_of, fault}(expr);
}

void for_each_variable(const Expr& expr, const std::function<void(VarId)>& f) {
  VariableWalk{f}(expr);
}

std::string to_string(const Expr& expr) { return Printer{}(expr); }

}  // namespace tilevm::isa
