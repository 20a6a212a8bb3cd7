// The operations of the machine program that are not forms of an instruction.
#include <fmt/format.h>

#include "backend/emit/emit_barrier.h"
#include "backend/emit/emit_kernel.h"

namespace tilevm::backend {
namespace {

/// The stages of the kernel's ring of mbarriers.
std::int64_t stages_of(const MachineKernel& machine) { return machine.barriers.front().stages; }

std::string test_text(RingTest test, const MachineKernel& machine) {
  switch (test) {
    case RingTest::fits:
      return fmt::format("bulk_.made - bulk_.known < {}u", stages_of(machine));
    case RingTest::none_since_split:
      return "static_cast<tv::i32>(bulk_.done - bulk_.split) <= 0";
    case RingTest::open:
      return "bulk_.bytes != 0";
  }
  return "";
}

/// The last warps of a block.
std::string test_text(const InGroup& test, const MachineKernel& machine) {
  return fmt::format("bulk_.warp >= {}u", machine.groups[test.group].first);
}

/// One overload for each operation.
class OpPrinter {
 public:
  OpPrinter(const MachineOp& op, const MachineKernel& machine, KernelEmission& kernel)
      : op_(op), machine_(machine), kernel_(kernel), out_(kernel.out) {}

  void operator()(const Form&) const {}  // KernelEmission::write_form

  void operator()(const InitRing&) const {
    const std::int64_t stages = stages_of(machine_);
    out_.plain(fmt::format("TV_BARRIERS(barriers_, {});", stages));
    out_.plain(fmt::format("tv::CopyRing<{0}> bulk_ = tv::make_ring<{0}>(barriers_);", stages));
  }
  void operator()(const ArriveExpect&) const {
    out_.line(fmt::format("tv::arrive_expect<{}>(bulk_);", group().first));
  }
  void operator()(const WaitPhases& wait) const {
    if (wait.newest) return out_.line("tv::wait_for_newest_phase(bulk_);");
    const bool each_warp = op_.group == 0;
    out_.line(fmt::format("tv::wait_for_phases<{}, {}>(bulk_);", wait.pending, each_warp));
  }
  void operator()(const PublishPhases&) const { out_.line("bulk_.known = bulk_.done;"); }
  void operator()(const MarkSplit&) const { out_.line("bulk_.split = bulk_.made;"); }
  void operator()(const BlockSync&) const { kernel_.synchronize(); }
  void operator()(const NamedSync& sync) const {
    out_.line(fmt::format("tv::barrier_sync<{}>();", threads(sync.barrier)));
  }
  void operator()(const NamedArrive& arrive) const {
    out_.line(fmt::format("tv::barrier_arrive<{}>();", threads(arrive.barrier)));
  }
  void operator()(const FenceProxy& fence) const { out_.line(proxy_fence(fence.with_global)); }
  void operator()(const CommitPieces&) const { out_.line("tv::cp_async_commit_group();"); }
  void operator()(const WaitPieces& wait) const {
    out_.line(fmt::format("tv::cp_async_wait_group<{}>();", wait.pending));
  }
  void operator()(const EndBlock&) const { out_.line("return;"); }
  void operator()(const BeginCounts& counts) const { begin_counts(*counts.dot, kernel_); }
  void operator()(const EndCounts& counts) const { end_counts(*counts.dot, kernel_); }
  void operator()(const ProbeRecord& record) const {
    for (const isa::VarId var : record.values) kernel_.probe_value(var);
    out_.line(fmt::format("probe_.record({});", record.statement.index));
  }

 private:
  [[nodiscard]] const WarpGroup& group() const { return machine_.groups[op_.group]; }
  [[nodiscard]] std::int64_t threads(std::size_t barrier) const {
    return machine_.barriers[barrier].arrivals;
  }

  const MachineOp& op_;
  const MachineKernel& machine_;
  KernelEmission& kernel_;
  CodeWriter& out_;
};

}  // namespace

void KernelEmission::write_op(const MachineOp& op) {
  std::visit(OpPrinter(op, machine_, *this), op.code);
}

void KernelEmission::write(const MachineGuard& guard) {
  out.open(fmt::format(
      "if ({})",
      std::visit([&](const auto& test) { return test_text(test, machine_); }, guard.test)));
  for (const MachineNode& node : guard.body) write(node);
  if (!guard.otherwise.empty()) {
    out.close_and_open("else");
    for (const MachineNode& node : guard.otherwise) write(node);
  }
  out.close();
}

}  // namespace tilevm::backend
