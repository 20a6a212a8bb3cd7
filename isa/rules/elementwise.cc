#include "isa/inst/elementwise.h"

#include <span>
#include <utility>

#include <fmt/format.h>

#include "isa/layout/broadcast.h"
#include "isa/layout/layout_ops.h"
#include "isa/rules/rules.h"
#include "isa/rules/support.h"
#include "isa/type/fma.h"

namespace tilevm::isa {
namespace {

/// The operands of an element-wise instruction, in the order of their slots.
using Operands = std::span<const RegisterOperand>;

/// An operation that is not defined on the type of its operand; `way_out` says what is.
RuleResult report_undefined(std::string_view mnemonic, std::string_view rule,
                            RegisterOperand operand, std::string way_out,
                            const RuleContext& context) {
  const DType& type = context.type(operand).dtype;
  add_note(context.error(Code::type_mismatch, 0,
                         fmt::format("{} is {}; `{}` is {}", context.name(operand.var),
                                     to_string(type), mnemonic, rule)),
           std::move(way_out));
  return std::nullopt;
}

std::string convert_first(RegisterOperand operand, std::string_view dtype,
                          const RuleContext& context) {
  return fmt::format("convert it first, for example `Cast({}, {})`",
                     context.variable(operand.var).name, dtype);
}

bool check_one_type(RegisterOperand a, RegisterOperand b, std::size_t slot,
                    std::string_view mnemonic, const RuleContext& context) {
  const DType &type_a = context.type(a).dtype, &type_b = context.type(b).dtype;
  if (type_a == type_b) return true;
  add_note(context.error(Code::type_mismatch, slot,
                         fmt::format("{} is {}, but {} is {}; `{}` takes tiles of one type",
                                     context.name(a.var), to_string(type_a), context.name(b.var),
                                     to_string(type_b), mnemonic)),
           fmt::format("convert one of them, for example `Cast({}, {})`",
                       context.variable(b.var).name, to_string(type_a)));
  return false;
}

/// "`a` and `b`", "`a`, `b` and `c`".
std::string names(Operands operands, std::string_view last, const RuleContext& context) {
  std::string text = context.name(operands[0].var);
  for (std::size_t i = 1; i < operands.size(); ++i) {
    text += i + 1 == operands.size() ? fmt::format(" {} ", last) : ", ";
    text += context.name(operands[i].var);
  }
  return text;
}

/// Reports shapes or layouts of operands that do not go together.
Diagnostic& operands_differ(Code code, std::size_t slot, Operands operands, std::string message,
                            const RuleContext& context) {
  auto& diagnostic = context.error(code, slot, std::move(message));
  for (const RegisterOperand operand : operands) note_operand(diagnostic, operand, context);
  return diagnostic;
}

/// A layout in which all operands can take part, if there is one.
std::optional<RegisterLayout> joint_layout_of(Operands operands, const RuleContext& context) {
  std::optional<RegisterLayout> joint = context.type(operands[0]).layout;
  for (const RegisterOperand operand : operands.subspan(1)) {
    if (joint) joint = joint_layout(*joint, context.type(operand).layout);
  }
  for (const RegisterOperand operand : operands) {
    if (joint && !broadcasts_to(context.type(operand).layout, *joint)) return std::nullopt;
  }
  return joint;
}

/// A layout for a result whose shape no operand has.
void suggest_result_layout(Diagnostic& diagnostic, const Shape& shape, Operands operands,
                           const DType& dtype, std::string_view mnemonic,
                           const RuleContext& context) {
  const auto joint = joint_layout_of(operands, context);
  const auto any = auto_local_spatial(context.type(operands[0]).layout.num_threads(), shape);
  if (!joint && !any) return;
  const RegisterLayout& layout = joint ? *joint : *any;
  if (RegisterType{dtype, layout}.bits_per_thread() > max_tile_bits_per_thread) return;
  std::string arguments;
  for (const RegisterOperand operand : operands) {
    arguments += context.variable(operand.var).name + ", ";
  }
  add_note(diagnostic,
           fmt::format("make the result first, `result = AllocateRegister({}, layout={})`, then "
                       "`{}({}out=result)`",
                       to_string(dtype), to_string(layout), mnemonic, arguments));
  if (joint) return;
  for (const RegisterOperand operand : operands) {
    const auto fitting = reduce_to(layout, context.type(operand).shape());
    if (!fitting || *fitting == context.type(operand).layout) continue;
    add_note(diagnostic, fmt::format("{} would then fit as {}", context.name(operand.var),
                                     to_string(*fitting)));
  }
}

/// The layout of a result of that shape: the operand's that has the shape, else that of the tile
/// which takes the result.
const RegisterLayout* result_layout(const Shape& shape, Operands operands, const DType& dtype,
                                    std::string_view mnemonic, const RuleContext& context) {
  for (const RegisterOperand operand : operands) {
    if (context.type(operand).shape() == shape) return &context.type(operand).layout;
  }
  if (context.expected != nullptr && context.expected->shape() == shape) {
    return &context.expected->layout;
  }
  const std::string_view none = operands.size() == 2 ? "neither" : "none of";
  auto& diagnostic = operands_differ(
      Code::layout_mismatch, operands.size() - 1, operands,
      fmt::format("{} {} has the result's shape {}, so its layout must be given", none,
                  names(operands, operands.size() == 2 ? "nor" : "and", context), to_string(shape)),
      context);
  suggest_result_layout(diagnostic, shape, operands, dtype, mnemonic, context);
  return nullptr;
}

/// Every thread holds, of the operand, what its elements of the result need.
bool check_broadcast(const RegisterLayout& result, RegisterOperand operand, std::size_t slot,
                     const RuleContext& context) {
  const RegisterType& type = context.type(operand);
  if (broadcasts_to(type.layout, result)) return true;
  auto& diagnostic = context.error(
      Code::layout_mismatch, slot,
      fmt::format("{} does not lie where a result in {} needs it: each thread must hold the "
                  "elements that it combines",
                  context.name(operand.var), to_string(result)));
  note_operand(diagnostic, operand, context);
  if (const auto fitting = reduce_to(result, type.shape())) {
    add_note(diagnostic,
             fmt::format("{} would fit as {}", context.name(operand.var), to_string(*fitting)));
  }
  return false;
}

/// No two operands of one shape have different layouts.
bool check_same_layouts(Operands operands, std::string_view mnemonic, const RuleContext& context) {
  for (std::size_t j = 1; j < operands.size(); ++j) {
    for (std::size_t i = 0; i < j; ++i) {
      const RegisterType &a = context.type(operands[i]), &b = context.type(operands[j]);
      if (a.shape() != b.shape() || a.layout == b.layout) continue;
      const RegisterOperand pair[] = {operands[i], operands[j]};
      operands_differ(Code::layout_mismatch, j, pair,
                      fmt::format("{} have different layouts; `{}` takes tiles of one layout: "
                                  "`ConvertLayout(tile, layout=..)` moves one to that of the other",
                                  names(pair, "and", context), mnemonic),
                      context);
      return false;
    }
  }
  return true;
}

/// The shape to which all operands broadcast.
std::optional<Shape> joint_shape(Operands operands, const RuleContext& context) {
  Shape shape = context.type(operands[0]).shape();
  for (std::size_t i = 1; i < operands.size(); ++i) {
    const auto next = broadcast_shape(shape, context.type(operands[i]).shape());
    if (!next) {
      operands_differ(Code::shape_mismatch, i, operands.first(i + 1),
                      fmt::format("{} have different shapes; aligned right, extents must be "
                                  "equal or 1",
                                  names(operands.first(i + 1), "and", context)),
                      context);
      return std::nullopt;
    }
    shape = *next;
  }
  return shape;
}

/// The type of a result whose elements are of `dtype`.
RuleResult elementwise_result(Operands operands, const DType& dtype, std::string_view mnemonic,
                              const RuleContext& context) {
  if (!check_same_layouts(operands, mnemonic, context)) return std::nullopt;
  const auto shape = joint_shape(operands, context);
  if (!shape) return std::nullopt;
  const RegisterLayout* layout = result_layout(*shape, operands, dtype, mnemonic, context);
  if (layout == nullptr) return std::nullopt;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (!check_broadcast(*layout, operands[i], i, context)) return std::nullopt;
  }
  const auto tile = make_tile(dtype, *layout, 0, context);
  if (!tile) return std::nullopt;
  return std::vector<Type>{*tile};
}

}  // namespace

