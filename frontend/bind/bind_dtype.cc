// Binding of element types: names, and what gives a type.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "frontend/bind/expressions.h"
#include "frontend/syntax/foreign_words.h"
#include "isa/base/suggest.h"

namespace tilevm::frontend {
namespace {

std::optional<isa::DType> take_dtype(std::optional<Value> value, const ast::Expr& expr,
                                     const BindScope& scope) {
  if (!value) return std::nullopt;
  if (const auto* type = std::get_if<isa::DType>(&value->node)) return *type;
  scope.diagnostics.error(Code::wrong_operand_kind, expr.span,
                          fmt::format("a type is expected here, not {}", kind_name(*value, scope)));
  return std::nullopt;
}

/// A type that no name is; nothing after a report.
std::optional<isa::DType> bind_computed_dtype(const ast::Expr& expr, const BindScope& scope) {
  if (const auto* node = std::get_if<ast::Conditional>(&expr.node)) {
    const ast::Expr* const taken = chosen(*node, scope);
    return taken != nullptr ? bind_dtype(*taken, scope) : std::nullopt;
  }
  if (const auto* node = std::get_if<ast::Index>(&expr.node)) {
    return take_dtype(bind_element(*node, expr.span, scope), expr, scope);
  }
  if (const auto* call = std::get_if<ast::Call>(&expr.node)) {
    if (const auto* function = scope.function(call->callee.text)) {
      return take_dtype(bind_function_call(*function, *call, expr.span, scope), expr, scope);
    }
    if (is_builtin(call->callee.text)) {
      return take_dtype(bind_builtin(*call, expr.span, scope), expr, scope);
    }
  }
  scope.diagnostics.error(Code::wrong_operand_kind, expr.span,
                          "a type is expected here, such as `f16` or `i6`");
  return std::nullopt;
}

}  // namespace

std::optional<isa::DType> bind_dtype(const ast::Expr& expr, const BindScope& scope) {
  const auto* name = std::get_if<ast::Name>(&expr.node);
  if (name == nullptr) return bind_computed_dtype(expr, scope);
  const BindScope::Meaning meaning = scope.lookup(name->text, expr.span);
  if (meaning.kind == BindScope::Meaning::Kind::poisoned) return std::nullopt;
  if (meaning.value) {
    if (const auto* type = std::get_if<isa::DType>(&meaning.value->node)) return *type;
  } else if (const auto type = isa::parse_dtype(name->text)) {
    return type;
  }
  if (report_foreign_word({name->text, expr.span}, scope.diagnostics)) return std::nullopt;
  std::vector<std::string> known;
  for (const isa::DType& type : isa::all_dtypes()) known.push_back(isa::to_string(type));
  for (std::string& constant : scope.names_of(Wanted::dtype)) known.push_back(std::move(constant));
  const std::string near = nearest(name->text, known);
  auto& error = scope.diagnostics.error(
      Code::unknown_type, expr.span,
      fmt::format("unknown type `{}`{}", name->text,
                  near.empty() ? "" : fmt::format("; did you mean `{}`?", near)));
  error.fix = near;
  if (near.empty()) {
    add_note(error,
             "types are i1..i8 i16 i32 i64, u1..u8 u16 u32 u64, f16 bf16 tf32 f32 f64, "
             "f{n}e{E}m{M} of 3 to 8 bits, f8e8m0 f7e4m3u, b1..b8");
  }
  return std::nullopt;
}

}  // namespace tilevm::frontend
