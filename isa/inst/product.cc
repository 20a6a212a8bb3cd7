#include "isa/inst/product.h"

namespace tilevm::isa {

std::optional<ProductOperands> product_operands(const Instruction& instruction) {
  return std::visit(
      []<class Inst>(const Inst& inst) -> std::optional<ProductOperands> {
        if constexpr (is_product<Inst>()) {
          return product_operands(inst);
        } else {
          return std::nullopt;
        }
      },
      instruction);
}

}  // namespace tilevm::isa
