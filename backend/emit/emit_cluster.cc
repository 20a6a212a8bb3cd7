// Clusters: where a block stands in its cluster, and the barrier of all blocks of one.
#include <fmt/format.h>

#include "backend/emit/emit_kernel.h"

namespace tilevm::backend {

template <>
void emit_plain(const isa::BlockRank&, const isa::InstStmt& stmt, KernelEmission& kernel) {
  const std::string type = scalar_type(isa::ScalarKind::i32);
  kernel.out.line(kernel.target(stmt.results[0], stmt.declares, type) + "tv::block_rank();");
}

template <>
void emit_plain(const isa::SynchronizeCluster&, const isa::InstStmt&, KernelEmission& kernel) {
  kernel.out.line("tv::cluster_arrive();");
  kernel.out.line("tv::cluster_wait();");
}

template <>
void emit_plain(const isa::ArriveCluster&, const isa::InstStmt&, KernelEmission& kernel) {
  kernel.out.line("tv::cluster_arrive();");
}

template <>
void emit_plain(const isa::WaitCluster&, const isa::InstStmt&, KernelEmission& kernel) {
  kernel.out.line("tv::cluster_wait();");
}

}  // namespace tilevm::backend
