// Binding of the functions of the language, and of element types: names, and what gives a type.
#include "frontend/bind/expressions.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "frontend/syntax/foreign_words.h"
#include "isa/base/suggest.h"

namespace tilevm::frontend {
namespace {

/// The functions of constants, and of the types and layouts of tensors.
struct Builtin {
  std::string_view name;
  ValueKind kind;
  std::size_t parameters;
};
constexpr std::array<Builtin, 16> builtins{{{"min", ValueKind::scalar, 2},
                                            {"max", ValueKind::scalar, 2},
                                            {"abs", ValueKind::scalar, 1},
                                            {"cdiv", ValueKind::scalar, 2},
                                            {"len", ValueKind::scalar, 1},
                                            {"bits", ValueKind::scalar, 1},
                                            {"is_signed", ValueKind::scalar, 1},
                                            {"is_unsigned", ValueKind::scalar, 1},
                                            {"is_float", ValueKind::scalar, 1},
                                            {"exponent_bits", ValueKind::scalar, 1},
                                            {"mantissa_bits", ValueKind::scalar, 1},
                                            {"num_threads", ValueKind::scalar, 1},
                                            {"num_locals", ValueKind::scalar, 1},
                                            {"dtype_of", ValueKind::dtype, 1},
                                            {"layout_of", ValueKind::layout, 1},
                                            {"shape_of", ValueKind::list, 1}}};

const Builtin* find_builtin(std::string_view name) {
  const auto* found = std::ranges::find(builtins, name, &Builtin::name);
  return found == builtins.end() ? nullptr : found;
}

constexpr std::size_t most_values = 256;

std::optional<Value> too_many_values(std::string_view name, const ast::Argument& first_beyond,
                                     const BindScope& scope) {
  scope.diagnostics.error(Code::too_many_operands, first_beyond.span,
                          fmt::format("`{}` takes at most {} values", name, most_values));
  return std::nullopt;
}

class BuiltinBinder {
 public:
  BuiltinBinder(const ast::Call& call, Span span, const BindScope& scope)
      : name_(call.callee.text), args_(call.args), span_(span), scope_(scope) {}

  std::optional<Value> bind() {
    const Builtin& builtin = *find_builtin(name_);
    const bool many = name_ == "min" || name_ == "max";  // of two or more
    for (const ast::Argument& argument : args_) {
      if (!argument.name) continue;
      return wrong_count(builtin);
    }
    if (many ? args_.size() < 2 : args_.size() != builtin.parameters) return wrong_count(builtin);
    if (many && args_.size() > most_values)
      return too_many_values(name_, args_[most_values], scope_);
    if (many) return extreme();
    if (name_ == "abs") return absolute();
    if (name_ == "cdiv") return ceiling();
    if (name_ == "len") return length();
    if (name_ == "num_threads" || name_ == "num_locals") return size_of_layout();
    if (name_ == "dtype_of" || name_ == "layout_of" || name_ == "shape_of") return property();
    return property_of_type();
  }

 private:
  using Result = std::optional<Value>;

  Result wrong_count(const Builtin& builtin) {
    scope_.diagnostics.error(Code::missing_operand, span_,
                             fmt::format("`{}` takes {} value{}", name_, builtin.parameters,
                                         builtin.parameters == 1 ? "" : "s"));
    return std::nullopt;
  }

  Result of(bool value) const { return Value{isa::Expr::constant(isa::Scalar::of(value), span_)}; }
  Result of(std::int64_t value) const { return Value{isa::Expr::constant(value, span_)}; }

  Result extreme() {
    const auto op = name_ == "min" ? isa::ScalarBinary::minimum : isa::ScalarBinary::maximum;
    auto result = bind_scalar(args_[0].value, scope_);
    for (std::size_t i = 1; result && i < args_.size(); ++i) {
      auto next = bind_scalar(args_[i].value, scope_);
      if (!next) return std::nullopt;
      result = isa::Expr::binary(op, *std::move(result), *std::move(next), span_);
    }
    if (!result) return std::nullopt;
    return Value{*std::move(result)};
  }

  Result absolute() {
    const auto a = bind_scalar(args_[0].value, scope_);
    if (!a) return std::nullopt;
    return Value{isa::Expr::binary(isa::ScalarBinary::maximum, *a,
                                   isa::Expr::unary(isa::ScalarUnary::negate, *a, span_), span_)};
  }

  /// The least integer that is not less than a / b, for b > 0.
  Result ceiling() {
    const auto a = bind_scalar(args_[0].value, scope_), b = bind_scalar(args_[1].value, scope_);
    if (!a || !b) return std::nullopt;
    if (!isa::is_integer(a->kind()) || !isa::is_integer(b->kind())) {
      scope_.diagnostics.error(Code::scalar_type, span_, "`cdiv` takes integers");
      return std::nullopt;
    }
    const auto divisor = b->constant_int();
    if (divisor && *divisor <= 0) {
      scope_.diagnostics.error(
          *divisor == 0 ? Code::division_by_zero : Code::scalar_type, span_,
          fmt::format("`cdiv` divides by {}; the divisor must be positive", *divisor));
      return std::nullopt;
    }
    using isa::Expr;
    using isa::ScalarBinary;
    const auto dividend = a->constant_int();
    if (dividend && divisor) {
      const std::int64_t quotient = *dividend / *divisor;
      return of(quotient + (*dividend % *divisor > 0 ? 1 : 0));
    }
    // (a + b - 1) / b, without an overflow: a / b + (a % b > 0).
    const Expr quotient = Expr::binary(ScalarBinary::div, *a, *b, span_);
    const Expr rest = Expr::binary(ScalarBinary::mod, *a, *b, span_);
    const Expr more = Expr::convert(
        Expr::binary(ScalarBinary::gt, rest, Expr::convert(Expr::constant(0), rest.kind()), span_),
        quotient.kind(), span_);
    return Value{Expr::binary(ScalarBinary::add, quotient, more, span_)};
  }

