// Shared memory, and what orders the threads of a block.
//
// A program that reaches outside of a shared tensor has a fault, so nothing is tested here.
#include <fmt/format.h>

#include "backend/emit/emit_access.h"
#include "backend/emit/explain.h"

namespace tilevm::backend {

void emit_instruction(const isa::AllocateShared&, const isa::InstStmt& stmt,
                      KernelEmission& kernel) {
  if (!stmt.declares) return;
  const isa::VarId var = stmt.results[0];
  kernel.out.plain(fmt::format("tv::u8* const {} = shared_ + {};", kernel.name(var),
                               kernel.info().shared_tile(var).place));
}

void emit_instruction(const isa::LoadShared& inst, const isa::InstStmt& stmt,
                      KernelEmission& kernel) {
  kernel.declare_tile(stmt);
  emit_load(stmt.results[0], inst.src.var, stmt, kernel);
}

/// Every replica stores, as in global memory.
void emit_instruction(const isa::StoreShared& inst, const isa::InstStmt& stmt,
                      KernelEmission& kernel) {
  emit_store(inst.src.var, inst.dst.var, stmt, kernel);
  kernel.fence_for_bulk(stmt);
}

void emit_instruction(const isa::Synchronize&, const isa::InstStmt& stmt, KernelEmission& kernel) {
  if (kernel.is_gate(stmt)) {
    kernel.chose(stmt, explain_gate(kernel.bulk_copies(), kernel.threads()));
    kernel.out.line(fmt::format("tv::pass_gate<{}>(bulk_);", kernel.threads()));
    return;
  }
  const bool bulk = kernel.bulk_copies().groups() > 0;
  kernel.out.line(bulk ? "tv::synchronize_bulk(bulk_);" : "tv::synchronize();");
}

void emit_instruction(const isa::Exit&, const isa::InstStmt&, KernelEmission& kernel) {
  kernel.end_block();
  kernel.out.line("return;");
}

}  // namespace tilevm::backend
