#include "isa/rules/rules.h"

#include <fmt/format.h>

#include "isa/base/check.h"

namespace tilevm::isa {
namespace {

/// The kind of variable that an operand slot asks for, as a message names it.
template <class Slot>
constexpr std::string_view wanted_kind() {
  if constexpr (std::is_same_v<Slot, RegisterOperand>) return "a register tile";
  if constexpr (std::is_same_v<Slot, SharedOperand>) return "a shared tile";
  if constexpr (std::is_same_v<Slot, GlobalOperand>) return "a global view";
  if constexpr (std::is_same_v<Slot, PointerOperand>) return "a pointer";
  return "";
}

template <class Slot>
bool has_kind(const Type& type) {
  if constexpr (std::is_same_v<Slot, RegisterOperand>) {
    return std::holds_alternative<RegisterType>(type);
  } else if constexpr (std::is_same_v<Slot, SharedOperand>) {
    return std::holds_alternative<SharedType>(type);
  } else if constexpr (std::is_same_v<Slot, GlobalOperand>) {
    return std::holds_alternative<GlobalType>(type);
  } else {
    return std::holds_alternative<PointerType>(type);
  }
}

/// Whether an operand names a variable of the kind that its slot asks for.
template <class Slot>
bool check_operand(const Slot& operand, std::string_view slot_name, std::size_t position,
                   const RuleContext& context) {
  const auto index = static_cast<std::size_t>(operand.var.index);
  TILEVM_CHECK(operand.var.valid() && index < context.kernel().variables.size(),
               "operand of an unknown variable");
  const Variable& variable = context.variable(operand.var);
  if (has_kind<Slot>(variable.type)) return true;
  Diagnostic& diagnostic =
      context.error(Code::wrong_operand_kind, position,
                    fmt::format("`{}` must be {}, but `{}` is {}", slot_name, wanted_kind<Slot>(),
                                variable.name, kind_name(variable.type)));
  if (std::holds_alternative<PointerType>(variable.type) && std::is_same_v<Slot, GlobalOperand>) {
    add_note(diagnostic, fmt::format("make a view of the pointer first: "
                                     "`g = ViewGlobal({}, dtype=.., shape=[..])`",
                                     variable.name));
  }
  return false;
}

template <class Inst>
bool check_operands(const Inst& inst, const RuleContext& context) {
  bool ok = true;
  for_each_slot<Inst>([&](const auto& info, std::size_t position) {
    const auto& slot = inst.*info.member;
    using Slot = std::decay_t<decltype(slot)>;
    if constexpr (!wanted_kind<Slot>().empty()) {
      ok = check_operand(slot, info.name, position, context) && ok;
    }
  });
  return ok;
}

}  // namespace

const RegisterType& RuleContext::type(RegisterOperand operand) const {
  return *std::get_if<RegisterType>(&variable(operand.var).type);
}
const SharedType& RuleContext::type(SharedOperand operand) const {
  return *std::get_if<SharedType>(&variable(operand.var).type);
}
const GlobalType& RuleContext::type(GlobalOperand operand) const {
  return *std::get_if<GlobalType>(&variable(operand.var).type);
}
const PointerType& RuleContext::type(PointerOperand operand) const {
  return *std::get_if<PointerType>(&variable(operand.var).type);
}

Span RuleContext::span(std::size_t slot) const {
  if (slot < slot_spans_.size() && slot_spans_[slot] != Span{}) return slot_spans_[slot];
  return statement_;
}

Diagnostic& RuleContext::error(Code code, std::size_t slot, std::string message) const {
  return diagnostics_.error(code, span(slot), std::move(message));
}

Diagnostic& RuleContext::error(Code code, std::string message) const {
  return diagnostics_.error(code, statement_, std::move(message));
}

RuleResult infer(const Instruction& instruction, const RuleContext& context) {
  return std::visit(
      [&](const auto& inst) -> RuleResult {
        if (!check_operands(inst, context)) return std::nullopt;
        return result_types(inst, context);
      },
      instruction);
}

TilePlacement place_tile(const std::optional<OffsetList>& offset, int tensor_rank, int tile_rank) {
  TilePlacement placement;
  int next = 0;
  for (int d = 0; d < tensor_rank; ++d) {
    TilePlacement::Dimension dimension;
    if (offset) {
      const OffsetList::Entry& entry = offset->entries[static_cast<std::size_t>(d)];
      dimension.offset = entry.value;
      if (entry.tile) dimension.tile_dim = next++;
    } else {
      dimension.tile_dim = d - (tensor_rank - tile_rank);  // leading dimensions stay at zero
      if (dimension.tile_dim < 0) dimension.tile_dim = -1;
    }
    placement.dimensions.push_back(std::move(dimension));
  }
  return placement;
}

}  // namespace tilevm::isa
