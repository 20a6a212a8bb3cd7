// How undefined elements propagate through an instruction.
//
// An element of an element-wise result is undefined if an element that it is computed from is. This
// follows from the schema. Every other instruction with register tiles declares its transfer, with
// the functions below. Loads and AllocateRegister mark their results in their actions instead.
#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "isa/inst/instruction_set.h"
#include "isa/inst/product.h"
#include "sim/state/context.h"
#include "sim/state/preparation.h"

namespace tilevm::sim {

/// Runs around an instruction while tiles are marked as undefined; both may be empty.
struct UndefinedTransfer {
  Action before;                        ///< false after a fault
  std::function<void(Context&)> after;  ///< sets the result's undefined mask
};

/// The transfer of an instruction that has register tiles and is not element-wise. Each is a
/// specialisation beside the instruction's action. The template has no definition, so a forgotten
/// specialisation does not link.
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
    } else if constexpr (std::is_same_v<Slot, isa::TensorOperand>) {
      const auto* tile = std::get_if<isa::RegisterOperand>(&value.value);
      if (tile != nullptr) operands.push_back({tile->var, position});
    }
  });
  return operands;
}

/// Each element of the result depends on one element of each operand, after broadcasting.
[[nodiscard]] UndefinedTransfer elementwise_transfer(const std::vector<TileOperand>& operands,
                                                     const Preparation& preparation);

/// An element of the result is that of `a` where the condition is 1, else that of `b`; the other
/// one does not matter.
[[nodiscard]] UndefinedTransfer choosing_transfer(isa::VarId condition, isa::VarId a, isa::VarId b,
                                                  const Preparation& preparation);

/// Each bit of the result is that of And (decided by a 0, `decided_by` false) or of Or (by a 1).
[[nodiscard]] UndefinedTransfer bitwise_transfer(bool decided_by, isa::VarId a, isa::VarId b,
                                                 const Preparation& preparation);

/// The instruction needs every element of its operands.
[[nodiscard]] UndefinedTransfer use_transfer(const std::vector<TileOperand>& operands,
                                             const Preparation& preparation);

/// The bits of the source become those of the result.
[[nodiscard]] UndefinedTransfer view_transfer(isa::VarId source, const Preparation& preparation);

/// The elements of the source move to other places of their threads.
[[nodiscard]] UndefinedTransfer convert_transfer(isa::VarId source, const Preparation& preparation);

/// Each element of the results depends on all elements of the source that are the same but for
/// their indices along the dimensions.
[[nodiscard]] UndefinedTransfer reduction_transfer(isa::VarId source, const std::vector<int>& dims,
                                                   const Preparation& preparation);

/// Each element of the result depends on those of the source up to its own along a dimension, or
/// before its own.
[[nodiscard]] UndefinedTransfer scan_transfer(isa::VarId source, int dim, bool exclusive,
                                              const Preparation& preparation);

/// d[.., m, n] depends on row m of the left matrices (a, and its scales or metadata if it has any),
/// on column n of the right ones, and on c[.., m, n]. A sparse product depends only on the elements
/// of the column that its metadata chooses.
[[nodiscard]] UndefinedTransfer product_transfer(const isa::ProductOperands& operands,
                                                 const Preparation& preparation);

}  // namespace tilevm::sim
