// The scalar arithmetic that addresses are made of: offsets, extents and strides, and the variables
// that they are computed from.
//
// An address is made by sums, products, quotients, choices and conversions. What is below a
// remainder, an operation on bits, a right shift or a comparison may wrap on purpose, as hashes do.
#pragma once

#include <functional>
#include <vector>

#include "isa/inst/expr.h"
#include "isa/program/program.h"

namespace tilevm::isa {

/// Calls f(term) for each part of an integer expression that takes part in the address which the
/// expression is, itself included; a part comes before its own operands.
void for_each_address_term(const Expr& expr, const std::function<void(const Expr&)>& f);

/// Whether a term is an operation whose exact result its type may not hold, and which no program
/// wraps on purpose: a sum, a difference, a product or a left shift. Differences of unsigned
/// integers are exempt, because adding them again is exact.
[[nodiscard]] bool may_wrap(const Expr& term);

/// Calls f(expression) for each offset, extent and stride of an instruction.
void for_each_address(const Instruction& instruction, const std::function<void(const Expr&)>& f);

/// What the value of an index is computed from, beside constants, parameters and block indices.
struct IndexSources {
  bool loops = false;  ///< variables of loops
  bool data = false;   ///< elements of memory: the results of LoadScalar and AtomicAdd
};
[[nodiscard]] IndexSources index_sources(const Kernel& kernel, const Expr& index);

/// By variable: whether an address is made of the variable's value.
[[nodiscard]] std::vector<bool> address_variables(const Kernel& kernel);

}  // namespace tilevm::isa
