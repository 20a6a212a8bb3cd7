// What an instruction makes of undefined elements.
//
// Element-wise instructions, by their schema: an element of the result is undefined if one of those
// is from which it is computed. Every other instruction with register tiles says so itself, with
// what is declared here. Loads and AllocateRegister know better and do it in their actions.
#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "isa/inst/instruction_set.h"
#include "sim/state/context.h"
#include "sim/state/preparation.h"

namespace tilevm::sim {

/// Runs around an instruction while tiles are marked as undefined; both may be empty.
struct UndefinedTransfer {
  Action before;                        ///< false after a fault
  std::function<void(Context&)> after;  ///< the result's shadow
};

/// The transfer of an instruction that has register tiles and is not element-wise: a specialisation
/// for each, beside its action. The template itself has no definition, so a forgotten one does not
/// link.
template <class Inst>
UndefinedTransfer undefined_transfer(const Inst& inst, const Preparation& preparation);

/// A register tile that an instruction reads, and the position of its slot.
struct TileOperand {
  isa::VarId var;
  std::size_t slot;
};

template <class Inst>
std::vector<TileOperand> tile_operands(const Inst& inst) {
  std::vector<TileOperand> operands;
  isa::for_each_slot<Inst>([&](const auto& info, std::size_t position) {
    const auto& value = inst.*(info.member);
    using Slot = std::decay_t<decltype(value)>;
    if constexpr (std::is_same_v<Slot, isa::RegisterOperand>) {
      operands.push_back({value.var, position});
    } else if constexpr (std::is_same_v<Slot, std::optional<isa::RegisterOperand>>) {
      if (value) operands.push_back({value->var, position});
    } else if constexpr (std::is_same_v<Slot, isa::ValueOperand>) {
      const auto* tile = std::get_if<isa::RegisterOperand>(&value.value);
      if (tile != nullptr) operands.push_back({tile->var, position});
    }
  });
  return operands;
}

/// Element by element, at the operands' broadcast places.
[[nodiscard]] UndefinedTransfer elementwise_transfer(const std::vector<TileOperand>& operands,
                                                     const Preparation& preparation);

/// The instruction needs every element of its operands.
[[nodiscard]] UndefinedTransfer use_transfer(std::string_view mnemonic,
                                             const std::vector<TileOperand>& operands,
                                             const Preparation& preparation);

/// The bits of the source become those of the result.
[[nodiscard]] UndefinedTransfer view_transfer(isa::VarId source, const Preparation& preparation);

/// The elements of the source move to other places of their threads.
[[nodiscard]] UndefinedTransfer convert_transfer(isa::VarId source, const Preparation& preparation);

/// d[.., m, n] depends on row m of a[..], column n of b[..], and c[.., m, n].
[[nodiscard]] UndefinedTransfer product_transfer(isa::VarId a, isa::VarId b, isa::VarId c,
                                                 const Preparation& preparation);

}  // namespace tilevm::sim
