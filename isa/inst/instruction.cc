// The special members of Instruction, each a table over all types of instructions.
#include <tuple>

#include "isa/inst/instruction_set.h"

namespace tilevm::isa {

Instruction::Instruction() = default;
Instruction::Instruction(const Instruction&) = default;
Instruction::Instruction(Instruction&&) noexcept = default;
Instruction& Instruction::operator=(const Instruction&) = default;
Instruction& Instruction::operator=(Instruction&&) noexcept = default;
Instruction::~Instruction() = default;

const void* Instruction::address() const {
  const InstructionVariant& self = *this;
  return std::visit([](const auto& inst) -> const void* { return &inst; }, self);
}

bool operator==(const Instruction& a, const Instruction& b) {
  return static_cast<const InstructionVariant&>(a) == static_cast<const InstructionVariant&>(b);
}

namespace detail {

template <AnyInstruction Inst>
void hold(InstructionVariant& self, Inst inst) {
  self.emplace<Inst>(std::move(inst));
}

template <std::size_t... I>
constexpr auto holders(std::index_sequence<I...>) {
  return std::tuple{&hold<std::variant_alternative_t<I, InstructionVariant>>...};
}
using Holders = decltype(holders(std::make_index_sequence<instruction_count>{}));

/// Other files call these functions: a pointer to each makes the compiler emit it.
extern const Holders kept_holders;
const Holders kept_holders = holders(std::make_index_sequence<instruction_count>{});

}  // namespace detail
}  // namespace tilevm::isa
