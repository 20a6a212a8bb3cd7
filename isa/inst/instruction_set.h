// THE list of instructions, joined from those of the headers in which they are defined. Everything
// else about an instruction derives from its struct.
#pragma once

#include <array>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "isa/inst/async_copy.h"
#include "isa/inst/async_dot.h"
#include "isa/inst/barrier.h"
#include "isa/inst/cluster.h"
#include "isa/inst/compute.h"
#include "isa/inst/control.h"
#include "isa/inst/creation.h"
#include "isa/inst/debug.h"
#include "isa/inst/elementwise.h"
#include "isa/inst/gather.h"
#include "isa/inst/indexing.h"
#include "isa/inst/rearrange.h"
#include "isa/inst/reduce.h"
#include "isa/inst/schema.h"
#include "isa/inst/tensor_copy.h"
#include "isa/inst/transfer.h"

namespace tilevm::isa {

namespace detail {

template <class... Lists>
struct Joined;
template <class... Insts>
struct Joined<InstructionList<Insts...>> {
  using type = std::variant<Insts...>;
};
template <class... A, class... B, class... Lists>
struct Joined<InstructionList<A...>, InstructionList<B...>, Lists...>
    : Joined<InstructionList<A..., B...>, Lists...> {};

}  // namespace detail

/// One alternative for each instruction, in the order of the reference pages.
using InstructionVariant =
    detail::Joined<IndexingInstructions, CreationInstructions, TransferInstructions,
                   GatherInstructions, AsyncCopyInstructions, TensorCopyInstructions,
                   ElementwiseInstructions, ComputeInstructions, AsyncDotInstructions,
                   RearrangeInstructions, ReduceInstructions, ControlInstructions,
                   BarrierInstructions, ClusterInstructions, DebugInstructions>::type;

inline constexpr std::size_t instruction_count = std::variant_size_v<InstructionVariant>;

/// A type of instruction.
template <class Inst>
concept AnyInstruction = requires { Inst::schema; };

namespace detail {

/// Makes `inst` the value of `self`; instruction.cc has one for each type.
template <AnyInstruction Inst>
void hold(InstructionVariant& self, Inst inst);

}  // namespace detail

/// An instruction of any type. Special members are tables over all types, so instruction.cc
/// compiles them once: in every file that copies a program they took a third of the file's
/// compilation.
class Instruction : public InstructionVariant {
 public:
  Instruction();
  template <AnyInstruction Inst>
  Instruction(Inst inst) : Instruction() {  // NOLINT: implicit by intent
    detail::hold(*this, std::move(inst));
  }
  Instruction(const Instruction&);
  Instruction(Instruction&&) noexcept;
  Instruction& operator=(const Instruction&);
  Instruction& operator=(Instruction&&) noexcept;
  ~Instruction();

  /// The struct of the instruction, whatever its type.
  [[nodiscard]] const void* address() const;
  friend bool operator==(const Instruction& a, const Instruction& b);
};

/// Calls f.template operator()<Inst>() for every instruction type, in order.
template <class F>
constexpr void for_each_instruction(F&& f) {
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (f.template operator()<std::variant_alternative_t<I, InstructionVariant>>(), ...);
  }(std::make_index_sequence<instruction_count>{});
}

/// The description of an instruction value.
[[nodiscard]] const Description& description(const Instruction& instruction);

/// Whether an instruction reads or gives a register tile.
template <class Inst>
constexpr bool has_register_tiles() {
  bool found = Inst::schema.description.result == ResultKind::register_tile;
  for_each_slot<Inst>([&]<class Slot>(const SlotInfo<Inst, Slot>&, std::size_t) {
    found = found || std::is_same_v<Slot, RegisterOperand> ||
            std::is_same_v<Slot, std::optional<RegisterOperand>> ||
            std::is_same_v<Slot, ValueOperand> || std::is_same_v<Slot, TensorOperand>;
  });
  return found;
}

[[nodiscard]] inline std::string_view mnemonic(const Instruction& instruction) {
  return description(instruction).mnemonic;
}

namespace detail {

/// Whether an instruction has one operand of each role that every product has: matrices in
/// registers or in shared memory, the addend in registers.
template <class Inst>
constexpr bool has_product_roles() {
  int left = 0, right = 0, addend = 0;
  for_each_slot<Inst>([&]<class Slot>(const SlotInfo<Inst, Slot>& info, std::size_t) {
    const bool tile = std::is_same_v<Slot, RegisterOperand>;
    const bool matrix =
        tile || std::is_same_v<Slot, SharedOperand> || std::is_same_v<Slot, TensorOperand>;
    left += matrix && info.role == ProductRole::left ? 1 : 0;
    right += matrix && info.role == ProductRole::right ? 1 : 0;
    addend += tile && info.role == ProductRole::addend ? 1 : 0;
  });
  return left == 1 && right == 1 && addend == 1;
}

template <class Inst>
constexpr bool schema_is_complete() {
  static_assert(std::is_aggregate_v<Inst>, "an instruction is an aggregate");
  static_assert(member_count<Inst>() == std::decay_t<decltype(Inst::schema)>::size,
                "every data member of an instruction must appear in its schema");
  static_assert(!Inst::schema.description.elementwise ||
                    Inst::schema.description.result == ResultKind::register_tile,
                "an element-wise instruction gives a register tile");
  static_assert(Inst::schema.description.sync.stated,
                "an instruction states what it synchronizes (Description::sync)");
  static_assert(!is_product<Inst>() || has_product_roles<Inst>(),
                "a product has a left matrix, a right one, and an addend in registers");
  static_assert(!Inst::schema.description.mnemonic.empty(), "an instruction has a name");
  static_assert(!Inst::schema.description.summary.empty(), "an instruction has a summary");
  return true;
}

template <class Variant>
inline constexpr bool all_complete = false;
template <class... Insts>
inline constexpr bool all_complete<std::variant<Insts...>> = (schema_is_complete<Insts>() && ...);
static_assert(all_complete<InstructionVariant>);

}  // namespace detail
}  // namespace tilevm::isa
