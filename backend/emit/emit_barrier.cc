// Barriers between groups of warps and between the blocks of a cluster, and proxy fences.
#include <fmt/format.h>

#include <optional>
#include <string>

#include "backend/emit/emit_barrier.h"
#include "backend/emit/emit_kernel.h"
#include "backend/emit/emit_scalar.h"

namespace tilevm::backend {
namespace {

/// Bytes of a stage.
constexpr std::int64_t stage_bytes = 8;

/// The rank of a block of the cluster.
std::string rank_text(const isa::ScalarOperand& block, const KernelEmission& kernel) {
  return fmt::format("static_cast<tv::i32>({})", kernel.scalar(block.value));
}

template <class Inst>
std::string named(const Inst& inst) {
  return fmt::format("<{}, {}>", inst.id.value.constant_int().value_or(0),
                     inst.warps.value.constant_int().value_or(1) * 32);
}

}  // namespace

std::string stage_of(isa::BarrierOperand barrier, const std::optional<isa::ScalarOperand>& stage,
                     const KernelEmission& kernel) {
  const std::string& name = kernel.name(barrier.var);
  if (!stage) return name;
  if (const auto number = stage->value.constant_int()) {
    return *number == 0 ? name : fmt::format("{} + {}u", name, *number * stage_bytes);
  }
  return fmt::format("{} + static_cast<tv::u32>({}) * {}u", name, kernel.scalar(stage->value),
                     stage_bytes);
}

/// One thread initialises the stages, and lets the async proxy see them.
template <>
void emit_plain(const isa::AllocateBarrier&, const isa::InstStmt& stmt, KernelEmission& kernel) {
  const isa::KernelInfo::Barrier& barrier = kernel.info().barrier(stmt.results[0]);
  const std::string& name = kernel.name(barrier.var);
  kernel.out.line(
      fmt::format("const tv::u32 {} = tv::barrier_address(barriers_ + {});", name, barrier.first));
  kernel.out.open("if (tv::thread() == 0)");
  kernel.out.line(
      fmt::format("for (int stage_ = 0; stage_ < {}; ++stage_) tv::mbarrier_init({} + "
                  "stage_ * {}u, {}u);",
                  barrier.stages, name, stage_bytes, barrier.arrivals));
  kernel.out.line("tv::fence_proxy_async_shared();");
  if (!kernel.definition().cluster.empty()) kernel.out.line("tv::fence_mbarrier_init();");
  kernel.out.close();
}

template <>
void emit_plain(const isa::Arrive& inst, const isa::InstStmt&, KernelEmission& kernel) {
  const std::string stage = stage_of(inst.barrier, inst.stage, kernel);
  kernel.out.line(inst.block ? fmt::format("tv::mbarrier_arrive_at({}, {});", stage,
                                           rank_text(*inst.block, kernel))
                             : fmt::format("tv::mbarrier_arrive({});", stage));
}

template <>
void emit_plain(const isa::ArriveExpect& inst, const isa::InstStmt&, KernelEmission& kernel) {
  const std::string rank =
      inst.block ? fmt::format(", {}", rank_text(*inst.block, kernel)) : std::string();
  kernel.out.line(fmt::format("tv::mbarrier_arrive_expect_tx{}({}, static_cast<tv::u32>({}){});",
                              inst.block ? "_at" : "", stage_of(inst.barrier, inst.stage, kernel),
                              kernel.scalar(inst.bytes.value), rank));
}

/// In a cluster others may have arrived.
template <>
void emit_plain(const isa::WaitBarrier& inst, const isa::InstStmt&, KernelEmission& kernel) {
  kernel.out.line(fmt::format("tv::mbarrier_wait_parity{}({}, static_cast<tv::u32>({}));",
                              kernel.definition().cluster_blocks() > 1 ? "_cluster" : "",
                              stage_of(inst.barrier, inst.stage, kernel),
                              kernel.scalar(inst.parity.value)));
}

template <>
void emit_plain(const isa::FenceProxy&, const isa::InstStmt&, KernelEmission& kernel) {
  kernel.out.line("tv::fence_proxy_async();");
}

template <>
void emit_plain(const isa::SyncNamedBarrier& inst, const isa::InstStmt&, KernelEmission& kernel) {
  kernel.out.line(fmt::format("tv::named_barrier_sync{}();", named(inst)));
}

template <>
void emit_plain(const isa::ArriveNamedBarrier& inst, const isa::InstStmt&, KernelEmission& kernel) {
  kernel.out.line(fmt::format("tv::named_barrier_arrive{}();", named(inst)));
}

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
