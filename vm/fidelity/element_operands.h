// Operands of element-wise cases: enumerations of all codes where there are few, draws that meet
// every exponent and the neighbourhood of every rounding where there are many.
#pragma once

#include <cstdint>

#include "isa/type/dtype.h"
#include "vm/fidelity/random_operands.h"

namespace tilevm::vm::fidelity {

/// Bits of a code that mean something: 19 of tf32, else all.
[[nodiscard]] int significant_bits(const isa::DType& type);

/// Code k of a type, in an order in which every 2^significant_bits successive k give every code.
/// The bits that mean nothing are random.
[[nodiscard]] std::uint64_t code_at(const isa::DType& type, std::uint64_t k, Random& random);

/// A random code of a type of 16 bits or more. Floats: every exponent in turn (of f64 those near
/// f32's more often); significands and integers are random, near a midpoint or an end of what a
/// narrower type holds, or have few bits set or clear.
[[nodiscard]] std::uint64_t wide_code(const isa::DType& type, std::uint64_t k, Random& random);

/// A code to operate on together with `a`: the same, its negative, a neighbour, of an exponent
/// nearby, a small integer (shift counts), a special value, or any.
[[nodiscard]] std::uint64_t partner_of(const isa::DType& type, std::uint64_t a, std::uint64_t k,
                                       Random& random);

/// Row `row` of all pairs of a type of 16 bits: zeros, ends, specials, powers of two and their
/// neighbours first, then codes that are spread evenly.
[[nodiscard]] std::uint64_t row_code(const isa::DType& type, std::uint64_t row);

}  // namespace tilevm::vm::fidelity
