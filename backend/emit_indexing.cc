#include <array>

#include "backend/emit_kernel.h"
#include "backend/emit_scalar.h"

namespace tilevm::backend {

void emit_instruction(const isa::BlockIndices&, const isa::InstStmt& stmt, KernelEmission& kernel) {
  constexpr std::array<std::string_view, 3> axes{"x", "y", "z"};
  for (std::size_t i = 0; i < stmt.results.size(); ++i) {
    kernel.out.line(
        kernel.target(stmt.results[i], stmt.declares, scalar_type(isa::ScalarKind::i32)) +
        "tv::block_" + std::string(axes[i]) + "();");
  }
}

}  // namespace tilevm::backend
