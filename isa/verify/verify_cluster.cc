#include "isa/verify/verify_cluster.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "isa/inst/limits.h"

namespace tilevm::isa {
namespace {

/// Whether the shape of a cluster is one that hardware has.
bool check_shape(const Kernel& kernel, const Target& target, Diagnostics& diagnostics) {
  const std::string shape = fmt::format("`@cluster({})`", fmt::join(kernel.cluster, ", "));
  if (target.sm < 90) {
    add_note(diagnostics.error(Code::not_supported, kernel.span,
                               fmt::format("{} needs sm_90 or later, which have clusters; the "
                                           "target is {}",
                                           shape, to_string(target))),
             "leave it out, and let each block copy for itself and arrive at its own barriers");
    return false;
  }
  if (kernel.cluster.size() > kernel.grid.size()) {
    diagnostics.error(Code::bad_grid, kernel.span,
                      fmt::format("{} has {} extents, but the grid has {}", shape,
                                  kernel.cluster.size(), kernel.grid.size()));
    return false;
  }
  // Extents that are large would overflow their product.
  std::int64_t blocks = 1;
  for (const std::int64_t extent : kernel.cluster) {
    const bool fits = extent >= 1 && extent <= max_cluster_blocks;
    blocks = fits ? blocks * extent : max_cluster_blocks + 1;
    if (blocks > max_cluster_blocks) break;
  }
  if (blocks <= max_cluster_blocks) return true;
  diagnostics.error(Code::bad_grid, kernel.span,
                    fmt::format("{}: a cluster has 1 to {} blocks, and each extent is at least 1",
                                shape, max_cluster_blocks));
  return false;
}

void check_grid(const Kernel& kernel, Diagnostics& diagnostics) {
  for (std::size_t d = 0; d < kernel.cluster.size(); ++d) {
    const auto extent = kernel.grid[d].constant_int();
    if (!extent || *extent % kernel.cluster[d] == 0) continue;
    add_note(diagnostics.error(Code::bad_grid, kernel.grid[d].span(),
                               fmt::format("grid extent {} is {}, which is not a multiple of the "
                                           "{} blocks of a cluster along it",
                                           d, *extent, kernel.cluster[d])),
             "round it up, and let blocks without work go to the end of the kernel");
  }
}

bool is_barrier_of_cluster(const Instruction& inst) {
  return std::holds_alternative<SynchronizeCluster>(inst) ||
         std::holds_alternative<ArriveCluster>(inst) || std::holds_alternative<WaitCluster>(inst);
}

void check_instruction(const InstStmt& stmt, Span span, const KernelInfo& info,
                       Diagnostics& diagnostics) {
  const Description& what = description(stmt.inst);
  if (is_barrier_of_cluster(stmt.inst) && info.group_of[stmt.id] != 0) {
    add_note(diagnostics.error(Code::misplaced, span,
                               fmt::format("`{}` is for the whole block and stands outside of "
                                           "groups of warps",
                                           what.mnemonic)),
             "the group is here", info.group_at(stmt.id).span);
  }
  if (!what.orders_blocks()) return;
  add_note(diagnostics.error(Code::misplaced, span,
                             fmt::format("`{}` orders blocks one by one, and the blocks of a "
                                         "cluster run together",
                                         what.mnemonic)),
           "order blocks of a cluster by barriers: `Arrive(.., block=r)`, `SynchronizeCluster()`");
}

}  // namespace

void check_cluster(const Kernel& kernel, const Target& target, const KernelInfo& info,
                   Diagnostics& diagnostics) {
  if (kernel.cluster.empty() || !check_shape(kernel, target, diagnostics)) return;
  check_grid(kernel, diagnostics);
  for_each_statement(kernel.body, [&](const Stmt& stmt) {
    const auto* inst = std::get_if<InstStmt>(&stmt.node);
    if (inst != nullptr) check_instruction(*inst, stmt.span, info, diagnostics);
  });
}

}  // namespace tilevm::isa
