// The formula of an element of a Dot, beside the code that the instruction gives.
#pragma once

#include <initializer_list>

#include "isa/dot/dot_plan.h"
#include "vm/naive/element.h"

namespace tilevm::vm::naive {

class DotFormula {
 public:
  DotFormula(const ElementArithmetic& arithmetic, const isa::DType& type, const Element& addend);

  /// Adds a product. Modulo a prime its factors' residues are multiplied.
  void add(std::initializer_list<Operand> factors);
  /// The element with this code.
  [[nodiscard]] Element result(const isa::DotPlan& plan, std::uint64_t code) const;

 private:
  const ElementArithmetic& arithmetic_;
  isa::DType type_;
  bool has_residue_;          ///< whether residues of this type are kept
  bool is_constant_ = false;  ///< whether, in the free algebra, it is one so far
  Residue sum_;
};

}  // namespace tilevm::vm::naive
