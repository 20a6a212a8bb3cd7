// One element as the naive interpreter has it: its code and, in a run modulo a prime or in the free
// algebra, its residue.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "vm/naive/ring.h"

namespace tilevm::vm::naive {

/// A code alone is an element whose residue is that of the code: what bits, conditions and integers
/// give modulo a prime, and a constant in the free algebra.
struct Element {
  // NOLINTNEXTLINE(google-explicit-constructor): a code is an element without a residue.
  Element(std::uint64_t code_of_element) : code(code_of_element) {}
  Element(std::uint64_t code_of_element, Residue residue_of_element)
      : code(code_of_element), residue(residue_of_element) {}

  std::uint64_t code = 0;
  Residue residue;
};

/// An element that an expression of the free algebra is made of.
struct Operand {
  const isa::DType& type;
  const Element& element;
};

/// Steps of expressions that are not an operation of the instruction set.
enum class Step : std::uint8_t {
  cast,
  fma,
  product,      ///< a product of a Dot
  sum,          ///< a sum of a Dot
  dot,          ///< the result, by how it is rounded
  reduce,       ///< the result, by the order in which elements are combined
  first_place,  ///< the number of a maximum or a minimum
  other_sign,
  where,
  lookup,
  random,
  bits,  ///< bits of other elements
};

/// What operations do to elements: the codes as isa/type has them, residues in a ring if there is
/// one. In the free algebra an operation on constants gives a constant.
class ElementArithmetic {
 public:
  explicit ElementArithmetic(const Ring* ring) : ring_(ring) {}

  [[nodiscard]] const Ring* ring() const { return ring_; }
  /// Whether elements are expressions.
  [[nodiscard]] bool is_free() const { return ring_ != nullptr && ring_->is_free(); }

  [[nodiscard]] Element apply(isa::BinaryOp op, const isa::DType& type, const Element& a,
                              const Element& b) const;
  [[nodiscard]] Element apply(isa::UnaryOp op, const isa::DType& type, const Element& a) const;
  [[nodiscard]] Element fma(const isa::DType& type, const Element& a, const Element& b,
                            const Element& c) const;
  /// A float keeps its residue as another type, and an integer becomes its own value: in a ring a
  /// cast rounds nothing. What becomes an integer is what its bits say.
  [[nodiscard]] Element cast(const isa::DType& from, const isa::DType& to, const Element& a) const;
  /// A float whose sign bit is turned, a NaN's too.
  [[nodiscard]] Element with_other_sign(const isa::DType& type, const Element& a) const;
  /// The element that a condition chooses.
  [[nodiscard]] Element choose(const Operand& condition, const isa::DType& type, const Element& a,
                               const Element& b) const;

  /// An element's residue, that of its code if it has none. Needs a ring.
  [[nodiscard]] Residue residue(const isa::DType& type, const Element& a) const {
    return a.residue.is_given() ? a.residue : ring_->of_code(type, a.code);
  }
  /// A result of a type with this code. Modulo a prime only finite floats have residues of their
  /// own: infinities, NaN and integers are what their bits say.
  [[nodiscard]] Element result(const isa::DType& type, std::uint64_t code, Residue residue) const;

  /// A result with this code of a step. `detail` is what of the step decides the bits. Where no
  /// elements are expressions, or all operands are constants, it is its code.
  [[nodiscard]] Element expression(Step step, std::uint64_t detail, std::uint64_t code,
                                   std::span<const Operand> operands) const;
  [[nodiscard]] Element expression(Step step, std::uint64_t detail, std::uint64_t code,
                                   std::initializer_list<Operand> operands) const {
    return expression(step, detail, code, std::span(operands.begin(), operands.size()));
  }
  [[nodiscard]] Residue expression(Step step, std::uint64_t detail,
                                   std::span<const Residue> operands) const;
  [[nodiscard]] Residue expression(Step step, std::uint64_t detail,
                                   std::initializer_list<Residue> operands) const {
    return expression(step, detail, std::span(operands.begin(), operands.size()));
  }

 private:
  [[nodiscard]] Element hashed(std::uint64_t function, std::uint64_t code,
                               std::span<const Operand> operands) const;

  const Ring* ring_;
};

}  // namespace tilevm::vm::naive
