#include "isa/dot/dot_product.h"

#include "isa/base/check.h"
#include "isa/dot/dot.h"
#include "isa/dot/dot_scaled.h"
#include "isa/dot/dot_sparse.h"

namespace tilevm::isa {

std::optional<DotPlan> plan_product(const ProductTypes& types, const Target& target,
                                    DotMismatch* mismatch) {
  TILEVM_CHECK(!types.metadata || !types.left_scales, "a product both sparse and block-scaled");
  if (types.metadata) {
    return plan_dot_sparse({types.left, *types.metadata, types.right, types.addend}, target,
                           mismatch);
  }
  if (types.left_scales) {
    return plan_dot_scaled(
        {types.left, *types.left_scales, types.right, *types.right_scales, types.addend}, target,
        mismatch);
  }
  return plan_dot(types.left, types.right, types.addend, target, mismatch);
}

AsyncOperands async_operands(const DotAsync& inst,
                             const std::function<const Type&(VarId)>& type_of) {
  const auto part = [&](const SharedOperand& operand, const std::optional<OffsetList>& offset,
                        const std::optional<ScalarOperand>& transpose) {
    const bool transposed = transpose && transpose->value.constant_value()->as_bool();
    return SharedPart{std::get<SharedType>(type_of(operand.var)), offset, transposed};
  };
  AsyncOperands operands{{},
                         part(inst.b, inst.b_offset, inst.transpose_b),
                         std::get<RegisterType>(type_of(inst.c.var))};
  if (const auto* shared = std::get_if<SharedOperand>(&inst.a.value)) {
    operands.a = part(*shared, inst.a_offset, inst.transpose_a);
  } else {
    const auto* tile = std::get_if<RegisterOperand>(&inst.a.value);
    TILEVM_CHECK(tile != nullptr, "the left matrix of a product in global memory");
    operands.a = std::get<RegisterType>(type_of(tile->var));
  }
  return operands;
}

std::shared_ptr<const DotPlan> plan_product(const Instruction& inst,
                                            const std::function<const Type&(VarId)>& type_of,
                                            const Target& target) {
  const auto operands = product_operands(inst);
  if (!operands) return nullptr;
  const auto register_type = [&](VarId var) { return std::get<RegisterType>(type_of(var)); };
  const auto* async = std::get_if<DotAsync>(&inst);
  auto plan = async != nullptr
                  ? plan_dot_async(async_operands(*async, type_of), target, nullptr)
                  : plan_product(product_types(*operands, register_type), target, nullptr);
  TILEVM_CHECK(plan.has_value(), "a product that passed its type rule has a plan");
  return std::make_shared<const DotPlan>(*std::move(plan));
}

}  // namespace tilevm::isa
