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

}  // namespace tilevm::isa
