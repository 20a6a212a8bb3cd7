#include "isa/inst/expr.h"

#include "isa/base/check.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include <fmt/format.h>

namespace tilevm::isa {
namespace {

constexpr std::uint32_t canonical_f32_nan = 0x7fffffffU;

constexpr std::array<std::string_view, 6> kind_names{"bool", "i32", "u32", "i64", "u64", "f32"};

bool is_signed(ScalarKind kind) { return kind == ScalarKind::i32 || kind == ScalarKind::i64; }
bool is_wide(ScalarKind kind) { return kind == ScalarKind::i64 || kind == ScalarKind::u64; }

/// Brings 64 computed bits into the form that Scalar keeps for an integer kind.
Scalar wrap(ScalarKind kind, std::uint64_t bits) {
  if (kind == ScalarKind::i32) {
    return {kind, static_cast<std::uint64_t>(static_cast<std::int32_t>(bits))};
  }
  if (kind == ScalarKind::u32) return {kind, static_cast<std::uint32_t>(bits)};
  return {kind, bits};
}

/// Truncation toward zero with saturation; NaN gives 0.
std::uint64_t saturate(float value, ScalarKind kind) {
  if (std::isnan(value)) return 0;
  const double x = std::trunc(static_cast<double>(value));
  switch (kind) {
    case ScalarKind::i32:
      return static_cast<std::uint64_t>(
          static_cast<std::int64_t>(std::clamp(x, -0x1p31, 0x1p31 - 1)));
    case ScalarKind::u32:
      return static_cast<std::uint64_t>(std::clamp(x, 0.0, 0x1p32 - 1));
    case ScalarKind::i64:
      if (x >= 0x1p63) return static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
      if (x < -0x1p63) return static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::min());
      return static_cast<std::uint64_t>(static_cast<std::int64_t>(x));
    case ScalarKind::u64:
      if (x >= 0x1p64) return std::numeric_limits<std::uint64_t>::max();
      return x <= 0 ? 0 : static_cast<std::uint64_t>(x);
    case ScalarKind::boolean:
    case ScalarKind::f32:
      break;
  }
  return value != 0 ? 1 : 0;
}

Scalar apply_float(ScalarBinary op, float a, float b) {
  switch (op) {
    case ScalarBinary::add:
      return Scalar::f32(a + b);
    case ScalarBinary::sub:
      return Scalar::f32(a - b);
    case ScalarBinary::mul:
      return Scalar::f32(a * b);
    case ScalarBinary::div:
      return Scalar::f32(a / b);
    case ScalarBinary::eq:
      return Scalar::of(a == b);
    case ScalarBinary::ne:
      return Scalar::of(a != b);
    case ScalarBinary::lt:
      return Scalar::of(a < b);
    case ScalarBinary::le:
      return Scalar::of(a <= b);
    case ScalarBinary::gt:
      return Scalar::of(a > b);
    case ScalarBinary::ge:
      return Scalar::of(a >= b);
    case ScalarBinary::mod:
    case ScalarBinary::shl:
    case ScalarBinary::shr:
    case ScalarBinary::bit_and:
    case ScalarBinary::bit_or:
    case ScalarBinary::bit_xor:
    case ScalarBinary::logical_and:
    case ScalarBinary::logical_or:
      break;
  }
  TILEVM_CHECK(false, "integer operator on f32");
  return {};
}

/// Division and remainder; nothing by zero. The one overflowing case wraps.
std::optional<Scalar> divide(ScalarBinary op, Scalar a, Scalar b) {
  if (b.bits == 0) return std::nullopt;
  const bool quotient = op == ScalarBinary::div;
  if (!is_signed(a.kind)) return wrap(a.kind, quotient ? a.bits / b.bits : a.bits % b.bits);
  if (b.as_int() == -1) return wrap(a.kind, quotient ? 0 - a.bits : 0);
  const std::int64_t x = quotient ? a.as_int() / b.as_int() : a.as_int() % b.as_int();
  return wrap(a.kind, static_cast<std::uint64_t>(x));
}

/// The count is taken as unsigned, whatever its kind, and clamps at the width.
Scalar shift(ScalarBinary op, Scalar a, std::uint64_t count) {
  const std::uint64_t width = is_wide(a.kind) ? 64 : 32;
  if (op == ScalarBinary::shl) return wrap(a.kind, count >= width ? 0 : a.bits << count);
  if (!is_signed(a.kind)) return wrap(a.kind, count >= width ? 0 : a.bits >> count);
  return wrap(a.kind, static_cast<std::uint64_t>(a.as_int() >> std::min<std::uint64_t>(count, 63)));
}

bool less(Scalar a, Scalar b) {
  return is_signed(a.kind) ? a.as_int() < b.as_int() : a.bits < b.bits;
}

Scalar apply_integer(ScalarBinary op, Scalar a, Scalar b) {
  switch (op) {
    case ScalarBinary::add:
      return wrap(a.kind, a.bits + b.bits);
    case ScalarBinary::sub:
      return wrap(a.kind, a.bits - b.bits);
    case ScalarBinary::mul:
      return wrap(a.kind, a.bits * b.bits);
    case ScalarBinary::bit_and:
      return wrap(a.kind, a.bits & b.bits);
    case ScalarBinary::bit_or:
      return wrap(a.kind, a.bits | b.bits);
    case ScalarBinary::bit_xor:
      return wrap(a.kind, a.bits ^ b.bits);
    case ScalarBinary::eq:
      return Scalar::of(a.bits == b.bits);
    case ScalarBinary::ne:
      return Scalar::of(a.bits != b.bits);
    case ScalarBinary::lt:
      return Scalar::of(less(a, b));
    case ScalarBinary::le:
      return Scalar::of(!less(b, a));
    case ScalarBinary::gt:
      return Scalar::of(less(b, a));
    case ScalarBinary::ge:
      return Scalar::of(!less(a, b));
    case ScalarBinary::shl:
    case ScalarBinary::shr:
      return shift(op, a, b.bits);
    case ScalarBinary::logical_and:
      return Scalar::of(a.as_bool() && b.as_bool());
    case ScalarBinary::logical_or:
      return Scalar::of(a.as_bool() || b.as_bool());
    case ScalarBinary::div:
    case ScalarBinary::mod:
      break;
  }
  TILEVM_CHECK(false, "division is handled apart");
  return {};
}

bool is_comparison(ScalarBinary op) { return op >= ScalarBinary::eq && op <= ScalarBinary::ge; }
bool is_logical(ScalarBinary op) {
  return op == ScalarBinary::logical_and || op == ScalarBinary::logical_or;
}
bool is_shift(ScalarBinary op) { return op == ScalarBinary::shl || op == ScalarBinary::shr; }

/// Arithmetic on booleans happens in i32, as in C.
ScalarKind promoted(ScalarKind kind) {
  return kind == ScalarKind::boolean ? ScalarKind::i32 : kind;
}

}  // namespace