RuleResult binary_types(BinaryOp op, RegisterOperand a, RegisterOperand b,
                        const RuleContext& context) {
  const std::string_view mnemonic = describe(op).mnemonic;
  const DType& type = context.type(a).dtype;
  if (!is_defined(op, type) && is_bitwise(op)) {
    return report_undefined(mnemonic, "defined on integers", a,
                            fmt::format("its bits as integers are `View({}, dtype=u{})`",
                                        context.variable(a.var).name, int{type.bits}),
                            context);
  }
  if (!is_defined(op, type) && class_of(op) == BinaryClass::power) {
    return report_undefined(mnemonic, "defined on floats of at most 32 bits", a,
                            convert_first(a, "f32", context), context);
  }
  if (!is_defined(op, type) && class_of(op) == BinaryClass::quotient) {
    return report_undefined(mnemonic, "defined on f32", a, convert_first(a, "f32", context),
                            context);
  }
  if (!is_defined(op, type)) {
    return report_undefined(mnemonic, "not defined on bipolar integers", a,
                            convert_first(a, "i32", context), context);
  }
  if (!check_one_type(a, b, 1, mnemonic, context)) return std::nullopt;
  const RegisterOperand operands[] = {a, b};
  return elementwise_result(operands, result_type(op, type), mnemonic, context);
}

