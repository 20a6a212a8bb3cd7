#include "isa/inst/compute.h"

#include <utility>

#include <fmt/format.h>

#include "isa/broadcast.h"
#include "isa/dot.h"
#include "isa/inst/support.h"
#include "isa/layout/layout_ops.h"
#include "isa/rules.h"

namespace tilevm::isa {
namespace {

/// Bipolar types have no arithmetic: a sum of odd values is even.
bool check_arithmetic(const RegisterType& type, RegisterOperand operand, std::size_t slot,
                      std::string_view mnemonic, const RuleContext& context) {
  if (!type.dtype.is_bipolar()) return true;
  add_note(context.error(Code::type_mismatch, slot,
                         fmt::format("{} is {}; `{}` is not defined on bipolar integers",
                                     context.name(operand.var), to_string(type.dtype), mnemonic)),
           "convert it first, for example `Cast(x, i32)`");
  return false;
}

void note_operand(Diagnostic& diagnostic, RegisterOperand operand, const RuleContext& context) {
  add_note(diagnostic,
           fmt::format("{} is {}", context.name(operand.var),
                       to_string(context.variable(operand.var).type)),
           context.variable(operand.var).span);
}

bool check_one_type(RegisterOperand a, RegisterOperand b, std::string_view mnemonic,
                    const RuleContext& context) {
  const DType &type_a = context.type(a).dtype, &type_b = context.type(b).dtype;
  if (type_a == type_b) return true;
  add_note(context.error(Code::type_mismatch, 1,
                         fmt::format("{} is {}, but {} is {}; `{}` takes tiles of one type",
                                     context.name(a.var), to_string(type_a), context.name(b.var),
                                     to_string(type_b), mnemonic)),
           fmt::format("convert one of them, for example `Cast({}, {})`",
                       context.variable(b.var).name, to_string(type_a)));
  return false;
}

/// Reports shapes or layouts of two operands that do not go together.
Diagnostic& operands_differ(Code code, RegisterOperand a, RegisterOperand b, std::string message,
                            const RuleContext& context) {
  auto& diagnostic = context.error(code, 1, std::move(message));
  note_operand(diagnostic, a, context);
  note_operand(diagnostic, b, context);
  return diagnostic;
}

/// A layout for a result whose shape neither operand has.
void suggest_result_layout(Diagnostic& diagnostic, const Shape& shape, RegisterOperand a,
                           RegisterOperand b, std::string_view mnemonic,
                           const RuleContext& context) {
  const RegisterType &type_a = context.type(a), &type_b = context.type(b);
  const auto joint = joint_layout(type_a.layout, type_b.layout);
  const auto any = auto_local_spatial(type_a.layout.num_threads(), shape);
  if (!joint && !any) return;
  const RegisterLayout& layout = joint ? *joint : *any;
  if (RegisterType{type_a.dtype, layout}.bits_per_thread() > max_tile_bits_per_thread) return;
  add_note(diagnostic,
           fmt::format("make the result first, `result = AllocateRegister({}, layout={})`, then "
                       "`{}({}, {}, out=result)`",
                       to_string(type_a.dtype), to_string(layout), mnemonic,
                       context.variable(a.var).name, context.variable(b.var).name));
  if (joint) return;
  for (const RegisterOperand operand : {a, b}) {
    const auto fitting = reduce_to(layout, context.type(operand).shape());
    if (!fitting || *fitting == context.type(operand).layout) continue;
    add_note(diagnostic, fmt::format("{} would then fit as {}", context.name(operand.var),
                                     to_string(*fitting)));
  }
}

/// The layout of a result of that shape: the operand's that has the shape, else that of the tile
/// which takes the result.
const RegisterLayout* result_layout(const Shape& shape, RegisterOperand a, RegisterOperand b,
                                    std::string_view mnemonic, const RuleContext& context) {
  for (const RegisterOperand operand : {a, b}) {
    if (context.type(operand).shape() == shape) return &context.type(operand).layout;
  }
  if (context.expected != nullptr && context.expected->shape() == shape) {
    return &context.expected->layout;
  }
  auto& diagnostic = operands_differ(
      Code::layout_mismatch, a, b,
      fmt::format("neither {} nor {} has the result's shape {}, so its layout must be given",
                  context.name(a.var), context.name(b.var), to_string(shape)),
      context);
  suggest_result_layout(diagnostic, shape, a, b, mnemonic, context);
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

RuleResult binary_result(RegisterOperand a, RegisterOperand b, std::string_view mnemonic,
                         const RuleContext& context) {
  const RegisterType &type_a = context.type(a), &type_b = context.type(b);
  if (!check_arithmetic(type_a, a, 0, mnemonic, context)) return std::nullopt;
  if (!check_one_type(a, b, mnemonic, context)) return std::nullopt;
  if (type_a.layout == type_b.layout) return std::vector<Type>{type_a};
  if (type_a.shape() == type_b.shape()) {
    operands_differ(Code::layout_mismatch, a, b,
                    fmt::format("{} and {} have different layouts; `{}` takes tiles of one layout",
                                context.name(a.var), context.name(b.var), mnemonic),
                    context);
    return std::nullopt;
  }
  const auto shape = broadcast_shape(type_a.shape(), type_b.shape());
  if (!shape) {
    operands_differ(Code::shape_mismatch, a, b,
                    fmt::format("{} and {} have different shapes; aligned right, extents must be "
                                "equal or 1",
                                context.name(a.var), context.name(b.var)),
                    context);
    return std::nullopt;
  }
  const RegisterLayout* layout = result_layout(*shape, a, b, mnemonic, context);
  if (layout == nullptr || !check_broadcast(*layout, a, 0, context) ||
      !check_broadcast(*layout, b, 1, context)) {
    return std::nullopt;
  }
  const auto tile = make_tile(type_a.dtype, *layout, 0, context);
  if (!tile) return std::nullopt;
  return std::vector<Type>{*tile};
}

bool check_dot_shapes(const Dot& inst, const RuleContext& context) {
  const Shape &a = context.type(inst.a).shape(), &b = context.type(inst.b).shape(),
              &c = context.type(inst.c).shape();
  if (a.size() == 2 && b.size() == 2 && c.size() == 2 && a[1] == b[0] && a[0] == c[0] &&
      b[1] == c[1]) {
    return true;
  }
  auto& diagnostic = context.error(
      Code::dot_shapes,
      fmt::format("`Dot` of {} and {} onto {}; it takes a [m, k], b [k, n] and c [m, n]",
                  to_string(a), to_string(b), to_string(c)));
  note_operand(diagnostic, inst.a, context);
  note_operand(diagnostic, inst.b, context);
  note_operand(diagnostic, inst.c, context);
  return false;
}

}  // namespace

template <BinaryOp op>
RuleResult result_types(const Binary<op>& inst, const RuleContext& context) {
  return binary_result(inst.a, inst.b, Binary<op>::schema.description.mnemonic, context);
}
template RuleResult result_types(const Add&, const RuleContext&);
template RuleResult result_types(const Sub&, const RuleContext&);
template RuleResult result_types(const Mul&, const RuleContext&);
template RuleResult result_types(const Div&, const RuleContext&);
template RuleResult result_types(const Mod&, const RuleContext&);

RuleResult result_types(const Neg& inst, const RuleContext& context) {
  const RegisterType& a = context.type(inst.a);
  if (!check_arithmetic(a, inst.a, 0, Neg::schema.description.mnemonic, context)) {
    return std::nullopt;
  }
  return std::vector<Type>{a};
}

RuleResult result_types(const Cast& inst, const RuleContext& context) {
  const auto tile =
      make_tile(inst.dtype, context.type(inst.src).layout, position_of(&Cast::dtype), context);
  if (!tile) return std::nullopt;
  return std::vector<Type>{*tile};
}

RuleResult result_types(const View& inst, const RuleContext& context) {
  const RegisterType& source = context.type(inst.src);
  const RegisterType result{inst.dtype.value_or(source.dtype), inst.layout.value_or(source.layout)};
  constexpr auto layout_slot = position_of(&View::layout);
  if (result.layout.num_threads() != source.layout.num_threads()) {
    auto& diagnostic = context.error(
        Code::view_threads_differ, layout_slot,
        fmt::format("`View` changes the number of threads: {} has {}, the new layout {}",
                    context.name(inst.src.var), source.layout.num_threads(),
                    result.layout.num_threads()));
    note_operand(diagnostic, inst.src, context);
    return std::nullopt;
  }
  if (result.bits_per_thread() != source.bits_per_thread()) {
    auto& diagnostic = context.error(
        Code::view_bits_differ,
        fmt::format("`View` changes the bits per thread: {} x {} = {} bits, {} x {} = {} bits",
                    to_string(source.dtype), source.layout.num_locals(), source.bits_per_thread(),
                    to_string(result.dtype), result.layout.num_locals(), result.bits_per_thread()));
    note_operand(diagnostic, inst.src, context);
    return std::nullopt;
  }
  const auto tile = make_tile(result.dtype, result.layout, layout_slot, context);
  if (!tile) return std::nullopt;
  return std::vector<Type>{*tile};
}

RuleResult result_types(const Dot& inst, const RuleContext& context) {
  if (!check_dot_shapes(inst, context)) return std::nullopt;
  DotMismatch mismatch;
  if (!plan_dot(context.type(inst.a), context.type(inst.b), context.type(inst.c), context.target(),
                &mismatch)) {
    auto& diagnostic = context.error(Code::no_dot_instruction, mismatch.reason);
    note_operand(diagnostic, inst.a, context);
    note_operand(diagnostic, inst.b, context);
    note_operand(diagnostic, inst.c, context);
    for (const std::string& suggestion : mismatch.suggestions) add_note(diagnostic, suggestion);
    return std::nullopt;
  }
  return std::vector<Type>{context.type(inst.c)};
}

}  // namespace tilevm::isa
