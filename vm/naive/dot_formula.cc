#include "vm/naive/dot_formula.h"

#include <algorithm>
#include <functional>

namespace tilevm::vm::naive {
namespace {

/// What of a plan decides how the products of an element are rounded and added. The rows and
/// columns that an instruction computes besides have no part in it.
std::uint64_t rounding_of(const isa::DotPlan& plan, const isa::DType& type) {
  std::uint64_t hash = std::hash<isa::DType>{}(type);
  const auto add = [&](std::uint64_t fact) { hash = hash * 0x9e37'79b9'7f4a'7c15 + fact + 1; };
  add(static_cast<std::uint64_t>(plan.method));
  if (plan.shape == nullptr) return hash;
  const isa::MmaShape& shape = *plan.shape;
  add(static_cast<std::uint64_t>(shape.family));
  add(static_cast<std::uint64_t>(shape.k));
  add(static_cast<std::uint64_t>(shape.scaling));
  add(shape.sparse ? 1 : 0);
  add(shape.exclusive_or ? 1 : 0);
  for (const isa::DType& each : {shape.a, shape.b, shape.accumulator, shape.scale}) {
    add(std::hash<isa::DType>{}(each));
  }
  return hash;
}

}  // namespace

DotFormula::DotFormula(const ElementArithmetic& arithmetic, const isa::DType& type,
                       const Element& addend)
    : arithmetic_(arithmetic),
      type_(type),
      has_residue_(arithmetic.is_free() || (arithmetic.ring() != nullptr && type.is_float())) {
  if (!has_residue_) return;
  is_constant_ = arithmetic.is_free() && !addend.residue.is_given();
  sum_ = arithmetic.residue(type, addend);
}

void DotFormula::add(std::initializer_list<Operand> factors) {
  if (!has_residue_) return;
  if (arithmetic_.is_free()) {
    is_constant_ = is_constant_ && std::none_of(factors.begin(), factors.end(), [](const auto& x) {
                     return x.element.residue.is_given();
                   });
    Residue product = arithmetic_.expression(Step::product, factors.size(), {});
    for (const Operand& factor : factors) {
      const Residue next = arithmetic_.residue(factor.type, factor.element);
      product = arithmetic_.expression(Step::product, 0, {product, next});
    }
    sum_ = arithmetic_.expression(Step::sum, 0, {sum_, product});
    return;
  }
  Residue product(1, 1);
  for (const Operand& factor : factors) {
    product =
        arithmetic_.ring()->multiply(product, arithmetic_.residue(factor.type, factor.element));
  }
  sum_ = arithmetic_.ring()->add(sum_, product);
}

Element DotFormula::result(const isa::DotPlan& plan, std::uint64_t code) const {
  if (!has_residue_ || is_constant_) return code;
  if (!arithmetic_.is_free()) return arithmetic_.result(type_, code, sum_);
  return {code, arithmetic_.expression(Step::dot, rounding_of(plan, type_), {sum_})};
}

}  // namespace tilevm::vm::naive
