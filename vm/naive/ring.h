// The integers modulo a prime, in which `tilevm run --ring` computes a program's formula
// (docs/guides/formulas.md).
//
// Sums, differences and products of floats are those of the ring, and a quotient is a product with
// the inverse: nothing is rounded, so two orders of a sum give one residue. A float that a program
// is given is m * 2^e, which the ring has exactly.
//
// Exponents obey another modulus than their powers. So a residue is a pair: modulo the prime p, and
// modulo the largest prime factor q of p - 1. Exp2 gives a power of an element of order q:
// exp2(x) * exp2(y) is exp2(x + y), and exp2(k) is 2^k for integers k where 2 has order q (as
// "Mirage: A Multi-Level Superoptimizer for Tensor Programs", section 5, has it). The second
// residue of a power is a hash of the first: a power is not a number of the ring of exponents. So
// two results are compared by their residues modulo p. Every other function is a hash of its
// argument.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>

#include "isa/base/result.h"
#include "isa/type/dtype.h"
#include "isa/type/number.h"
#include "isa/type/operations.h"

namespace tilevm::vm::naive {

/// A residue modulo p and one modulo q in one word. Zero is none: an element without a residue has
/// that of its code.
class Residue {
 public:
  Residue() = default;
  Residue(std::uint64_t modulo_p, std::uint64_t modulo_q)
      : word_(given | modulo_q << 32 | modulo_p) {}

  [[nodiscard]] bool is_given() const { return word_ != 0; }
  [[nodiscard]] std::uint64_t modulo_p() const { return word_ & 0xffff'ffff; }
  [[nodiscard]] std::uint64_t modulo_q() const { return (word_ & ~given) >> 32; }
  [[nodiscard]] std::uint64_t word() const { return word_; }

  friend bool operator==(Residue, Residue) = default;

 private:
  static constexpr std::uint64_t given = std::uint64_t{1} << 63;

  std::uint64_t word_ = 0;
};

class Ring {
 public:
  /// The largest prime below 2^32 of which 2 has the order (p - 1) / 2, itself a prime.
  static constexpr std::uint64_t default_modulus = 4'294'967'087;

  /// Error (usage): the number is not a prime below 2^32, or p - 1 has only small prime factors.
  [[nodiscard]] static Result<Ring> make(std::uint64_t modulus);
  /// No ring but the free algebra: a number that the program is given is a symbol, and every
  /// operation is a hash of its name, its types and its operands in their order. Two elements with
  /// one residue are computed by the same roundings of the same symbols, so that their bits are
  /// equal whatever the symbols stand for.
  [[nodiscard]] static Ring free();

  [[nodiscard]] std::uint64_t p() const { return p_; }
  [[nodiscard]] std::uint64_t q() const { return q_; }
  [[nodiscard]] bool is_free() const { return is_free_; }

  /// The residue of a number: m * 2^e of a finite one, a hash of what an infinity or a NaN is.
  [[nodiscard]] Residue of(const isa::Number& number) const;
  /// The residue of a number's code; in the free algebra a hash of type and code.
  [[nodiscard]] Residue of_code(const isa::DType& type, std::uint64_t code) const;

  [[nodiscard]] Residue add(Residue a, Residue b) const;
  [[nodiscard]] Residue subtract(Residue a, Residue b) const;
  [[nodiscard]] Residue multiply(Residue a, Residue b) const;
  /// The inverse of zero is a hash: the quotient has no value.
  [[nodiscard]] Residue inverse(Residue a) const;
  /// What a function that the ring does not know gives: a hash of its name and its arguments.
  [[nodiscard]] Residue opaque(std::uint64_t function, std::span<const Residue> arguments) const;
  [[nodiscard]] Residue opaque(std::uint64_t function,
                               std::initializer_list<Residue> arguments) const {
    return opaque(function, std::span(arguments.begin(), arguments.size()));
  }
  [[nodiscard]] Residue exp2(Residue a) const;

  /// A function of a float.
  [[nodiscard]] Residue apply(isa::UnaryOp op, Residue a, bool negative) const;
  /// An operation on floats whose result is `takes_b ? b : a` if it chooses.
  [[nodiscard]] Residue apply(isa::BinaryOp op, Residue a, Residue b, bool takes_b) const;

 private:
  Ring(std::uint64_t p, std::uint64_t q);

  [[nodiscard]] Residue constant(double value) const;
  [[nodiscard]] Residue exponential(Residue a) const;

  std::uint64_t p_, q_;
  std::uint64_t base_ = 2;  ///< the base of exp2, an element of order q
  bool is_free_ = false;
};

}  // namespace tilevm::vm::naive
