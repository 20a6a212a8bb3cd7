// The meaning of every instruction.
//
// `prepare` looks at everything that is known before the run (types, layouts, constant offsets,
// tables) once and returns the action that then runs many times. `undefined_transfer` and
// `shadow_flow` do the same for undefined elements (undefined_flow.h) and shadow values
// (shadow_flow.h); `data_flow` says where the elements of the result come from (data_flow.h).
#pragma once

#include "isa/inst/instruction_set.h"
#include "sim/checks/undefined_flow.h"
#include "sim/exec/data_flow.h"
#include "sim/shadow/shadow_flow.h"
#include "sim/state/preparation.h"

namespace tilevm::sim {

/// The action of an instruction: a specialisation for each, in the source of this folder that is
/// named like its header. The template itself has no definition, so an instruction without an
/// action does not link.
template <class Inst>
Action prepare(const Inst& inst, const Preparation& preparation);

// Families of instructions. Operands have the slot positions of the instruction's struct.
Action prepare_binary(isa::BinaryOp op, isa::RegisterOperand a, isa::RegisterOperand b,
                      const Preparation&);
Action prepare_unary(isa::UnaryOp op, isa::RegisterOperand a, const Preparation&);
template <isa::BinaryOp op>
Action prepare(const isa::Binary<op>& inst, const Preparation& preparation) {
  return prepare_binary(op, inst.a, inst.b, preparation);
}
template <isa::UnaryOp op>
Action prepare(const isa::Unary<op>& inst, const Preparation& preparation) {
  return prepare_unary(op, inst.a, preparation);
}

/// Element-wise instructions of which an operand may leave the result as it is, whatever its value.
UndefinedTransfer valued_undefined_transfer(const isa::Where& inst, const Preparation&);
UndefinedTransfer valued_undefined_transfer(const isa::Binary<isa::BinaryOp::bit_and>& inst,
                                            const Preparation&);
UndefinedTransfer valued_undefined_transfer(const isa::Binary<isa::BinaryOp::bit_or>& inst,
                                            const Preparation&);

/// What the simulator does with a statement: the action, and what runs around it while tiles are
/// marked as undefined or shadow values are kept.
struct Semantics {
  Action action;
  UndefinedTransfer undefined;
  ShadowFlow shadow;
};

/// Semantics::shadow is empty unless shadow values are kept.
[[nodiscard]] Semantics semantics_of(const Preparation& preparation, bool keeps_shadow);

/// The data flow of a statement.
[[nodiscard]] DataFlow data_flow_of(const Preparation& preparation);

}  // namespace tilevm::sim
