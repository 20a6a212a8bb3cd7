// The special members of Instruction, each a table over all types of instructions.
#include "isa/inst/instruction_set.h"

namespace tilevm::isa {

Instruction::Instruction() = default;
Instruction::Instruction(const Instruction&) = default;
Instruction::Instruction(Instruction&&) noexcept = default;
Instruction& Instruction::operator=(const Instruction&) = default;
Instruction& Instruction::operator=(Instruction&&) noexcept = default;
Instruction::~Instruction() = default;

// Kept although this file inlines them: other files call them.
template <AnyInstruction Inst>
[[gnu::used, gnu::noinline]] Instruction::Instruction(Inst inst)
    : InstructionVariant(std::in_place_type<Inst>, std::move(inst)) {}

const void* Instruction::address() const {
  const InstructionVariant& self = *this;
  return std::visit([](const auto& inst) -> const void* { return &inst; }, self);
}

bool operator==(const Instruction& a, const Instruction& b) {
  return static_cast<const InstructionVariant&>(a) == static_cast<const InstructionVariant&>(b);
}

namespace {

// Naming each constructor makes the compiler emit it.
template <std::size_t... I>
constexpr auto constructors(std::index_sequence<I...>) {
  return std::array{+[](const void* inst) {
    return Instruction(
        *static_cast<const std::variant_alternative_t<I, InstructionVariant>*>(inst));
  }...};
}

}  // namespace

/// The constructors by the number of their type, so that none of them is left out of this object.
extern const std::array<Instruction (*)(const void*), instruction_count> instruction_constructors;
const std::array<Instruction (*)(const void*), instruction_count> instruction_constructors =
    constructors(std::make_index_sequence<instruction_count>{});

}  // namespace tilevm::isa