  Result length() {
    const auto list = bind_list(args_[0].value, scope_);
    if (!list) return std::nullopt;
    return of(static_cast<std::int64_t>(list->size()));
  }

  Result size_of_layout() {
    const auto layout = bind_layout(args_[0].value, scope_);
    if (!layout) return std::nullopt;
    const auto* registers = std::get_if<isa::RegisterLayout>(&*layout);
    if (registers == nullptr) {
      scope_.diagnostics.error(Code::wrong_operand_kind, args_[0].value.span,
                               "a register layout is expected here, not a memory layout");
      return std::nullopt;
    }
    return of(name_ == "num_threads" ? static_cast<std::int64_t>(registers->num_threads())
                                     : static_cast<std::int64_t>(registers->num_locals()));
  }

  Result property_of_type() {
    const auto type = bind_dtype(args_[0].value, scope_);
    if (!type) return std::nullopt;
    if (name_ == "bits") return of(std::int64_t{type->bits});
    if (name_ == "exponent_bits") return of(std::int64_t{type->exponent_bits});
    if (name_ == "mantissa_bits") return of(std::int64_t{type->mantissa_bits});
    if (name_ == "is_float") return of(type->is_float());
    if (name_ == "is_unsigned") return of(type->kind == isa::TypeKind::unsigned_int);
    return of(type->kind != isa::TypeKind::unsigned_int);
  }

  Result property() {
    const ast::Expr& expr = args_[0].value;
    if (classify(expr, scope_) == ValueKind::layout) return property_of_layout(expr);
    if (scope_.emitter == nullptr) {
      scope_.diagnostics.error(Code::not_a_constant, expr.span, "there are no tensors here");
      return std::nullopt;
    }
    const auto var = scope_.emitter->tensor(expr);
    if (!var) return std::nullopt;
    const isa::Type& type = scope_.variables->variable(*var).type;
    if (const auto* tile = std::get_if<isa::RegisterType>(&type)) {
      return property(tile->dtype, tile->layout, list_of(tile->shape()));
    }
    if (const auto* tile = std::get_if<isa::SharedType>(&type)) {
      return property(tile->dtype, tile->layout, list_of(tile->shape()));
    }
    if (const auto* view = std::get_if<isa::GlobalType>(&type); view != nullptr) {
      ValueList extents;
      for (const isa::Expr& extent : view->extents) extents.push_back({extent.at(span_)});
      if (name_ == "shape_of") return Value{std::move(extents)};
      if (name_ == "dtype_of") return Value{view->dtype};
    }
    const auto* barrier = std::get_if<isa::BarrierType>(&type);
    if (barrier != nullptr && name_ == "shape_of") return Value{list_of({barrier->stages})};
    const auto* pointer = std::get_if<isa::PointerType>(&type);
    if (pointer != nullptr && name_ == "dtype_of") return Value{pointer->dtype};
    scope_.diagnostics.error(
        Code::wrong_operand_kind, expr.span,
        fmt::format("{} has no layout and no shape that are known here", isa::kind_name(type)));
    return std::nullopt;
  }

  Result property_of_layout(const ast::Expr& expr) {
    const auto layout = bind_layout(expr, scope_);
    if (!layout) return std::nullopt;
    if (name_ == "shape_of") {
      return std::visit([&](const auto& of) { return Value{list_of(of.shape())}; }, *layout);
    }
    scope_.diagnostics.error(Code::wrong_operand_kind, expr.span,
                             fmt::format("`{}` takes a tensor, not a layout", name_));
    return std::nullopt;
  }

  template <class Layout>
  Result property(const isa::DType& dtype, const Layout& layout, ValueList shape) const {
    if (name_ == "dtype_of") return Value{dtype};
    if (name_ == "layout_of") return Value{layout};
    return Value{std::move(shape)};
  }

  ValueList list_of(const isa::Shape& shape) const {
    ValueList list;
    for (const std::int64_t extent : shape) list.push_back({isa::Expr::constant(extent, span_)});
    return list;
  }

  const std::string& name_;
  const std::vector<ast::Argument>& args_;
  Span span_;
  const BindScope& scope_;
};

}  // namespace

std::optional<ValueKind> builtin_kind(std::string_view name) {
  const Builtin* const found = find_builtin(name);
  return found != nullptr ? std::optional(found->kind) : std::nullopt;
}

bool tile_operator(std::string_view name) {
  return name == "min" || name == "max" || name == "abs";
}

std::vector<std::string> builtin_names() {
  std::vector<std::string> names;
  for (const Builtin& builtin : builtins) names.emplace_back(builtin.name);
  return names;
}

std::optional<Value> bind_builtin(const ast::Call& call, Span span, const BindScope& scope) {
  return BuiltinBinder(call, span, scope).bind();
}

// ---------------------------------------------------------------------------------------------
// Element types

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
