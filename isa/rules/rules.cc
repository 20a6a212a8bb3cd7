#include "isa/rules/rules.h"

#include <concepts>
#include <vector>

#include <fmt/format.h>

#include "isa/base/check.h"
#include "isa/inst/slot_table.h"

namespace tilevm::isa {
namespace {

/// The kind of variable that an operand slot asks for: its type, and how a message names it.
template <class Slot>
struct WantedKind;
template <>
struct WantedKind<RegisterOperand> {
  using Type = RegisterType;
  static constexpr std::string_view name = "a register tile";
};
template <>
struct WantedKind<SharedOperand> {
  using Type = SharedType;
  static constexpr std::string_view name = "a shared tensor";
};
template <>
struct WantedKind<GlobalOperand> {
  using Type = GlobalType;
  static constexpr std::string_view name = "a global view";
};
template <>
struct WantedKind<PointerOperand> {
  using Type = PointerType;
  static constexpr std::string_view name = "a pointer";
};

template <>
struct WantedKind<BarrierOperand> {
  using Type = BarrierType;
  static constexpr std::string_view name = "a barrier";
};

/// A slot that names a variable.
template <class Slot>
concept OperandSlot = requires(const Slot& slot) {
  { slot.var } -> std::same_as<const VarId&>;
};

/// An operand that names a variable of another kind than its slot asks for.
struct WrongOperand {
  std::size_t position = 0;
  std::string_view slot;
  std::string_view wanted;
  const Variable* variable = nullptr;
  bool (*fits)(const Type&) = nullptr;  ///< whether the slot takes a variable of this type
};

template <OperandSlot Slot>
void find_wrong(const Slot& operand, std::string_view slot_name, std::size_t position,
                const RuleContext& context, std::vector<WrongOperand>& found) {
  using Wanted = WantedKind<Slot>;
  const auto index = static_cast<std::size_t>(operand.var.index);
  TILEVM_CHECK(operand.var.valid() && index < context.kernel().variables.size(),
               "operand of an unknown variable");
  const Variable& variable = context.variable(operand.var);
  const auto fits = [](const Type& type) {
    return std::holds_alternative<typename Wanted::Type>(type);
  };
  if (!fits(variable.type)) {
    found.push_back({position, slot_name, Wanted::name, &variable, fits});
  }
}

/// Other slots name no variable; what a ValueOperand may name is for its instruction's rule.
template <class Slot>
void find_wrong(const Slot&, std::string_view, std::size_t, const RuleContext&,
                std::vector<WrongOperand>&) {}
void find_wrong(const TensorOperand& slot, std::string_view slot_name, std::size_t position,
                const RuleContext& context, std::vector<WrongOperand>& found) {
  std::visit([&](const auto& operand) { find_wrong(operand, slot_name, position, context, found); },
             slot.value);
}
template <class Slot>
void find_wrong(const std::optional<Slot>& slot, std::string_view slot_name, std::size_t position,
                const RuleContext& context, std::vector<WrongOperand>& found) {
  if (slot) find_wrong(*slot, slot_name, position, context, found);
}

void report_swapped(const WrongOperand& a, const WrongOperand& b, std::string_view mnemonic,
                    const RuleContext& context) {
  add_note(context.error(
               Code::wrong_operand_kind, a.position,
               fmt::format("`{}` and `{}` are swapped: `{}` must be {} and `{}` {}",
                           a.variable->name, b.variable->name, a.slot, a.wanted, b.slot, b.wanted)),
           fmt::format("write `{}({}={}, {}={}, ..)`", mnemonic, a.slot, b.variable->name, b.slot,
                       a.variable->name));
}

void report(const WrongOperand& wrong, const RuleContext& context) {
  const Variable& variable = *wrong.variable;
  Diagnostic& diagnostic =
      context.error(Code::wrong_operand_kind, wrong.position,
                    fmt::format("`{}` must be {}, but `{}` is {}", wrong.slot, wrong.wanted,
                                variable.name, kind_name(variable.type)));
  if (std::holds_alternative<PointerType>(variable.type) &&
      wrong.wanted == WantedKind<GlobalOperand>::name) {
    add_note(diagnostic, fmt::format("make a view of the pointer first: "
                                     "`g = ViewGlobal({}, dtype=.., shape=[..])`",
                                     variable.name));
  }
}

bool check_operands(const Instruction& instruction, const RuleContext& context) {
  std::vector<WrongOperand> wrong;
  for_each_entry_of(instruction,
                    [&](const SlotEntry& entry, std::size_t position, const auto& slot) {
                      find_wrong(slot, entry.name, position, context, wrong);
                    });
  if (wrong.size() == 2 && wrong[0].fits(wrong[1].variable->type) &&
      wrong[1].fits(wrong[0].variable->type)) {
    report_swapped(wrong[0], wrong[1], mnemonic(instruction), context);
    return false;
  }
  for (const WrongOperand& each : wrong) report(each, context);
  return wrong.empty();
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
const BarrierType& RuleContext::type(BarrierOperand operand) const {
  return *std::get_if<BarrierType>(&variable(operand.var).type);
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
  if (!check_operands(instruction, context)) return std::nullopt;
  return std::visit([&](const auto& inst) { return RuleResult(result_types(inst, context)); },
                    instruction);
}

TilePlacement place_tile(const std::optional<OffsetList>& offset, int tensor_rank, int tile_rank,
                         std::optional<int> indexed) {
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
    if (d == indexed) dimension.tile_dim = -1;
    placement.dimensions.push_back(std::move(dimension));
  }
  return placement;
}

}  // namespace tilevm::isa
