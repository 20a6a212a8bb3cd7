#include "isa/inst/slot_table.h"

#include <algorithm>

namespace tilevm::isa {
namespace {

template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;

template <class Inst, std::size_t I>
const void* slot_in(const void* instruction) {
  constexpr auto member = std::get<I>(Inst::schema.slots).member;
  return &(static_cast<const Inst*>(instruction)->*member);
}

template <class Inst, std::size_t I, class Slot>
constexpr SlotEntry slot_entry(const SlotInfo<Inst, Slot>& info) {
  return {info.name,
          info.doc,
          info.access,
          info.proxy,
          info.role,
          is_optional<Slot>,
          static_cast<std::uint8_t>(detail::member_type_of<Slot>()),
          &slot_in<Inst, I>};
}

template <class Inst, std::size_t... I>
constexpr std::array<SlotEntry, sizeof...(I)> slot_entries(std::index_sequence<I...>) {
  return {slot_entry<Inst, I>(std::get<I>(Inst::schema.slots))...};
}

template <class Inst>
constexpr auto entries =
    slot_entries<Inst>(std::make_index_sequence<std::decay_t<decltype(Inst::schema)>::size>{});

template <class Inst>
Instruction make() {
  return Inst{};
}

template <std::size_t... I>
constexpr std::array<InstructionEntry, sizeof...(I)> make_table(std::index_sequence<I...>) {
  const auto entry = []<class Inst>(const Inst*) {
    return InstructionEntry{&Inst::schema.description, entries<Inst>, &make<Inst>};
  };
  return {entry(static_cast<const std::variant_alternative_t<I, InstructionVariant>*>(nullptr))...};
}

constexpr auto table = make_table(std::make_index_sequence<instruction_count>{});

}  // namespace

const std::array<InstructionEntry, instruction_count>& instruction_table() { return table; }

const Description& description(const Instruction& instruction) {
  return *entry_of(instruction).description;
}

bool writes_memory(const Instruction& instruction) {
  bool found = false;
  for_each_slot_of(instruction,
                   [&](Access access, const auto&) { found = found || writes(access); });
  return found;
}

bool updates_memory(const Instruction& instruction) {
  bool found = false;
  for_each_slot_of(instruction, [&](Access access, const auto&) {
    found = found || (reads(access) && writes(access));
  });
  return found;
}

bool reads_global_memory(const Instruction& instruction) {
  bool found = false;
  for_each_slot_of(instruction, [&]<class Slot>(Access access, const Slot&) {
    found = found || (std::is_same_v<Slot, GlobalOperand> && reads(access));
  });
  return found;
}

bool is_asynchronous(const Instruction& instruction) {
  return std::ranges::any_of(entry_of(instruction).slots,
                             [](const SlotEntry& entry) { return entry.proxy == Proxy::async; });
}

}  // namespace tilevm::isa
