#include "isa/inst/async_dot.h"

#include <fmt/format.h>

#include "isa/dot/dot_product.h"
#include "isa/rules/rules.h"
#include "isa/rules/support.h"

namespace tilevm::isa {
namespace {

/// An operand in shared memory is the whole of two dimensions of its tensor.
bool check_part(const SharedOperand& operand, const std::optional<OffsetList>& offset,
                std::size_t slot, const RuleContext& context) {
  const SharedType& type = context.type(operand);
  if (!check_offset(offset, type.layout.rank(), 2, slot, context)) return false;
  if (matrix_dims({type, offset})) return true;
  add_note(
      context.error(Code::offset_out_of_range, slot,
                    fmt::format("the matrix in {} does not begin at 0; an asynchronous product "
                                "reads whole dimensions",
                                context.name(operand.var))),
      "write `0:`, or leave the colon out to fix an index");
  return false;
}

bool check_left(const DotAsync& inst, const RuleContext& context) {
  constexpr auto a = position_of(&DotAsync::a), offset = position_of(&DotAsync::a_offset);
  if (const auto* shared = std::get_if<SharedOperand>(&inst.a.value)) {
    return check_part(*shared, inst.a_offset, offset, context);
  }
  if (const auto* global = std::get_if<GlobalOperand>(&inst.a.value)) {
    add_note(
        context.error(Code::wrong_operand_kind, a,
                      fmt::format("{} is a view of global memory; a product reads registers or "
                                  "shared memory",
                                  context.name(global->var))),
        "copy it to a shared tensor by `CopyAsync`, or load it by `LoadGlobal`");
    return false;
  }
  if (!inst.a_offset && !inst.transpose_a) return true;
  context.error(Code::missing_operand, inst.a_offset ? offset : position_of(&DotAsync::transpose_a),
                fmt::format("`{}` says how a lies in shared memory; here a is in registers",
                            inst.a_offset ? "a_offset" : "transpose_a"));
  return false;
}

bool check_shapes(const AsyncOperands& operands, const RuleContext& context) {
  const Shape a = *operands.a_shape(), b = *matrix_shape(operands.b), &c = operands.c.shape();
  if (a.size() == 2 && c.size() == 2 && a[1] == b[0] && a[0] == c[0] && b[1] == c[1]) return true;
  context.error(Code::dot_shapes,
                fmt::format("`DotAsync` of {} and {} onto {}; it takes a [m, k], b [k, n] and "
                            "c [m, n]",
                            to_string(a), to_string(b), to_string(c)));
  return false;
}

bool check_flags(const DotAsync& inst, const AsyncOperands& operands, const RuleContext& context) {
  constexpr auto a = position_of(&DotAsync::negate_a), b = position_of(&DotAsync::negate_b),
                 accumulate = position_of(&DotAsync::accumulate);
  const auto negates_a = constant_flag(inst.negate_a, "negate_a", a, context);
  const auto negates_b = constant_flag(inst.negate_b, "negate_b", b, context);
  if (!negates_a || !negates_b) return false;
  if ((*negates_a || *negates_b) && operands.a_type().is_integer()) {
    context.error(Code::type_mismatch, *negates_a ? a : b,
                  "the tensor cores negate floats only; subtract the product of integers instead");
    return false;
  }
  if (!inst.accumulate || inst.accumulate->value.kind() == ScalarKind::boolean) return true;
  context.error(
      Code::scalar_type, accumulate,
      fmt::format("`accumulate` is a bool, not {}", to_string(inst.accumulate->value.kind())));
  return false;
}

}  // namespace

template <>
RuleResult result_types(const DotAsync& inst, const RuleContext& context) {
  if (!constant_flag(inst.transpose_a, "transpose_a", position_of(&DotAsync::transpose_a),
                     context) ||
      !constant_flag(inst.transpose_b, "transpose_b", position_of(&DotAsync::transpose_b),
                     context)) {
    return std::nullopt;
  }
  if (!check_left(inst, context) ||
      !check_part(inst.b, inst.b_offset, position_of(&DotAsync::b_offset), context)) {
    return std::nullopt;
  }
  const AsyncOperands operands =
      async_operands(inst, [&](VarId var) -> const Type& { return context.variable(var).type; });
  if (!check_shapes(operands, context) || !check_flags(inst, operands, context)) {
    return std::nullopt;
  }
  DotMismatch mismatch;
  if (plan_dot_async(operands, context.target(), &mismatch)) return std::vector<Type>{operands.c};
  auto& diagnostic = context.error(Code::no_dot_instruction, mismatch.reason);
  note_operand(diagnostic, inst.c, context);
  for (const std::string& suggestion : mismatch.suggestions) add_note(diagnostic, suggestion);
  return std::nullopt;
}

template <>
RuleResult result_types(const DotAsyncCommitGroup&, const RuleContext&) {
  return std::vector<Type>{};
}

template <>
RuleResult result_types(const DotAsyncWaitGroup& inst, const RuleContext& context) {
  if (!check_pending(inst.pending, position_of(&DotAsyncWaitGroup::pending), context)) {
    return std::nullopt;
  }
  return std::vector<Type>{};
}

}  // namespace tilevm::isa
