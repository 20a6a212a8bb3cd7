#include <array>
#include <string_view>

#include <fmt/format.h>

#include "backend/emit/emit_kernel.h"
#include "backend/emit/emit_scalar.h"

namespace tilevm::backend {

template <>
void emit_plain(const isa::BlockIndices&, const isa::InstStmt& stmt, KernelEmission& kernel) {
  constexpr std::array<std::string_view, 3> axes{"x", "y", "z"};
  const std::vector<isa::Expr>& grid = kernel.definition().grid;
  for (std::size_t i = 0; i < stmt.results.size(); ++i) {
    const bool alone = i >= grid.size() || grid[i].constant_int() == std::int64_t{1};
    kernel.out.line(
        kernel.target(stmt.results[i], stmt.declares, scalar_type(isa::ScalarKind::i32)) +
        (alone ? "0;" : fmt::format("tv::block_{}();", axes[i])));
  }
}

}  // namespace tilevm::backend
