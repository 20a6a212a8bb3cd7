#include "isa/dot/dot.h"

#include <utility>

#include "isa/dot/dot_chain.h"
#include "isa/dot/dot_fragments.h"

namespace tilevm::isa {
namespace {

bool are_bipolar(const DType& a, const DType& b) { return a.is_bipolar() && b.is_bipolar(); }

/// A code u of n bits stands for 2 u - (2^n - 1).
OperandForm bipolar_form(const DType& type, const MmaShape& shape) {
  if (shape.exclusive_or) return {.planes = type.bits};
  if (shape.a == u1) return {type.bits, 2, 1 - (1 << type.bits)};
  return type.bits < 8 ? OperandForm{} : OperandForm{1, 2, 1};
}

std::optional<DotPlan> plan_mma(const RegisterType& a, const RegisterType& b, const RegisterType& c,
                                const Target& target) {
  const BatchOperands operands(a, b, c);
  for (const MmaShape* shape : dot_shapes(target, a.dtype, b.dtype, c.dtype)) {
    if (auto plan = plan_fragments(*shape, operands)) return plan;
  }
  return std::nullopt;
}

std::optional<DotPlan> plan_transposed(const RegisterType& a, const RegisterType& b,
                                       const RegisterType& c, const Target& target) {
  auto plan = plan_mma(transposed_batch(b), transposed_batch(a), transposed_batch(c), target);
  if (plan) plan->transposed = true;
  return plan;
}

std::optional<DotPlan> plan_bipolar(const RegisterType& a, const RegisterType& b,
                                    const RegisterType& c, const Target& target) {
  auto plan = plan_mma(a, b, c, target);
  if (!plan) return std::nullopt;
  plan->method = DotMethod::bipolar;
  plan->a_form = bipolar_form(a.dtype, *plan->shape);
  plan->b_form = bipolar_form(b.dtype, *plan->shape);
  return plan;
}

std::optional<DotPlan> plan_chain(const BatchOperands& operands) {
  const auto& [a, b, c] = operands;
  if (!chain_takes(a.dtype, b.dtype, c.dtype)) return std::nullopt;
  auto places = chain_places(a.layout, b.layout, c.layout);
  if (!places) return std::nullopt;
  DotPlan plan;
  plan.method = DotMethod::chain;
  plan.chain = std::move(*places);
  return plan;
}

}  // namespace

std::optional<DotPlan> plan_dot(const RegisterType& a, const RegisterType& b, const RegisterType& c,
                                const Target& target, DotMismatch* mismatch) {
  if (are_bipolar(a.dtype, b.dtype)) {
    if (auto plan = plan_bipolar(a, b, c, target)) return plan;
  } else {
    if (auto plan = plan_mma(a, b, c, target)) return plan;
    if (auto plan = plan_transposed(a, b, c, target)) return plan;
  }
  if (auto plan = plan_chain(BatchOperands(a, b, c))) return plan;
  if (mismatch != nullptr) *mismatch = explain_mismatch(a, b, c, target);
  return std::nullopt;
}

}  // namespace tilevm::isa
