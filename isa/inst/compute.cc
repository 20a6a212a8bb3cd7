#include "isa/inst/compute.h"

#include <fmt/format.h>

#include "isa/dot.h"
#include "isa/inst/support.h"
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

RuleResult binary_result(RegisterOperand a_operand, RegisterOperand b_operand,
                         std::string_view mnemonic, const RuleContext& context) {
  const RegisterType& a = context.type(a_operand);
  const RegisterType& b = context.type(b_operand);
  if (!check_arithmetic(a, a_operand, 0, mnemonic, context)) return std::nullopt;
  if (a.dtype != b.dtype) {
    add_note(context.error(Code::type_mismatch, 1,
                           fmt::format("{} is {}, but {} is {}; `{}` takes tiles of one type",
                                       context.name(a_operand.var), to_string(a.dtype),
                                       context.name(b_operand.var), to_string(b.dtype), mnemonic)),
             fmt::format("convert one of them, for example `Cast({}, {})`",
                         context.variable(b_operand.var).name, to_string(a.dtype)));
    return std::nullopt;
  }
  if (a.layout != b.layout) {
    auto& diagnostic =
        context.error(a.shape() == b.shape() ? Code::layout_mismatch : Code::shape_mismatch, 1,
                      fmt::format("{} and {} have different {}; `{}` takes tiles of one layout",
                                  context.name(a_operand.var), context.name(b_operand.var),
                                  a.shape() == b.shape() ? "layouts" : "shapes", mnemonic));
    add_note(diagnostic, fmt::format("{} is {}", context.name(a_operand.var), to_string(Type{a})),
             context.variable(a_operand.var).span);
    add_note(diagnostic, fmt::format("{} is {}", context.name(b_operand.var), to_string(Type{b})),
             context.variable(b_operand.var).span);
    return std::nullopt;
  }
  return std::vector<Type>{a};
}

void note_operand(Diagnostic& diagnostic, RegisterOperand operand, const RuleContext& context) {
  add_note(diagnostic,
           fmt::format("{} is {}", context.name(operand.var),
                       to_string(context.variable(operand.var).type)),
           context.variable(operand.var).span);
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
