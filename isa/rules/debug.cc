#include "isa/inst/debug.h"

#include <fmt/format.h>

#include "isa/rules/support.h"

namespace tilevm::isa {
namespace {

/// How to bring a tensor from memory into registers.
std::string way_to_registers(const Variable& variable) {
  if (std::holds_alternative<SharedType>(variable.type)) {
    return fmt::format("load it first: `Print(LoadShared({}, layout=..))`", variable.name);
  }
  if (std::holds_alternative<GlobalType>(variable.type)) {
    return fmt::format("load it first: `Print(LoadGlobal({}, layout=..))`", variable.name);
  }
  return fmt::format(
      "make a view of it and load a tile: `g = ViewGlobal({}, dtype=.., shape=[..])`"
      ", `Print(LoadGlobal(g, layout=..))`",
      variable.name);
}

}  // namespace

template <>
RuleResult result_types(const Print& inst, const RuleContext& context) {
  const auto* tile = std::get_if<RegisterOperand>(&inst.value.value);
  if (tile == nullptr) return std::vector<Type>{};
  const Variable& variable = context.variable(tile->var);
  if (std::holds_alternative<RegisterType>(variable.type)) return std::vector<Type>{};
  add_note(context.error(Code::wrong_operand_kind, position_of(&Print::value),
                         fmt::format("`Print` shows a register tile or a scalar, but `{}` is {}",
                                     variable.name, kind_name(variable.type))),
           way_to_registers(variable));
  return std::nullopt;
}

template <>
RuleResult result_types(const Assert& inst, const RuleContext& context) {
  constexpr auto slot = position_of(&Assert::condition);
  if (const auto* scalar = std::get_if<ScalarOperand>(&inst.condition.value)) {
    const ScalarKind kind = scalar->value.kind();
    if (kind == ScalarKind::boolean) return std::vector<Type>{};
    add_note(context.error(Code::scalar_type, slot,
                           fmt::format("the condition is {}; it must be a boolean or a tile of u1",
                                       to_string(kind))),
             "compare it, for example `n != 0`");
    return std::nullopt;
  }
  const VarId var = std::get_if<RegisterOperand>(&inst.condition.value)->var;
  const Variable& variable = context.variable(var);
  const auto* tile = std::get_if<RegisterType>(&variable.type);
  if (tile == nullptr) {
    add_note(context.error(Code::wrong_operand_kind, slot,
                           fmt::format("the condition is a boolean or a tile of u1, but `{}` is {}",
                                       variable.name, kind_name(variable.type))),
             "load it and compare it, for example `Ne(x, zero)`");
    return std::nullopt;
  }
  if (tile->dtype == u1) return std::vector<Type>{};
  add_note(context.error(Code::type_mismatch, slot,
                         fmt::format("the condition {} is {}; it must be u1", context.name(var),
                                     to_string(tile->dtype))),
           fmt::format("comparisons give u1, for example `Ne({}, zero)`", variable.name));
  return std::nullopt;
}

}  // namespace tilevm::isa
