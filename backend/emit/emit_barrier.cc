// Groups of warps, barriers between them and between the blocks of a cluster, and proxy fences.
#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backend/emit/emit_barrier.h"
#include "backend/emit/emit_kernel.h"
#include "backend/emit/emit_scalar.h"
#include "isa/analysis/operands.h"

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

/// What some instructions do to global memory.
struct GlobalUse {
  bool reads = false, writes = false;
  void add(isa::Access access) {
    reads = reads || isa::reads(access);
    writes = writes || isa::writes(access);
  }
  /// Whether one of these and one of the others need an order.
  [[nodiscard]] bool meets(const GlobalUse& other) const {
    return (writes && (other.reads || other.writes)) || (reads && other.writes);
  }
};

/// Whether both proxies use global memory: the copy engine, which may also make copies that a
/// program does not ask of it, and the kernel's other instructions. All views count as the same
/// memory, since a launch may give it to several parameters.
bool share_global_memory(const isa::Kernel& kernel) {
  GlobalUse engine, others;
  isa::for_each_statement(kernel.body, [&](const isa::Stmt& stmt) {
    const auto* made = std::get_if<isa::InstStmt>(&stmt.node);
    if (made == nullptr) return;
    const bool is_by_engine = isa::description(made->inst).by_copy_engine;
    const bool may_be = std::holds_alternative<isa::CopyAsync>(made->inst);
    isa::for_each_memory_operand<isa::GlobalOperand>(made->inst,
                                                     [&](isa::Access access, isa::VarId) {
                                                       if (is_by_engine || may_be)
                                                         engine.add(access);
                                                       if (!is_by_engine) others.add(access);
                                                     });
  });
  return engine.meets(others);
}

/// Groups whose warps follow one another and that take the same number of registers, as indices in
/// KernelInfo::groups.
using GroupRun = std::vector<std::int32_t>;

const isa::ThreadGroup& group_of(const isa::KernelInfo& info, std::int32_t number) {
  return info.groups[static_cast<std::size_t>(number)];
}

/// The groups of a fork.
std::vector<GroupRun> runs_of(const isa::ForkStmt& fork, const isa::KernelInfo& info) {
  std::vector<GroupRun> runs;
  const isa::ThreadGroup* before = nullptr;
  for (std::size_t i = 1; i < info.groups.size(); ++i) {
    const isa::ThreadGroup& each = info.groups[i];
    if (each.fork != fork.id) continue;
    const bool joins = before != nullptr && each.registers && each.registers == before->registers &&
                       each.first_warp() == before->first_warp() + before->warps();
    if (!joins) runs.emplace_back();
    runs.back().push_back(static_cast<std::int32_t>(i));
    before = &each;
  }
  return runs;
}

/// Whether several runs have every warp of the group around them.
bool cover_warps(const std::vector<GroupRun>& runs, std::int32_t outer,
                 const isa::KernelInfo& info) {
  std::int64_t warps = 0;
  for (const GroupRun& run : runs) {
    for (const std::int32_t each : run) warps += group_of(info, each).warps();
  }
  return runs.size() > 1 && warps == group_of(info, outer).warps();
}

/// Whether a warp is of one of the groups.
std::string warp_test(const GroupRun& run, const isa::KernelInfo& info) {
  const isa::ThreadGroup &first = group_of(info, run.front()), &last = group_of(info, run.back());
  if (first.elects) return fmt::format("(tv::warp_number() == {}u)", first.first_warp());
  return fmt::format("(tv::is_warp_in<{}, {}>())", first.first_warp(),
                     last.first_warp() + last.warps());
}

/// Begins the part of those warps that pass a test, or of all that are left.
void open_part(const std::string& test, bool is_first, bool is_rest, CodeWriter& out) {
  if (is_first) return out.open("if " + test);
  out.close_and_open(is_rest ? "else" : "else if " + test);
}

}  // namespace

/// Each warp runs the part of its group and leaves out the others. Code of one group does not
/// follow code of another: ptxas moves instructions, and the other group may have fewer registers
/// (setmaxnreg). Groups that take the same number of registers take it in one place, and what is
/// left of the warps is a plain `else`: otherwise ptxas spills the last group's values as if the
/// group had the registers of the launch.
void KernelEmission::write(const MachineFork& machine_fork, const isa::ForkStmt& fork) {
  const std::int32_t outer = group_;
  const std::vector<GroupRun> runs = runs_of(fork, info());
  const bool covered = cover_warps(runs, outer, info());
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const GroupRun& run = runs[i];
    group_ = run.front();
    const Span span = fork.groups[group().position].span;
    if (i == 0) quote_source(span, 1);
    open_part(warp_test(run, info()), i == 0, covered && i + 1 == runs.size(), out);
    if (i != 0) quote_source(span, 1);
    if (group().elects) {
      write_elected(machine_fork.groups[group().position]);
    } else {
      write_groups(run, machine_fork, fork);
    }
  }
  if (!runs.empty()) out.close();
  group_ = outer;
}

/// The warp meets again behind the part of its thread: later instructions are for whole warps.
void KernelEmission::write_elected(const MachineBlock& body) {
  out.open("if (tv::elect_sync())");
  write(body);
  out.close();
  out.line("tv::synchronize_warp();");
}

void KernelEmission::write_groups(const std::vector<std::int32_t>& run,
                                  const MachineFork& machine_fork, const isa::ForkStmt& fork) {
  const bool are_several = run.size() > 1;
  set_registers(group(), true);
  for (const std::int32_t each : run) {
    group_ = each;
    if (are_several) {
      open_part(warp_test({each}, info()), each == run.front(), each == run.back(), out);
      if (each != run.front()) quote_source(fork.groups[group().position].span, 1);
    }
    out.line(fmt::format("const tv::u32 thread_ = tv::thread() - {}u;", group().first_thread));
    begin_exchanges();
    write(machine_fork.groups[group().position]);
  }
  if (are_several) out.close();
  const bool is_last = !kernel_.body.empty() && kernel_.body.back().id() == fork.id;
  if (!is_last) set_registers(group(), false);
}

/// A group takes its registers as it begins, and has those of the launch again as it ends.
void KernelEmission::set_registers(const isa::ThreadGroup& made, bool begins) {
  if (!made.registers || *made.registers == info().launch_registers) return;
  const bool grows = (*made.registers > info().launch_registers) == begins;
  out.line(fmt::format("tv::setmaxnreg<{}, {}>();",
                       begins ? *made.registers : info().launch_registers, grows));
}

std::string proxy_fence(bool with_global) {
  return with_global ? "tv::fence_proxy_async();" : "tv::fence_proxy_async_shared();";
}

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
  if (inst.block) {
    kernel.out.line(
        fmt::format("tv::mbarrier_arrive_at({}, {});", stage, rank_text(*inst.block, kernel)));
    return;
  }
  const bool has_whole_warps = kernel.threads() % 32 == 0;
  kernel.out.line(fmt::format("tv::mbarrier_arrive{}({});", has_whole_warps ? "_warp" : "", stage));
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
  kernel.out.line(proxy_fence(share_global_memory(kernel.definition())));
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