namespace {

/// "defined on f32 and f16": the types that have_approximation.
std::string approximated_types(UnaryOp op) {
  std::string words = "defined on f32";
  for (const DType& type : {f16, bf16, f64}) {
    if (has_approximation(op, type)) words += " and " + to_string(type);
  }
  return words;
}

}  // namespace

RuleResult unary_types(UnaryOp op, RegisterOperand a, const RuleContext& context) {
  const RegisterType& type = context.type(a);
  const std::string_view mnemonic = describe(op).mnemonic;
  if (!is_defined(op, type.dtype) && is_function(op)) {
    return report_undefined(mnemonic, "defined on floats of at most 32 bits", a,
                            convert_first(a, "f32", context), context);
  }
  if (!is_defined(op, type.dtype) && class_of(op) == UnaryClass::approximation) {
    return report_undefined(mnemonic, approximated_types(op), a, convert_first(a, "f32", context),
                            context);
  }
  if (!is_defined(op, type.dtype) && class_of(op) == UnaryClass::integral) {
    return report_undefined(mnemonic, "defined on floats", a, convert_first(a, "f32", context),
                            context);
  }
  if (!is_defined(op, type.dtype)) {
    return report_undefined(mnemonic, "not defined on bipolar integers", a,
                            convert_first(a, "i32", context), context);
  }
  return std::vector<Type>{type};
}

template <>
RuleResult result_types(const Fma& inst, const RuleContext& context) {
  const DType& type = context.type(inst.a).dtype;
  const std::string_view mnemonic = Fma::schema.description.mnemonic;
  if (!has_fma(type)) {
    return report_undefined(
        mnemonic, "defined on f16, bf16, f32, f64 and integers of 32 and 64 bits", inst.a,
        convert_first(inst.a, type.is_float() ? "f32" : "i32", context), context);
  }
  if (!check_one_type(inst.a, inst.b, 1, mnemonic, context)) return std::nullopt;
  if (!check_one_type(inst.a, inst.c, 2, mnemonic, context)) return std::nullopt;
  const RegisterOperand operands[] = {inst.a, inst.b, inst.c};
  return elementwise_result(operands, type, mnemonic, context);
}

template <>
RuleResult result_types(const Where& inst, const RuleContext& context) {
  const DType& condition = context.type(inst.condition).dtype;
  if (condition != u1) {
    const std::string& name = context.variable(inst.condition.var).name;
    add_note(context.error(Code::type_mismatch, 0,
                           fmt::format("the condition {} is {}; it must be u1",
                                       context.name(inst.condition.var), to_string(condition))),
             fmt::format("comparisons give u1, for example `Ne({0}, zero)`", name));
    return std::nullopt;
  }
  const std::string_view mnemonic = Where::schema.description.mnemonic;
  if (!check_one_type(inst.a, inst.b, 2, mnemonic, context)) return std::nullopt;
  const RegisterOperand operands[] = {inst.condition, inst.a, inst.b};
  return elementwise_result(operands, context.type(inst.a).dtype, mnemonic, context);
}

}  // namespace tilevm::isa
