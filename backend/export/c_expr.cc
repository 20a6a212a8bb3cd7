#include "backend/export/c_expr.h"

#include <fmt/format.h>

namespace tilevm::backend {
namespace {

using isa::Expr;
using isa::is_signed;
using isa::is_wide;
using isa::ScalarBinary;
using isa::ScalarKind;
using isa::ScalarUnary;

/// Integers are computed in 64 bits, sign- or zero-extended, and cut back to their kind: for sums,
/// products and bit operations only the low bits of the operands matter.
struct Text {
  const std::string& prefix;
  const std::function<std::string(isa::VarId)>& name;

  std::string operator()(const Expr& expr) const {
    return std::visit([&](const auto& node) { return text(node, expr); }, expr.node());
  }

  std::string text(const Expr::Constant& node, const Expr& expr) const {
    return fmt::format("({}){}u{}", c_type(expr.kind()), node.value.bits,
                       node.value.bits >> 32 == 0 ? "" : "ll");
  }

  std::string text(const Expr::Variable& node, const Expr&) const { return name(node.var); }

  std::string text(const Expr::Convert& node, const Expr& expr) const {
    const std::string a = (*this)(node.a);
    if (expr.kind() == ScalarKind::boolean) return fmt::format("({} != 0)", a);
    return fmt::format("({}){}", c_type(expr.kind()), a);
  }

  std::string text(const Expr::Unary& node, const Expr& expr) const {
    const std::string a = (*this)(node.a);
    switch (node.op) {
      case ScalarUnary::negate:
        return fmt::format("({})(0u - (uint64_t){})", c_type(expr.kind()), a);
      case ScalarUnary::bit_not:
        return fmt::format("({})~(uint64_t){}", c_type(expr.kind()), a);
      case ScalarUnary::logical_not:
        break;
    }
    return fmt::format("(!{})", a);
  }

  std::string text(const Expr::Select& node, const Expr&) const {
    return fmt::format("({} ? {} : {})", (*this)(node.condition), (*this)(node.a), (*this)(node.b));
  }

  std::string text(const Expr::Binary& node, const Expr& expr) const {
    const std::string a = (*this)(node.a), b = (*this)(node.b), type = c_type(expr.kind());
    const char* const sign = is_signed(expr.kind()) ? "i" : "u";
    const auto wrapping = [&] {
      return fmt::format("({})((uint64_t){} {} (uint64_t){})", type, a, to_string(node.op), b);
    };
    const auto plain = [&] { return fmt::format("({} {} {})", a, to_string(node.op), b); };
    switch (node.op) {
      case ScalarBinary::add:
      case ScalarBinary::sub:
      case ScalarBinary::mul:
      case ScalarBinary::bit_and:
      case ScalarBinary::bit_or:
      case ScalarBinary::bit_xor:
        return wrapping();
      case ScalarBinary::div:
        return fmt::format("({}){}_{}div({}, {}, &fault)", type, prefix, sign, a, b);
      case ScalarBinary::mod:
        return fmt::format("({}){}_{}mod({}, {}, &fault)", type, prefix, sign, a, b);
      case ScalarBinary::shl:
        return fmt::format("({}){}_shl((uint64_t){}, (uint64_t){}, {})", type, prefix, a, b,
                           width(expr.kind()));
      case ScalarBinary::shr:
        return fmt::format("({}){}_{}shr({}, (uint64_t){})", type, prefix, sign, a, b);
      case ScalarBinary::minimum:
        return fmt::format("({0} < {1} ? {0} : {1})", a, b);
      case ScalarBinary::maximum:
        return fmt::format("({0} > {1} ? {0} : {1})", a, b);
      case ScalarBinary::eq:
      case ScalarBinary::ne:
      case ScalarBinary::lt:
      case ScalarBinary::le:
      case ScalarBinary::gt:
      case ScalarBinary::ge:
      case ScalarBinary::logical_and:
      case ScalarBinary::logical_or:
        break;
    }
    return plain();
  }

  static int width(ScalarKind kind) { return is_wide(kind) ? 64 : 32; }
};

// For operands that were extended to 64 bits, whatever they were before. The smallest integer
// divided by -1 wraps.
constexpr const char* helpers = R"(static inline int64_t @_idiv(int64_t a, int64_t b, int* fault) {
  if (b == 0) *fault = 1;
  if (b == 0) return 0;
  return b == -1 ? (int64_t)(0u - (uint64_t)a) : a / b;
}
static inline int64_t @_imod(int64_t a, int64_t b, int* fault) {
  if (b == 0) *fault = 1;
  return b == 0 || b == -1 ? 0 : a % b;
}
static inline uint64_t @_udiv(uint64_t a, uint64_t b, int* fault) {
  if (b == 0) *fault = 1;
  return b == 0 ? 0 : a / b;
}
static inline uint64_t @_umod(uint64_t a, uint64_t b, int* fault) {
  if (b == 0) *fault = 1;
  return b == 0 ? 0 : a % b;
}
static inline uint64_t @_shl(uint64_t a, uint64_t count, unsigned width) {
  return count < width ? a << count : 0;
}
static inline int64_t @_ishr(int64_t a, uint64_t count) {
  return a >> (count < 64 ? count : 63);
}
static inline uint64_t @_ushr(uint64_t a, uint64_t count) {
  return count < 64 ? a >> count : 0;
}
)";

}  // namespace

std::string c_type(ScalarKind kind) {
  switch (kind) {
    case ScalarKind::boolean:
      return "bool";
    case ScalarKind::i32:
      return "int32_t";
    case ScalarKind::u32:
      return "uint32_t";
    case ScalarKind::i64:
      return "int64_t";
    case ScalarKind::u64:
      return "uint64_t";
    case ScalarKind::f32:
      break;
  }
  return "float";
}

bool has_floats(const Expr& expr) {
  if (expr.kind() == ScalarKind::f32) return true;
  if (const auto* node = std::get_if<Expr::Unary>(&expr.node())) return has_floats(node->a);
  if (const auto* node = std::get_if<Expr::Convert>(&expr.node())) return has_floats(node->a);
  if (const auto* node = std::get_if<Expr::Select>(&expr.node())) {
    return has_floats(node->condition) || has_floats(node->a) || has_floats(node->b);
  }
  const auto* node = std::get_if<Expr::Binary>(&expr.node());
  return node != nullptr && (has_floats(node->a) || has_floats(node->b));
}

std::string c_expression(const Expr& expr, const std::string& prefix,
                         const std::function<std::string(isa::VarId)>& name) {
  return Text{prefix, name}(expr);
}

std::string c_expression_helpers(const std::string& prefix) {
  std::string text = helpers;
  for (std::size_t at = 0; (at = text.find('@', at)) != std::string::npos;) {
    text.replace(at, 1, prefix);
  }
  return text;
}

}  // namespace tilevm::backend
