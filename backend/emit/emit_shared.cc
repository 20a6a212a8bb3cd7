// Shared memory.
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

}  // namespace tilevm::backend
