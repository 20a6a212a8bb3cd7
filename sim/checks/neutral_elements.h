// Padding that changes nothing: elements from outside of a view that are neutral for what combines
// them, such as zeros in a sum or in a matrix product (Checks::padding).
//
// An accumulation `acc = acc + x` counts as a sum of its elements. An operand that is not
// accumulated to, such as x in `x - mean`, is passed on even where it is zero.
#pragma once

#include <functional>
#include <vector>

#include "isa/inst/instruction_set.h"
#include "isa/inst/product.h"
#include "sim/checks/undefined_flow.h"
#include "sim/state/preparation.h"

namespace tilevm::sim {

/// The operands of an instruction of which marks may be ignored, and what finds the marks.
struct NeutralElements {
  std::vector<Tile> tiles;
  std::function<void(Context&)> clear_marks;  ///< clears marks of neutral elements of `tiles`
};

/// What a code leaves unchanged: every element with which `op` combines it.
[[nodiscard]] bool is_neutral(std::uint64_t code, isa::ReduceOp op, const isa::DType& type);

[[nodiscard]] NeutralElements neutral_elements(const isa::Reduce& inst, const Preparation&);
[[nodiscard]] NeutralElements neutral_elements(const isa::Scan& inst, const Preparation&);
[[nodiscard]] NeutralElements neutral_elements(const isa::Fma& inst, const Preparation&);
/// The neutral elements of a product are the zeros of its matrices and scales.
[[nodiscard]] NeutralElements neutral_in_product(const isa::ProductOperands& operands,
                                                 const Preparation& preparation);
template <isa::ProductInstruction Inst>
[[nodiscard]] NeutralElements neutral_elements(const Inst& inst, const Preparation& preparation) {
  return neutral_in_product(isa::product_operands(inst), preparation);
}
[[nodiscard]] NeutralElements neutral_in_place(isa::BinaryOp op, isa::VarId a, isa::VarId b,
                                               const Preparation&);
template <isa::BinaryOp op>
[[nodiscard]] NeutralElements neutral_elements(const isa::Binary<op>& inst,
                                               const Preparation& preparation) {
  return neutral_in_place(op, inst.a.var, inst.b.var, preparation);
}

/// The transfer of a run that follows padding: without the marks of neutral elements, which their
/// own tiles keep.
[[nodiscard]] UndefinedTransfer ignore_neutral(NeutralElements neutral, UndefinedTransfer transfer,
                                               const Preparation& preparation);

}  // namespace tilevm::sim
