// The passes that make a machine program (machine.cc has their order). Each takes one and returns
// one.
#pragma once

#include <functional>

#include "backend/machine/machine_kernel.h"
#include "isa/analysis/statements.h"

namespace tilevm::backend {

/// What passes read: the selected kernel and the program that it is of.
struct MachineSource {
  const isa::VerifiedProgram& program;
  const SelectedKernel& selected;
  const isa::Kernel& kernel;
  const isa::KernelInfo& info;
  isa::Statements statements;

  [[nodiscard]] std::int64_t warps() const { return (info.num_threads + 31) / 32; }
};

/// One operation for each instruction, in its selected form (lower.cc).
MachineKernel lower(const MachineSource& source);
/// A fence after what stores to memory that later bulk copies touch (proxy_fences.cc).
MachineKernel fence_stores(MachineKernel machine, const MachineSource& source);
/// Commits, waits and barriers of the program become arrivals and waits at the barriers of the
/// machine (copy_ring.cc).
MachineKernel expand_barriers(MachineKernel machine, const MachineSource& source);
/// A record after each statement that has a probe (probe_records.cc).
MachineKernel place_records(MachineKernel machine, const MachineSource& source);

/// Calls f(nodes of a block's result, node) for every node of a block, inner blocks first. f
/// appends what the node becomes.
using Rewrite = std::function<void(MachineBlock&, MachineNode)>;
[[nodiscard]] MachineBlock rewrite(MachineBlock block, const Rewrite& f);

/// A node with an operation of the same statement, by the whole block.
template <class Code>
[[nodiscard]] MachineNode op_node(const isa::Stmt* stmt, Code code, std::size_t group = 0) {
  return {stmt, MachineOp{.group = group, .code = code}};
}

}  // namespace tilevm::backend
