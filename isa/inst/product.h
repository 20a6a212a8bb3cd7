// The operands of matrix products by their roles (ProductRole), so that who works on products knows
// none of them by name.
#pragma once

#include <optional>
#include <type_traits>

#include "isa/inst/instruction_set.h"

namespace tilevm::isa {

/// The tiles of d = left * right + addend. A role that the product does not have is not a variable.
struct ProductOperands {
  VarId left, right, addend;
  VarId metadata = {};                        ///< a sparse product has it
  VarId left_scales = {}, right_scales = {};  ///< a block-scaled product has both

  [[nodiscard]] bool is_sparse() const { return metadata.valid(); }
  [[nodiscard]] bool is_scaled() const { return left_scales.valid(); }
};

/// An instruction that is a matrix product.
template <class Inst>
concept ProductInstruction = requires { Inst::schema; } && is_product<Inst>();

template <ProductInstruction Inst>
[[nodiscard]] ProductOperands product_operands(const Inst& inst) {
  ProductOperands operands;
  for_each_slot<Inst>([&]<class Slot>(const SlotInfo<Inst, Slot>& info, std::size_t) {
    if constexpr (std::is_same_v<Slot, RegisterOperand>) {
      const VarId var = (inst.*info.member).var;
      switch (info.role) {
        case ProductRole::left:
          operands.left = var;
          break;
        case ProductRole::right:
          operands.right = var;
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
