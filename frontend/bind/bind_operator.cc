// Operators on tiles, and scalars beside them.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "frontend/bind/bind_instruction.h"
#include "frontend/bind/expressions.h"
#include "frontend/bind/foreign_calls.h"
#include "frontend/bind/tile_operators.h"
#include "isa/type/number.h"

namespace tilevm::frontend {
namespace {

constexpr std::size_t most_operands = 256;

/// How a tensor that is not a register tile becomes one.
std::string_view way_to_registers(const isa::Type& type) {
  if (std::holds_alternative<isa::GlobalType>(type)) {
    return "load it first: `LoadGlobal(x, layout=.., offset=[..])`";
  }
  if (std::holds_alternative<isa::SharedType>(type)) {
    return "load it first: `LoadShared(x, layout=..)`";
  }
  return "make a view of it, `ViewGlobal(x, shape=[..])`, and load from the view";
}

}  // namespace

std::optional<BoundCall> InstructionBinder::operator_call(const ast::Expr& expr) {
  if (const auto* node = std::get_if<ast::Unary>(&expr.node)) return unary(*node, expr.span);
  if (const auto* call = std::get_if<ast::Call>(&expr.node)) return function(*call, expr.span);
  if (const auto* node = std::get_if<ast::Conditional>(&expr.node)) {
    return where(*node, expr.span);
  }
  const auto& node = *std::get_if<ast::Binary>(&expr.node);
  if (const auto op = tile_operation(node.op)) {
    return binary(*op, *node.left, *node.right, node.op_span);
  }
  diagnostics_.error(
      Code::wrong_operand_kind, node.op_span,
      fmt::format("`{0}` decides on scalars; masks are combined by `{1}`", to_string(node.op),
                  node.op == ast::BinaryOp::logical_and ? "&" : "|"));
  return std::nullopt;
}

std::optional<BoundCall> InstructionBinder::binary(isa::BinaryOp op, const ast::Expr& left,
                                                   const ast::Expr& right, Span) {
  const auto a = operand(left), b = operand(right);
  if (!a || !b) return std::nullopt;
  if (!a->tile.valid() && !b->tile.valid()) return needs_name(a->scalar ? left : right);
  const auto x = tile_of(*a, b->tile), y = tile_of(*b, a->tile);
  if (!x || !y) return std::nullopt;
  return BoundCall{make_binary(op, *x, *y), {left.span, right.span}, nullptr};
}

std::optional<BoundCall> InstructionBinder::unary(isa::UnaryOp op, const ast::Expr& tree) {
  const auto a = operand(tree);
  if (!a) return std::nullopt;
  if (!a->tile.valid()) return needs_name(tree);
  return BoundCall{make_unary(op, a->tile), {tree.span}, nullptr};
}

std::optional<BoundCall> InstructionBinder::unary(const ast::Unary& node, Span span) {
  switch (node.op) {
    case ast::UnaryOp::minus:
      return unary(isa::UnaryOp::neg, *node.operand);
    case ast::UnaryOp::plus: {  // the tile itself
      const auto a = operand(*node.operand);
      if (!a) return std::nullopt;
      if (!a->tile.valid()) return needs_name(*node.operand);
      return BoundCall{isa::View{{a->tile}, {}, {}}, {node.operand->span, {}, {}}, nullptr};
    }
    case ast::UnaryOp::bit_not:
      break;
    case ast::UnaryOp::logical_not:
      diagnostics_.error(Code::wrong_operand_kind, node.op_span,
                         "`not` decides on scalars; the complement of a mask is `~mask`");
      return std::nullopt;
  }
  // All bits of an integer, signed or not.
  const auto a = operand(*node.operand);
  if (!a) return std::nullopt;
  if (!a->tile.valid()) return needs_name(*node.operand);
  const auto& type = *std::get_if<isa::RegisterType>(&variables_.variable(a->tile).type);
  const isa::Expr ones = isa::Expr::constant(std::int64_t{-1}, span);
  auto constant =
      emit_nested({isa::AllocateRegister{type.dtype, {}, type.layout, isa::ElementValues{{ones}}},
                   {node.op_span, {}, node.op_span, node.op_span},
                   nullptr},
                  node.op_span, "~0");
  if (!constant) return std::nullopt;
  return BoundCall{
      make_binary(isa::BinaryOp::bit_xor, a->tile, *constant), {node.operand->span, span}, nullptr};
}

/// min, max and abs; of three and more values from the left.
std::optional<BoundCall> InstructionBinder::function(const ast::Call& call, Span span) {
  const bool is_abs = call.callee.text == "abs";
  const bool named =
      std::ranges::any_of(call.args, [](const auto& a) { return a.name.has_value(); });
  if (named || (is_abs ? call.args.size() != 1 : call.args.size() < 2)) {
    auto& error = diagnostics_.error(
        Code::missing_operand, span,
        fmt::format("`{}` takes {}", call.callee.text, is_abs ? "1 value" : "2 values"));
    if (!is_abs && !named) {
      add_note(error, fmt::format("along a dimension of a tile it is `{}({}, {}, dims=0)`",
                                  isa::Reduce::schema.description.mnemonic,
                                  text_of(call.args[0].value.span), call.callee.text));
    }
    return std::nullopt;
  }
  if (is_abs) return unary(isa::UnaryOp::abs, call.args[0].value);
  if (call.args.size() > most_operands) {
    diagnostics_.error(
        Code::too_many_operands, call.args[most_operands].span,
        fmt::format("`{}` takes at most {} values", call.callee.text, most_operands));
    return std::nullopt;
  }
  return extreme(call, span);
}

std::optional<BoundCall> InstructionBinder::extreme(const ast::Call& call, Span span) {
  const bool is_min = call.callee.text == "min";
  const auto op = is_min ? isa::BinaryOp::min : isa::BinaryOp::max;
  auto so_far = operand(call.args[0].value);
  for (std::size_t i = 1; so_far && i < call.args.size(); ++i) {
    const ast::Expr& tree = call.args[i].value;
    const auto next = operand(tree);
    if (!next) return std::nullopt;
    if (so_far->scalar && next->scalar) {
      so_far->scalar =
          isa::Expr::binary(is_min ? isa::ScalarBinary::minimum : isa::ScalarBinary::maximum,
                            *so_far->scalar, *next->scalar, span);
      continue;
    }
    const auto x = tile_of(*so_far, next->tile), y = tile_of(*next, so_far->tile);
    if (!x || !y) return std::nullopt;
    BoundCall bound{make_binary(op, *x, *y), {call.args[i - 1].value.span, tree.span}, nullptr};
    if (i + 1 == call.args.size()) return bound;
    const auto tile = emit_nested(std::move(bound), span, text_of(span));
    if (!tile) return std::nullopt;
    so_far = Operand({*tile, {}}, tree);
  }
  return so_far ? needs_name(call.args[0].value) : std::nullopt;
}

std::optional<BoundCall> InstructionBinder::where(const ast::Conditional& node, Span span) {
  const auto condition = operand(*node.condition), a = operand(*node.value),
             b = operand(*node.otherwise);
  if (!condition || !a || !b) return std::nullopt;
  if (!condition->tile.valid()) return needs_name(*node.condition);
  if (!a->tile.valid() && !b->tile.valid()) {
    report_no_tile_to_choose(*node.condition, *node.value, *node.otherwise, span, scope_);
    return std::nullopt;
  }
  const auto x = tile_of(*a, b->tile), y = tile_of(*b, a->tile);
  if (!x || !y) return std::nullopt;
  return BoundCall{isa::Where{{condition->tile}, {*x}, {*y}},
                   {node.condition->span, node.value->span, node.otherwise->span},
                   nullptr};
}

/// A scalar that an instruction gives inside of an expression of scalars.
std::optional<BoundCall> InstructionBinder::needs_name(const ast::Expr& expr) {
  diagnostics_.error(Code::misplaced, expr.span,
                     "a scalar that an instruction gives takes a name first, on a line of its own");
  return std::nullopt;
}

std::optional<InstructionBinder::Operand> InstructionBinder::operand(const ast::Expr& expr) {
  auto value = tile_or_scalar(expr);
  if (!value) return std::nullopt;
  return Operand(*std::move(value), expr);
}

std::optional<TileOrScalar> InstructionBinder::tile_or_scalar(const ast::Expr& expr) {
  TileOrScalar result;
  if (classify(expr, scope_) != ValueKind::tensor) {
    BindScope for_number = scope_;
    for_number.scalars = Wanted::number;
    result.scalar = bind_scalar(expr, for_number);
    return result.scalar ? std::optional(std::move(result)) : std::nullopt;
  }
  const auto var = tensor(expr);
  if (!var) return std::nullopt;
  const isa::Variable& variable = variables_.variable(*var);
  if (std::holds_alternative<isa::RegisterType>(variable.type)) {
    result.tile = *var;
    return result;
  }
  if (const auto* scalar = std::get_if<isa::ScalarType>(&variable.type)) {
    result.scalar = isa::Expr::variable(*var, variable.name, scalar->kind, expr.span);
    return result;
  }
  add_note(diagnostics_.error(Code::wrong_operand_kind, expr.span,
                              fmt::format("operators take register tiles and scalars; `{}` is {}",
                                          variable.name, isa::kind_name(variable.type))),
           std::string(way_to_registers(variable.type)));
  return std::nullopt;
}

std::optional<isa::VarId> InstructionBinder::tile_of(const Operand& operand, isa::VarId like) {
  if (operand.tile.valid()) return operand.tile;
  return splat(*operand.scalar, *operand.tree, like);
}

/// A tile of one value, with the type of `like`. A literal for a tile of f64 keeps its 53 bits,
/// which no scalar has: its code is made as an integer.
std::optional<isa::VarId> InstructionBinder::splat(const isa::Expr& value, const ast::Expr& tree,
                                                   isa::VarId like) {
  const isa::RegisterType type = *std::get_if<isa::RegisterType>(&variables_.variable(like).type);
  const auto constant = value.constant_value();
  if (constant && !check_constant(*constant, type.dtype, tree, like)) return std::nullopt;
  if (!constant && value.kind() == isa::ScalarKind::f32 && !type.dtype.is_float()) {
    add_note(
        diagnostics_.error(Code::type_mismatch, tree.span,
                           fmt::format("the scalar is f32, but `{}` is {}",
                                       variables_.variable(like).name, isa::to_string(type.dtype))),
        fmt::format("convert one of them: `i32(..)` or `Cast({}, f32)`",
                    variables_.variable(like).name));
    return std::nullopt;
  }
  const auto fill = [&](const isa::DType& dtype, const isa::Expr& with) {
    BoundCall call{isa::AllocateRegister{dtype, {}, type.layout, isa::ElementValues{{with}}},
                   {tree.span, {}, tree.span, tree.span},
                   nullptr};
    return emit_nested(std::move(call), tree.span, text_of(tree.span));
  };
  const auto* literal = std::get_if<ast::Float>(&tree.node);
  if (literal == nullptr || type.dtype != isa::f64) return fill(type.dtype, value);
  const isa::Scalar code{isa::ScalarKind::u64,
                         isa::encode(isa::f64, isa::number_from(literal->value))};
  const auto bits = fill(isa::u64, isa::Expr::constant(code, tree.span));
  if (!bits) return std::nullopt;
  return emit_nested({isa::View{{*bits}, isa::f64, {}}, {tree.span, tree.span, {}}, nullptr},
                     tree.span, text_of(tree.span));
}

/// Floats are rounded, as literals are; everything else must be a value of the type.
bool InstructionBinder::check_constant(const isa::Scalar& value, const isa::DType& dtype,
                                       const ast::Expr& tree, isa::VarId like) {
  const isa::Number number =
      value.kind == isa::ScalarKind::f32   ? isa::number_from(double{value.as_float()})
      : value.kind == isa::ScalarKind::u64 ? isa::number_from(value.bits)
                                           : isa::number_from(value.as_int());
  const bool finite = number.cls == isa::Number::Class::finite;
  const isa::Number rounded = isa::decode(dtype, isa::encode(dtype, number));
  const double limit = isa::to_double(isa::decode(dtype, isa::max_code(dtype)));
  const double size = std::abs(isa::to_double(number));
  const bool fits = dtype.is_float() ? !finite || (!rounded.is_inf() && size <= limit * 1.0001)
                                     : finite && isa::representable(dtype, number);
  if (fits) return true;
  const std::string& name = variables_.variable(like).name;
  add_note(diagnostics_.error(Code::value_not_representable, tree.span,
                              fmt::format("{} is not a value of {}, the type of `{}`",
                                          isa::to_string(value), isa::to_string(dtype), name)),
           fmt::format("a scalar takes the type of the tile; convert the tile first, for example "
                       "`Cast({}, {})`",
                       name, value.kind == isa::ScalarKind::f32 ? "f32" : "i32"));
  return false;
}

}  // namespace tilevm::frontend
