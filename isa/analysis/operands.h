// The variables that an instruction reads: one overload of for_each_variable a slot type (slots.h).
#pragma once

#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

#include "isa/inst/slot_table.h"
#include "isa/inst/slots.h"
#include "isa/program/program.h"

namespace tilevm::isa {

/// A slot that is a use of one variable.
template <class Slot>
concept VariableSlot = std::is_same_v<Slot, RegisterOperand> ||
                       std::is_same_v<Slot, SharedOperand> || std::is_same_v<Slot, GlobalOperand> ||
                       std::is_same_v<Slot, PointerOperand> || std::is_same_v<Slot, BarrierOperand>;

template <VariableSlot Slot, class F>
void for_each_variable(const Slot& slot, F&& f) {
  f(slot.var);
}
template <class F>
void for_each_variable(const DType&, F&&) {}
template <class F>
void for_each_variable(const RegisterLayout&, F&&) {}
template <class F>
void for_each_variable(const TileShape&, F&&) {}
template <class F>
void for_each_variable(const Text&, F&&) {}
template <class F>
void for_each_variable(ReduceOp, F&&) {}
template <class F>
void for_each_variable(CacheHint, F&&) {}
template <class F>
void for_each_variable(const DimList&, F&&) {}
template <class F>
void for_each_variable(const ViewLayout& slot, F&& f) {
  for (const Expr& stride : slot.strides) for_each_variable(stride, f);
}
template <class F>
void for_each_variable(const ExtentList& slot, F&& f) {
  for (const Expr& extent : slot.extents) for_each_variable(extent, f);
}
template <class F>
void for_each_variable(const OffsetList& slot, F&& f) {
  for (const OffsetList::Entry& entry : slot.entries) for_each_variable(entry.value, f);
}
template <class F>
void for_each_variable(const ScalarOperand& slot, F&& f) {
  for_each_variable(slot.value, f);
}
template <class F>
void for_each_variable(const ElementValues& slot, F&& f) {
  for (const Expr& value : slot.values) for_each_variable(value, f);
}
template <class F>
void for_each_variable(const ValueOperand& slot, F&& f) {
  std::visit([&](const auto& value) { for_each_variable(value, f); }, slot.value);
}
template <class F>
void for_each_variable(const TensorOperand& slot, F&& f) {
  std::visit([&](const auto& operand) { f(operand.var); }, slot.value);
}
template <class Slot, class F>
void for_each_variable(const std::optional<Slot>& slot, F&& f) {
  if (slot) for_each_variable(*slot, f);
}

/// Calls f(variable) for every use of a variable in an instruction, slot after slot.
template <class F>
void for_each_operand(const Instruction& instruction, F&& f) {
  for_each_slot_of(instruction, [&](Access, const auto& slot) { for_each_variable(slot, f); });
}

/// Calls f(variable) for every register tile that an instruction reads.
template <class F>
void for_each_register_operand(const Instruction& instruction, F&& f) {
  for_each_slot_of(instruction, [&](Access, const auto& slot) {
    using Slot = std::decay_t<decltype(slot)>;
    if constexpr (std::is_same_v<Slot, RegisterOperand>) {
      f(slot.var);
    } else if constexpr (std::is_same_v<Slot, std::optional<RegisterOperand>>) {
      if (slot) f(slot->var);
    } else if constexpr (std::is_same_v<Slot, ValueOperand>) {
      const auto* tile = std::get_if<RegisterOperand>(&slot.value);
      if (tile != nullptr) f(tile->var);
    }
  });
}

/// Calls f(what is done to it, variable) for every tensor in memory that an instruction touches:
/// tiles in shared memory if Slot is SharedOperand, views if it is GlobalOperand.
template <VariableSlot Operand, class F>
void for_each_memory_operand(const Instruction& instruction, F&& f) {
  for_each_slot_of(instruction, [&](Access access, const auto& slot) {
    if constexpr (std::is_same_v<std::decay_t<decltype(slot)>, Operand>) f(access, slot.var);
  });
}

}  // namespace tilevm::isa
