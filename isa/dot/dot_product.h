// How a matrix product is computed, whichever instruction of the program it is: by its operands'
// roles (isa/inst/product.h).
#pragma once

#include <optional>

#include "isa/dot/dot_mismatch.h"
#include "isa/dot/dot_plan.h"
#include "isa/inst/product.h"
#include "isa/inst/tensor_type.h"
#include "isa/numeric/target.h"

namespace tilevm::isa {

/// The types of a product's operands.
struct ProductTypes {
  RegisterType left, right, addend;
  std::optional<RegisterType> metadata;                   ///< metadata type of a sparse product
  std::optional<RegisterType> left_scales, right_scales;  ///< scale types of a block-scaled product
};

/// The types of a product's operands, by a function from variables to their types.
template <class TypeOf>
[[nodiscard]] ProductTypes product_types(const ProductOperands& operands, const TypeOf& type_of) {
  const auto type_if_any = [&](VarId var) {
    return var.valid() ? std::optional<RegisterType>(type_of(var)) : std::nullopt;
  };
  return {type_of(operands.left),
          type_of(operands.right),
          type_of(operands.addend),
          type_if_any(operands.metadata),
          type_if_any(operands.left_scales),
          type_if_any(operands.right_scales)};
}

/// Plans a product of register tiles, whose shapes and types of metadata and scales must be right
/// already. Gives the plan, or says in `mismatch` why there is none.
[[nodiscard]] std::optional<DotPlan> plan_product(const ProductTypes& types, const Target& target,
                                                  DotMismatch* mismatch);

}  // namespace tilevm::isa
