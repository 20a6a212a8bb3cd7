#include <fmt/format.h>

#include "backend/emit_kernel.h"

namespace tilevm::backend {

void emit_instruction(const isa::Cast& inst, const isa::InstStmt& stmt, KernelEmission& kernel) {
  const auto& from = kernel.type<isa::RegisterType>(inst.src.var);
  const auto& to = kernel.type<isa::RegisterType>(stmt.results[0]);
  kernel.declare_tile(stmt);
  kernel.out.line(fmt::format("tv::cast_tile<{}, {}, {}>({}, {});", kernel.element_type(from.dtype),
                              kernel.element_type(to.dtype), to.layout.num_locals(),
                              kernel.name(stmt.results[0]), kernel.name(inst.src.var)));
}

/// A view is another reading of the same bits; the compiler removes the copy.
void emit_instruction(const isa::View& inst, const isa::InstStmt& stmt, KernelEmission& kernel) {
  kernel.declare_tile(stmt);
  kernel.out.line(fmt::format("tv::copy_words<{}>({}, {});",
                              tile_words(kernel.type<isa::RegisterType>(inst.src.var)),
                              kernel.name(stmt.results[0]), kernel.name(inst.src.var)));
}

}  // namespace tilevm::backend
