#include "vm/naive/element.h"

#include <algorithm>
#include <array>
#include <functional>

#include "isa/type/arith.h"
#include "isa/type/fma.h"
#include "isa/type/number.h"

namespace tilevm::vm::naive {
namespace {

bool is_finite(const isa::DType& type, std::uint64_t code) {
  return isa::decode(type, code).cls == isa::Number::Class::finite;
}

/// Whether the sign bit of a float is set.
bool is_negative(const isa::DType& type, std::uint64_t code) {
  return isa::decode(type, code).negative;
}

/// Functions of expressions by a number: operations, then steps.
constexpr std::uint64_t unary_functions = 0x1000, binary_functions = 0x2000, steps = 0x3000;

std::uint64_t function_of(std::uint64_t number, std::uint64_t detail) {
  return number + detail * 0x9e37'79b9'7f4a'7c15;
}
std::uint64_t function_of(Step step, std::uint64_t detail) {
  return function_of(steps + static_cast<std::uint64_t>(step), detail);
}

bool is_commutative_choice(isa::BinaryOp op) {
  return op == isa::BinaryOp::min || op == isa::BinaryOp::max;
}

}  // namespace

Element ElementArithmetic::result(const isa::DType& type, std::uint64_t code,
                                  Residue residue) const {
  if (is_free()) return {code, residue};
  if (!type.is_float() || !is_finite(type, code)) return code;
  return {code, residue};
}

Element ElementArithmetic::hashed(std::uint64_t function, std::uint64_t code,
                                  std::span<const Operand> operands) const {
  if (!is_free()) return code;
  const auto is_given = [](const Operand& operand) { return operand.element.residue.is_given(); };
  if (std::none_of(operands.begin(), operands.end(), is_given)) return code;
  std::vector<Residue> residues;
  residues.reserve(operands.size());
  for (const Operand& operand : operands) {
    residues.push_back(residue(operand.type, operand.element));
  }
  return {code, ring_->opaque(function, residues)};
}

Element ElementArithmetic::expression(Step step, std::uint64_t detail, std::uint64_t code,
                                      std::span<const Operand> operands) const {
  return hashed(function_of(step, detail), code, operands);
}

Residue ElementArithmetic::expression(Step step, std::uint64_t detail,
                                      std::span<const Residue> operands) const {
  return ring_->opaque(function_of(step, detail), operands);
}

Element ElementArithmetic::apply(isa::BinaryOp op, const isa::DType& type, const Element& a,
                                 const Element& b) const {
  const std::uint64_t code = isa::apply(op, type, a.code, b.code);
  if (is_free()) {
    std::array<Operand, 2> operands{Operand{type, a}, Operand{type, b}};
    const std::uint64_t function = function_of(binary_functions + static_cast<std::uint64_t>(op),
                                               std::hash<isa::DType>{}(type));
    const bool swaps =
        is_commutative_choice(op) && residue(type, a).word() > residue(type, b).word();
    return swaps ? hashed(function, code, std::array{operands[1], operands[0]})
                 : hashed(function, code, operands);
  }
  if (ring_ == nullptr || !type.is_float()) return code;
  const bool chooses = isa::class_of(op) == isa::BinaryClass::choice;
  if (!chooses && !(is_finite(type, a.code) && is_finite(type, b.code))) return code;
  const bool takes_b = code != a.code && code == b.code;
  return result(isa::result_type(op, type), code,
                ring_->apply(op, residue(type, a), residue(type, b), takes_b));
}

Element ElementArithmetic::apply(isa::UnaryOp op, const isa::DType& type, const Element& a) const {
  const std::uint64_t code = isa::apply(op, type, a.code);
  if (is_free()) {
    return hashed(function_of(unary_functions + static_cast<std::uint64_t>(op),
                              std::hash<isa::DType>{}(type)),
                  code, std::array{Operand{type, a}});
  }
  if (ring_ == nullptr || !type.is_float() || !is_finite(type, a.code)) return code;
  return result(type, code, ring_->apply(op, residue(type, a), is_negative(type, a.code)));
}

Element ElementArithmetic::fma(const isa::DType& type, const Element& a, const Element& b,
                               const Element& c) const {
  const std::uint64_t code = isa::apply_fma(type, a.code, b.code, c.code);
  if (is_free()) {
    return expression(Step::fma, std::hash<isa::DType>{}(type), code,
                      {{type, a}, {type, b}, {type, c}});
  }
  if (ring_ == nullptr || !type.is_float()) return code;
  const bool finite = is_finite(type, a.code) && is_finite(type, b.code) && is_finite(type, c.code);
  if (!finite) return code;
  return result(type, code,
                ring_->add(ring_->multiply(residue(type, a), residue(type, b)), residue(type, c)));
}

Element ElementArithmetic::cast(const isa::DType& from, const isa::DType& to,
                                const Element& a) const {
  const std::uint64_t code = isa::cast(from, to, a.code);
  if (is_free()) return expression(Step::cast, std::hash<isa::DType>{}(to), code, {{from, a}});
  if (ring_ == nullptr || !to.is_float()) return code;
  if (from.is_float() && !is_finite(from, a.code)) return code;
  return result(to, code, residue(from, a));
}

Element ElementArithmetic::with_other_sign(const isa::DType& type, const Element& a) const {
  const std::uint64_t code = a.code ^ std::uint64_t{1} << (type.bits - 1);
  if (!a.residue.is_given()) return code;
  if (is_free()) return expression(Step::other_sign, 0, code, {{type, a}});
  return result(type, code, ring_->subtract(Residue(0, 0), a.residue));
}

Element ElementArithmetic::choose(const Operand& condition, const isa::DType& type,
                                  const Element& a, const Element& b) const {
  const Element& chosen = condition.element.code != 0 ? a : b;
  if (!is_free() || !condition.element.residue.is_given()) return chosen;
  return expression(Step::where, 0, chosen.code, {condition, {type, a}, {type, b}});
}

}  // namespace tilevm::vm::naive
