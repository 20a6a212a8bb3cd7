// The operands of matrix products by their roles (ProductRole), so that who works on products knows
// none of them by name.
#pragma once

#include <concepts>
#include <optional>
#include <type_traits>
#include <variant>

#include "isa/inst/instruction_set.h"

namespace tilevm::isa {

/// The tensors of d = left * right + addend. A role that the product does not have is not a
/// variable.
struct ProductOperands {
  VarId left, right, addend;
  /// Matrices in shared memory; of a product that completes later (DotAsync) the right one always.
  bool left_in_shared = false, right_in_shared = false;
  VarId metadata = {};                        ///< a sparse product has it
  VarId left_scales = {}, right_scales = {};  ///< a block-scaled product has both

  [[nodiscard]] bool is_sparse() const { return metadata.valid(); }
  [[nodiscard]] bool is_asynchronous() const { return right_in_shared; }
  [[nodiscard]] bool is_scaled() const { return left_scales.valid(); }
};

/// An instruction that is a matrix product.
template <class Inst>
concept ProductInstruction = requires { Inst::schema; } && is_product<Inst>();

/// A matrix product of tiles in registers, whose result is there when it ends.
template <class Inst>
concept RegisterProduct = ProductInstruction<Inst> && !requires(const Inst& inst) {
  { inst.b } -> std::convertible_to<SharedOperand>;
};

namespace detail {

template <class Slot>
constexpr VarId product_variable(const Slot& slot) {
  return slot.var;
}
inline VarId product_variable(const TensorOperand& slot) {
  return std::visit([](const auto& operand) { return operand.var; }, slot.value);
}
template <class Slot>
constexpr bool is_in_shared(const Slot&) {
  return std::is_same_v<Slot, SharedOperand>;
}
inline bool is_in_shared(const TensorOperand& slot) {
  return std::holds_alternative<SharedOperand>(slot.value);
}

}  // namespace detail

template <ProductInstruction Inst>
[[nodiscard]] ProductOperands product_operands(const Inst& inst) {
  ProductOperands operands;
  for_each_slot<Inst>([&]<class Slot>(const SlotInfo<Inst, Slot>& info, std::size_t) {
    if constexpr (std::is_same_v<Slot, RegisterOperand> || std::is_same_v<Slot, SharedOperand> ||
                  std::is_same_v<Slot, TensorOperand>) {
      const VarId var = detail::product_variable(inst.*info.member);
      const bool in_shared = detail::is_in_shared(inst.*info.member);
      switch (info.role) {
        case ProductRole::left:
          operands.left = var;
          operands.left_in_shared = in_shared;
          break;
        case ProductRole::right:
          operands.right = var;
          operands.right_in_shared = in_shared;
          break;
        case ProductRole::addend:
          operands.addend = var;
          break;
        case ProductRole::metadata:
          operands.metadata = var;
          break;
        case ProductRole::left_scales:
          operands.left_scales = var;
          break;
        case ProductRole::right_scales:
          operands.right_scales = var;
          break;
        case ProductRole::none:
          break;
      }
    }
  });
  return operands;
}

/// The operands of an instruction, if it is a product.
[[nodiscard]] std::optional<ProductOperands> product_operands(const Instruction& instruction);

}  // namespace tilevm::isa