std::string_view to_string(ScalarKind kind) { return kind_names[static_cast<std::size_t>(kind)]; }

std::optional<ScalarKind> parse_scalar_kind(std::string_view name) {
  for (std::size_t i = 0; i < kind_names.size(); ++i) {
    if (kind_names[i] == name) return static_cast<ScalarKind>(i);
  }
  return std::nullopt;
}

Scalar Scalar::i32(std::int32_t value) {
  return {ScalarKind::i32, static_cast<std::uint64_t>(static_cast<std::int64_t>(value))};
}

Scalar Scalar::f32(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return {ScalarKind::f32, std::isnan(value) ? canonical_f32_nan : bits};
}

float Scalar::as_float() const {
  const auto low = static_cast<std::uint32_t>(bits);
  float value = 0;
  std::memcpy(&value, &low, sizeof value);
  return value;
}

Scalar convert(Scalar value, ScalarKind to) {
  if (value.kind == to) return value;
  if (to == ScalarKind::boolean) {
    return Scalar::of(value.kind == ScalarKind::f32 ? value.as_float() != 0 : value.bits != 0);
  }
  if (to == ScalarKind::f32) {
    return Scalar::f32(is_signed(value.kind) ? static_cast<float>(value.as_int())
                                             : static_cast<float>(value.bits));
  }
  if (value.kind == ScalarKind::f32) return {to, saturate(value.as_float(), to)};
  return wrap(to, value.bits);
}

std::string to_string(const Scalar& value) {
  switch (value.kind) {
    case ScalarKind::boolean:
      return value.as_bool() ? "true" : "false";
    case ScalarKind::i32:
    case ScalarKind::i64:
      return fmt::format("{}", value.as_int());
    case ScalarKind::u32:
    case ScalarKind::u64:
      return fmt::format("{}", value.bits);
    case ScalarKind::f32:
      break;
  }
  std::string text = fmt::format("{}", value.as_float());
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

std::string_view to_string(ScalarUnary op) {
  switch (op) {
    case ScalarUnary::negate:
      return "-";
    case ScalarUnary::bit_not:
      return "~";
    case ScalarUnary::logical_not:
      return "!";
  }
  return "?";
}

std::string_view to_string(ScalarBinary op) {
  constexpr std::array<std::string_view, 18> texts{
      "+", "-",  "*",  "/", "%",  "<<", ">>", "&",  "|",
      "^", "==", "!=", "<", "<=", ">",  ">=", "&&", "||"};
  return texts[static_cast<std::size_t>(op)];
}

std::optional<Scalar> apply(ScalarUnary op, Scalar a) {
  if (op == ScalarUnary::logical_not) return Scalar::of(!convert(a, ScalarKind::boolean).as_bool());
  a = convert(a, promoted(a.kind));
  if (op == ScalarUnary::bit_not) return wrap(a.kind, ~a.bits);
  return a.kind == ScalarKind::f32 ? Scalar::f32(-a.as_float()) : wrap(a.kind, 0 - a.bits);
}

std::optional<Scalar> apply(ScalarBinary op, Scalar a, Scalar b) {
  if (a.kind == ScalarKind::f32) return apply_float(op, a.as_float(), b.as_float());
  if (op == ScalarBinary::div || op == ScalarBinary::mod) return divide(op, a, b);
  return apply_integer(op, a, b);
}

bool supports(ScalarUnary op, ScalarKind kind) {
  return op != ScalarUnary::bit_not || kind != ScalarKind::f32;
}

bool supports(ScalarBinary op, ScalarKind a, ScalarKind b) {
  const bool floats = a == ScalarKind::f32 || b == ScalarKind::f32;
  const bool integer_only = op == ScalarBinary::mod || is_shift(op) ||
                            op == ScalarBinary::bit_and || op == ScalarBinary::bit_or ||
                            op == ScalarBinary::bit_xor;
  return !floats || !integer_only;
}

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

/// A conversion that keeps the operand's place.
Expr converted(Expr a, ScalarKind kind) {
  const Span span = a.span();
  return Expr::convert(std::move(a), kind, span);
}

}  // namespace

