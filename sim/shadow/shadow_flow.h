// How shadow values propagate through an instruction (docs/reference/checks.md, Shadow
// evaluation).
//
//   arithmetic, functions, Cast, Dot   compute twice in double precision, without rounding to a
//                                      type: from the operands' own values, which gives the exact
//                                      result of this instruction, and from their shadow values
//   Where, ConvertLayout               move shadow values, like a View to the same type
//   comparisons, bits, other Views     restart with the values of the result
//   loads and stores                   move shadow values in their actions (shadow_access.h)
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "isa/inst/compute.h"
#include "isa/inst/elementwise.h"
#include "isa/inst/product.h"
#include "isa/type/arith.h"
#include "sim/api/error_stats.h"
#include "sim/state/context.h"
#include "sim/state/preparation.h"
#include "sim/tiles/element_moves.h"

namespace tilevm::sim {

/// The errors of one statement's results.
struct InstructionErrors {
  ErrorStats own;          ///< errors against the exact result for the operands' own values
  ErrorStats accumulated;  ///< errors against the shadow values

  InstructionErrors& operator+=(const InstructionErrors& other);
};

/// Runs around an instruction while shadow values are kept; both may be empty.
struct ShadowFlow {
  std::function<void(Context&)> before;  ///< reads operands that the result may overwrite
  std::function<void(Context&, InstructionErrors&)> after;
  const isa::RegisterType* measured = nullptr;  ///< type of the result, if it has errors
};

/// The shadow flow of an instruction whose result is a register tile. Each is a specialisation
/// beside the instruction's action. The template has no definition, so a forgotten specialisation
/// does not link.
template <class Inst>
ShadowFlow shadow_flow(const Inst& inst, const Preparation& preparation);

// Families of element-wise instructions.
[[nodiscard]] ShadowFlow binary_shadow(isa::BinaryOp op, isa::RegisterOperand a,
                                       isa::RegisterOperand b, const Preparation& preparation);
[[nodiscard]] ShadowFlow unary_shadow(isa::UnaryOp op, isa::RegisterOperand a,
                                      const Preparation& preparation);
template <isa::BinaryOp op>
ShadowFlow shadow_flow(const isa::Binary<op>& inst, const Preparation& preparation) {
  return binary_shadow(op, inst.a, inst.b, preparation);
}
template <isa::UnaryOp op>
ShadowFlow shadow_flow(const isa::Unary<op>& inst, const Preparation& preparation) {
  return unary_shadow(op, inst.a, preparation);
}

// The building blocks of shadow flows.

/// The shadow values become the values of the result.
[[nodiscard]] ShadowFlow restarted(const Preparation& preparation);

/// result = f(operands), element by element.
using RealFunction3 = double (*)(double, double, double);
[[nodiscard]] ShadowFlow computed(isa::RealFunction1 f, isa::RegisterOperand a,
                                  const Preparation& preparation);
[[nodiscard]] ShadowFlow computed(isa::RealFunction2 f, isa::RegisterOperand a,
                                  isa::RegisterOperand b, const Preparation& preparation);
[[nodiscard]] ShadowFlow computed(RealFunction3 f, isa::RegisterOperand a, isa::RegisterOperand b,
                                  isa::RegisterOperand c, const Preparation& preparation);

/// The elements take the given values cyclically.
[[nodiscard]] ShadowFlow filled(const isa::ElementValues& values, const Preparation& preparation);

/// The elements of the source move with their shadow values.
[[nodiscard]] ShadowFlow moved(isa::RegisterOperand source, const Preparation& preparation);

/// The elements move with their shadow values.
[[nodiscard]] ShadowFlow moved(std::shared_ptr<const ElementMoves> moves,
                               const Preparation& preparation);

/// Elements of a where the condition's own value is not zero, and of b elsewhere.
[[nodiscard]] ShadowFlow chosen(isa::RegisterOperand condition, isa::RegisterOperand a,
                                isa::RegisterOperand b, const Preparation& preparation);

/// The bits of the source become those of the result.
[[nodiscard]] ShadowFlow viewed(isa::RegisterOperand source, const Preparation& preparation);

/// The elements of the source along dimensions are combined, one after the other. Other results
/// than the first restart with their own values.
[[nodiscard]] ShadowFlow combined(isa::RealFunction2 f, isa::RegisterOperand source,
                                  const std::vector<int>& dims, const Preparation& preparation);

/// Each element of the result combines those of the source up to its own along a dimension; or
/// `before` and those before its own.
[[nodiscard]] ShadowFlow scanned(isa::RealFunction2 f, isa::RegisterOperand source, int dim,
                                 std::optional<double> before, const Preparation& preparation);

/// d = a * b + c of batches of matrices, of any product: dense, sparse or block-scaled.
[[nodiscard]] ShadowFlow multiplied(const isa::ProductOperands& operands,
                                    const Preparation& preparation);

}  // namespace tilevm::sim
