#include "backend/emit/emit_scalar.h"

#include <limits>

#include <fmt/format.h>

namespace tilevm::backend {
namespace {

using isa::Expr;
using isa::Scalar;
using isa::ScalarBinary;
using isa::ScalarKind;
using isa::ScalarUnary;

/// The prelude's function for an operator that C++ does not define for every value, or "".
std::string_view function_of(ScalarBinary op) {
  switch (op) {
    case ScalarBinary::add:
      return "tv::add";
    case ScalarBinary::sub:
      return "tv::sub";
    case ScalarBinary::mul:
      return "tv::mul";
    case ScalarBinary::div:
      return "tv::div";
    case ScalarBinary::mod:
      return "tv::mod";
    case ScalarBinary::shl:
      return "tv::shl";
    case ScalarBinary::shr:
      return "tv::shr";
    case ScalarBinary::minimum:
      return "tv::least";
    case ScalarBinary::maximum:
      return "tv::greatest";
    case ScalarBinary::bit_and:
    case ScalarBinary::bit_or:
    case ScalarBinary::bit_xor:
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
  return "";
}

/// The smallest value has no literal of its own.
std::string signed_literal(std::int64_t value, std::int64_t smallest, std::string_view suffix) {
  if (value == smallest) return fmt::format("({}{} - 1)", value + 1, suffix);
  return fmt::format("{}{}", value, suffix);
}

struct ScalarText {
  const NameOf& name_of;

  std::string operator()(const Expr& expr) const {
    return std::visit([&](const auto& node) { return text(node, expr); }, expr.node());
  }

  std::string text(const Expr::Constant& node, const Expr&) const {
    return scalar_literal(node.value);
  }
  std::string text(const Expr::Variable& node, const Expr&) const { return name_of(node.var); }

  std::string text(const Expr::Unary& node, const Expr&) const {
    const std::string a = (*this)(node.a);
    if (node.op == ScalarUnary::negate) return fmt::format("tv::neg({})", a);
    return fmt::format("({}{})", to_string(node.op), a);
  }

  std::string text(const Expr::Binary& node, const Expr&) const {
    const std::string a = (*this)(node.a), b = (*this)(node.b);
    const std::string_view function = function_of(node.op);
    if (function.empty()) return fmt::format("({} {} {})", a, to_string(node.op), b);
    const bool shifts = node.op == ScalarBinary::shl || node.op == ScalarBinary::shr;
    return fmt::format("{}({}, {})", function, a, shifts ? index_text(node.b, name_of) : b);
  }

  std::string text(const Expr::Select& node, const Expr&) const {
    return fmt::format("({} ? {} : {})", (*this)(node.condition), (*this)(node.a), (*this)(node.b));
  }

  std::string text(const Expr::Convert& node, const Expr& expr) const {
    const std::string a = (*this)(node.a);
    const ScalarKind from = node.a.kind(), to = expr.kind();
    if (to == ScalarKind::boolean) return fmt::format("({} != 0)", a);
    if (from == ScalarKind::f32) return fmt::format("tv::from_float<{}>({})", scalar_type(to), a);
    return fmt::format("static_cast<{}>({})", scalar_type(to), a);
  }
};

}  // namespace

std::string scalar_type(ScalarKind kind) {
  switch (kind) {
    case ScalarKind::boolean:
      return "bool";
    case ScalarKind::f32:
      return "float";
    case ScalarKind::i32:
    case ScalarKind::u32:
    case ScalarKind::i64:
    case ScalarKind::u64:
      return fmt::format("tv::{}", to_string(kind));
  }
  TILEVM_NO_ENUMERATOR();
}

std::string scalar_literal(const Scalar& value) {
  switch (value.kind) {
    case ScalarKind::boolean:
      return value.as_bool() ? "true" : "false";
    case ScalarKind::i32:
      return signed_literal(value.as_int(), std::numeric_limits<std::int32_t>::min(), "");
    case ScalarKind::u32:
      return fmt::format("{}u", value.bits);
    case ScalarKind::i64:
      return signed_literal(value.as_int(), std::numeric_limits<std::int64_t>::min(), "ll");
    case ScalarKind::u64:
      return fmt::format("{}ull", value.bits);
    case ScalarKind::f32:
      break;
  }
  return fmt::format("tv::f32_value({:#010x}u)", value.bits);
}

std::string scalar_text(const Expr& expr, const NameOf& name_of) {
  return ScalarText{name_of}(expr);
}

std::string index_text(const Expr& expr, const NameOf& name_of) {
  const auto value = expr.constant_value();
  if (value && value->is_integer() && value->as_int() >= 0) {
    return fmt::format("{}", value->as_int());
  }
  return fmt::format("tv::index({})", scalar_text(expr, name_of));
}

}  // namespace tilevm::backend