Expr Expr::unary(ScalarUnary op, Expr a, Span span) {
  TILEVM_CHECK(supports(op, a.kind()), "operator does not take this kind");
  const ScalarKind kind = op == ScalarUnary::logical_not ? ScalarKind::boolean : promoted(a.kind());
  a = converted(std::move(a), kind);
  if (const auto value = a.constant_value()) return constant(*apply(op, *value), span);
  return Expr(std::make_shared<const Body>(Body{Unary{op, std::move(a)}, kind, span}));
}

Expr Expr::binary(ScalarBinary op, Expr a, Expr b, Span span) {
  TILEVM_CHECK(supports(op, a.kind(), b.kind()), "operator does not take these kinds");
  ScalarKind kind = promoted(std::max(a.kind(), b.kind()));
  if (is_logical(op)) kind = ScalarKind::boolean;
  if (is_shift(op)) kind = promoted(a.kind());
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
  const ScalarKind result = is_comparison(op) ? ScalarKind::boolean : kind;
  return Expr(
      std::make_shared<const Body>(Body{Binary{op, std::move(a), std::move(b)}, result, span}));
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

bool operator==(const Expr& a, const Expr& b) {
  if (a.body_ == b.body_) return true;
  if (a.kind() != b.kind() || a.node().index() != b.node().index()) return false;
  return std::visit(
      [&](const auto& x) {
        using T = std::decay_t<decltype(x)>;
        const T& y = *std::get_if<T>(&b.node());
        if constexpr (std::is_same_v<T, Expr::Constant>) {
          return x.value == y.value;
        } else if constexpr (std::is_same_v<T, Expr::Variable>) {
          return x.var == y.var;
        } else if constexpr (std::is_same_v<T, Expr::Unary>) {
          return x.op == y.op && x.a == y.a;
        } else if constexpr (std::is_same_v<T, Expr::Binary>) {
          return x.op == y.op && x.a == y.a && x.b == y.b;
        } else {
          return x.a == y.a;
        }
      },
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
  }
  return 0;
}
constexpr int unary_precedence = 11;

std::string text_of(const Expr& expr, int around) {
  if (const auto* constant = std::get_if<Expr::Constant>(&expr.node())) {
    return to_string(constant->value);
  }
  if (const auto* variable = std::get_if<Expr::Variable>(&expr.node())) return variable->name;
  if (const auto* conversion = std::get_if<Expr::Convert>(&expr.node())) {
    return text_of(conversion->a, around);
  }
  if (const auto* unary = std::get_if<Expr::Unary>(&expr.node())) {
    return fmt::format("{}{}", to_string(unary->op), text_of(unary->a, unary_precedence));
  }
  const auto& binary = *std::get_if<Expr::Binary>(&expr.node());
  const int own = precedence(binary.op);
  const std::string text = fmt::format("{} {} {}", text_of(binary.a, own), to_string(binary.op),
                                       text_of(binary.b, own + 1));
  return own < around ? "(" + text + ")" : text;
}

}  // namespace

std::optional<Scalar> evaluate(const Expr& expr, const std::function<Scalar(VarId)>& value_of,
                               Span* fault) {
  return Evaluator{value_of, fault}(expr);
}

void for_each_variable(const Expr& expr, const std::function<void(VarId)>& f) {
  if (const auto* variable = std::get_if<Expr::Variable>(&expr.node())) f(variable->var);
  if (const auto* unary = std::get_if<Expr::Unary>(&expr.node())) for_each_variable(unary->a, f);
  if (const auto* node = std::get_if<Expr::Convert>(&expr.node())) for_each_variable(node->a, f);
  if (const auto* binary = std::get_if<Expr::Binary>(&expr.node())) {
    for_each_variable(binary->a, f);
    for_each_variable(binary->b, f);
  }
}

std::string to_string(const Expr& expr) { return text_of(expr, 0); }

}  // namespace tilevm::isa
