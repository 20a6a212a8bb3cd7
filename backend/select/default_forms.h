// The form that an instruction takes by itself. The form of an instruction that moves a tile
// follows from its access plan. The other instructions that have several forms have an overload of
// select_form each; all that are left are Plain, and the printer has their text (emit_plain).
#pragma once

#include "backend/select/passes.h"
#include "isa/inst/instruction_set.h"
#include "isa/inst/product.h"
#include "isa/program/tile_move.h"

namespace tilevm::backend {

using InstStmt = isa::InstStmt;

Form select_form(const isa::CopyAsyncCommitGroup&, const InstStmt&, const Selection&);
Form select_form(const isa::CopyAsyncWaitGroup&, const InstStmt&, const Selection&);
Form select_form(const isa::Synchronize&, const InstStmt&, const Selection&);
Form select_form(const isa::Exit&, const InstStmt&, const Selection&);
Form select_form(const isa::AllocateRegister&, const InstStmt&, const Selection&);
Form select_form(const isa::Cast&, const InstStmt&, const Selection&);
Form select_form(const isa::View&, const InstStmt&, const Selection&);
Form select_form(const isa::ConvertLayout&, const InstStmt&, const Selection&);
Form select_form(const isa::Reduce&, const InstStmt&, const Selection&);
Form select_form(const isa::Scan&, const InstStmt&, const Selection&);
Form select_form(const isa::Fma&, const InstStmt&, const Selection&);
Form select_form(const isa::Where&, const InstStmt&, const Selection&);

// Families.
Form select_binary(isa::BinaryOp op, isa::VarId a, isa::VarId b, const InstStmt&, const Selection&);
Form select_unary(isa::UnaryOp op, isa::VarId a, const Selection&);
Form select_product(const isa::ProductOperands& operands, const InstStmt&, const Selection&);
template <isa::BinaryOp op>
Form select_form(const isa::Binary<op>& inst, const InstStmt& stmt, const Selection& selection) {
  return select_binary(op, inst.a.var, inst.b.var, stmt, selection);
}
template <isa::UnaryOp op>
Form select_form(const isa::Unary<op>& inst, const InstStmt&, const Selection& selection) {
  return select_unary(op, inst.a.var, selection);
}
template <isa::ProductInstruction Inst>
Form select_form(const Inst& inst, const InstStmt& stmt, const Selection& selection) {
  return select_product(isa::product_operands(inst), stmt, selection);
}

/// Whether an instruction has several forms: it moves a tile, or it has an overload.
template <class Inst>
concept HasForms = isa::moves_tile<Inst>() ||
                   requires(const Inst& inst, const InstStmt& stmt, const Selection& selection) {
                     select_form(inst, stmt, selection);
                   };

}  // namespace tilevm::backend
