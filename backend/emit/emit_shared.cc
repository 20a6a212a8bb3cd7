// Shared memory, and what orders the threads of a block.
//
// An access outside of a shared tensor is a fault of the program, so bounds are not tested here.
#include <fmt/format.h>

#include "backend/emit/emit_kernel.h"

namespace tilevm::backend {

template <>
void emit_plain(const isa::AllocateShared&, const isa::InstStmt& stmt, KernelEmission& kernel) {
  if (!stmt.declares) return;
  const isa::VarId var = stmt.results[0];
  kernel.out.plain(fmt::format("tv::u8* const {} = shared_ + {};", kernel.name(var),
                               kernel.info().shared_tile(var).gpu_offset));
}

template <>
void emit_form(const FullBarrier&, const isa::InstStmt&, KernelEmission& kernel) {
  if (kernel.selected().bulk.any()) {
    kernel.out.line("tv::synchronize_bulk(bulk_);");
  } else {
    kernel.synchronize();
  }
}

template <>
void emit_form(const SplitBarrier& form, const isa::InstStmt&, KernelEmission& kernel) {
  kernel.out.line(fmt::format("tv::pass_split_barrier<{}>(bulk_);", form.warps * 32));
}

template <>
void emit_form(const EarlyExit&, const isa::InstStmt&, KernelEmission& kernel) {
  kernel.end_block();
  kernel.out.line("return;");
}

}  // namespace tilevm::backend
