// Transfers between global memory and registers.
#include "backend/emit/emit_access.h"

namespace tilevm::backend {

void emit_instruction(const isa::LoadGlobal& inst, const isa::InstStmt& stmt,
                      KernelEmission& kernel) {
  kernel.declare_tile(stmt);
  emit_load(stmt.results[0], inst.src.var, stmt, kernel);
}

/// Every replica stores, so that each thread later sees its own elements.
void emit_instruction(const isa::StoreGlobal& inst, const isa::InstStmt& stmt,
                      KernelEmission& kernel) {
  emit_store(inst.src.var, inst.dst.var, stmt, kernel);
  kernel.fence_for_bulk(stmt);
}

}  // namespace tilevm::backend
