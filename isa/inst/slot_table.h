// The slots of instructions as data: one table for all instructions, so that who walks the slots of
// some instruction is compiled once, not once for each type of instruction. The table is made of
// the schemas (schema.h) and has nothing of its own.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "isa/inst/instruction_set.h"
#include "isa/inst/slots.h"

namespace tilevm::isa {

namespace detail {

template <class List>
struct WithOptionals;
template <class... Slots>
struct WithOptionals<std::tuple<Slots...>> {
  using type = std::tuple<Slots..., std::optional<Slots>...>;
};
/// What a data member of an instruction may be.
using MemberTypes = WithOptionals<SlotTypes>::type;

template <class Member, std::size_t I = 0>
constexpr std::size_t member_type_of() {
  if constexpr (std::is_same_v<Member, std::tuple_element_t<I, MemberTypes>>) {
    return I;
  } else {
    return member_type_of<Member, I + 1>();
  }
}

/// Calls f(slot), where `Address` points to a slot of the type that has this number.
template <class Address, class F>
void visit_member(std::size_t type, Address* address, F& f) {
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    ((type == I
          ? static_cast<void>(
                f(*static_cast<std::conditional_t<std::is_const_v<Address>,
                                                  const std::tuple_element_t<I, MemberTypes>,
                                                  std::tuple_element_t<I, MemberTypes>>*>(address)))
          : static_cast<void>(0)),
     ...);
  }(std::make_index_sequence<std::tuple_size_v<MemberTypes>>{});
}

}  // namespace detail

/// A slot of a type of instruction.
struct SlotEntry {
  std::string_view name;
  std::string_view doc;
  Access access = Access::none;
  Proxy proxy = Proxy::generic;
  ProductRole role = ProductRole::none;
  bool is_optional = false;
  std::uint8_t type = 0;                     ///< number among detail::MemberTypes
  const void* (*in)(const void*) = nullptr;  ///< the slot in an instruction of this type
};

/// A type of instruction.
struct InstructionEntry {
  const Description* description = nullptr;
  std::span<const SlotEntry> slots;
  Instruction (*make)() = nullptr;  ///< one whose slots are empty
};

/// Every type of instruction, in the order of `Instruction`.
[[nodiscard]] const std::array<InstructionEntry, instruction_count>& instruction_table();

[[nodiscard]] inline const InstructionEntry& entry_of(const Instruction& instruction) {
  return instruction_table()[instruction.index()];
}

/// Calls f(entry, position, slot) for every slot of an instruction, in order.
template <class F>
void for_each_entry_of(const Instruction& instruction, F&& f) {
  const void* const address = instruction.address();
  std::size_t position = 0;
  for (const SlotEntry& entry : entry_of(instruction).slots) {
    const auto with_slot = [&](const auto& slot) { f(entry, position, slot); };
    detail::visit_member(entry.type, entry.in(address), with_slot);
    ++position;
  }
}
template <class F>
void for_each_entry_of(Instruction& instruction, F&& f) {
  const void* const address = instruction.address();
  std::size_t position = 0;
  for (const SlotEntry& entry : entry_of(instruction).slots) {
    const auto with_slot = [&](auto& slot) { f(entry, position, slot); };
    // The instruction is not a constant, so neither are its slots.
    detail::visit_member(entry.type, const_cast<void*>(entry.in(address)), with_slot);
    ++position;
  }
}

namespace detail {

template <class Slot, class F>
void visit_slot(Access access, const Slot& slot, F& f) {
  f(access, slot);
}
/// As the operand that it is; registers are not memory.
template <class F>
void visit_slot(Access access, const TensorOperand& slot, F& f) {
  std::visit(
      [&]<class Operand>(const Operand& operand) {
        f(std::is_same_v<Operand, RegisterOperand> ? Access::none : access, operand);
      },
      slot.value);
}

}  // namespace detail

/// Calls f(what is done to the memory behind it, slot) for every slot of an instruction value.
template <class F>
void for_each_slot_of(const Instruction& instruction, F&& f) {
  for_each_entry_of(instruction, [&](const SlotEntry& entry, std::size_t, const auto& slot) {
    detail::visit_slot(entry.access, slot, f);
  });
}

/// Whether an instruction writes to memory.
[[nodiscard]] bool writes_memory(const Instruction& instruction);

/// Whether an instruction reads an element of memory and writes it, so that what it finds there
/// depends on what other blocks did before.
[[nodiscard]] bool updates_memory(const Instruction& instruction);

/// Whether an instruction reads global memory, so that its result or what it writes depends on what
/// is there.
[[nodiscard]] bool reads_global_memory(const Instruction& instruction);

/// Whether accesses of an instruction go on after it (Proxy::async).
[[nodiscard]] bool is_asynchronous(const Instruction& instruction);

}  // namespace tilevm::isa
