// The machine program of a kernel: what the warps of a block do, between selection and the CUDA
// text.
//
// Its operations are the selected forms of statements, and what the machine needs besides them:
// arrivals and waits at barriers, fences, records of probes. Each has an id of its own, the
// statement that it came from, the warps that run it, what it synchronizes, and its accesses to
// memory with the proxy of each. Passes (passes.h) take a machine program and return one; the
// printer (backend/emit) walks over the last.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <variant>
#include <vector>

#include "backend/select/selected_program.h"
#include "isa/inst/schema.h"

namespace tilevm::backend {

/// The number of an operation in its kernel, in the order of the text.
struct OpId {
  std::int32_t index = -1;
  friend auto operator<=>(const OpId&, const OpId&) = default;
};

/// Consecutive warps of the block.
struct WarpGroup {
  std::int64_t first = 0, warps = 0;
  friend bool operator==(const WarpGroup&, const WarpGroup&) = default;
};

/// A barrier in hardware. Barrier 0, at which all warps of the block meet, is not listed.
struct MachineBarrier {
  enum class Kind : std::uint8_t {
    mbarrier,  ///< memory barrier in shared memory; counts arrivals and bytes
    named      ///< named barrier, one of 16; counts the threads of whole warps
  };
  Kind kind = Kind::mbarrier;
  std::int64_t arrivals = 1;  ///< arrivals of each phase; of a named barrier, threads
  std::int64_t stages = 1;    ///< mbarriers that copy groups use in turn
  std::int64_t number = 0;    ///< number of a named barrier
};

/// What an operation does with a tensor.
struct MachineAccess {
  isa::VarId tensor;
  isa::Access access = isa::Access::none;
  isa::Proxy proxy = isa::Proxy::generic;
};

// --- The ring of copy groups --------------------------------------------------------------------
//
// Bulk copies between two commits are a copy group. Group n is counted by phase n / stages of
// mbarrier n % stages. All warps count the groups alike:
//
//   made    groups that are closed; the copies of group `made` are being issued
//   done    groups whose phases the waiting warps have seen complete
//   known   `done` at the last barrier of the block, so what every warp knows to be complete
//   split   `made` at the last barrier that may have been split

/// Initialises the mbarriers of the ring, and makes them visible to the async proxy. One thread
/// does.
struct InitRing {};
/// Closes a copy group: one lane of the group's first warp arrives at its mbarrier, which then also
/// expects the bytes of its copies (mbarrier.arrive.expect_tx).
struct ArriveExpect {};
/// Waits for phases until at most `pending` closed groups are unfinished
/// (mbarrier.try_wait.parity).
struct WaitPhases {
  std::int64_t pending = 0;
  bool newest = false;  ///< all groups but the newest are known to be complete
};
/// After a barrier of the block: known = done.
struct PublishPhases {};
/// After a barrier that may have been split: split = made.
struct MarkSplit {};

/// A question about the ring's counts, whose answer is the same in all warps.
enum class RingTest : std::uint8_t {
  fits,  ///< made - known < stages: all warps know that the mbarrier of the next copies is free
  none_since_split,  ///< done <= split: no group that was closed since the split has been waited
                     ///< for
  open               ///< copies have been issued since the last commit
};

// --- Other operations of the machine ------------------------------------------------------------

/// All warps of the block meet at barrier 0 (bar.sync).
struct BlockSync {};
/// Warps of the group arrive at a named barrier and wait for all others (barrier.sync).
struct NamedSync {
  std::size_t barrier = 0;  ///< index in MachineKernel::barriers
};
/// Warps of the group arrive at a named barrier and go on (barrier.arrive).
struct NamedArrive {
  std::size_t barrier = 0;
};
/// What a thread has stored is there for bulk copies and products that follow in causality order
/// (fence.proxy.async). That of global memory waits until the whole GPU sees earlier stores.
struct FenceProxy {
  bool with_global = false;  ///< whether stores to global memory are meant as well
};
/// Ends a group of copies in pieces (cp.async.commit_group).
struct CommitPieces {};
/// Waits until at most `pending` groups of copies in pieces are unfinished (cp.async.wait_group).
struct WaitPieces {
  std::int64_t pending = 0;
};
/// The kernel ends here, before its last statement.
struct EndBlock {};

/// Declares the counts of a product that a loop adds up, and after the loop puts them together.
struct BeginCounts {
  const isa::InstStmt* dot = nullptr;
};
struct EndCounts {
  const isa::InstStmt* dot = nullptr;
};
/// The record of a probe (isa/program/probe.h): the values of variables, and what the operations
/// since the last record wrote to memory.
struct ProbeRecord {
  isa::StmtId statement{};
  std::vector<isa::VarId> values{};
};

/// THE list of operations of the machine program.
using OpCode = std::variant<Form,                                                          //
                            InitRing, ArriveExpect, WaitPhases, PublishPhases, MarkSplit,  //
                            BlockSync, NamedSync, NamedArrive, FenceProxy,                 //
                            CommitPieces, WaitPieces, EndBlock,                            //
                            BeginCounts, EndCounts, ProbeRecord>;

struct MachineOp {
  OpId id{};
  std::size_t group = 0;  ///< index in MachineKernel::groups
  OpCode code{};
  isa::Sync sync = isa::Sync::none;
  std::vector<MachineAccess> accesses{};
};

// --- Structure ----------------------------------------------------------------------------------

struct MachineNode;
using MachineBlock = std::vector<MachineNode>;

/// Whether a warp is one of a group.
struct InGroup {
  std::size_t group = 0;  ///< index in MachineKernel::groups
};
/// Operations of which a warp runs one part or the other.
struct MachineGuard {
  std::variant<RingTest, InGroup> test{};  ///< test of `body`, which may be empty
  MachineBlock body{}, otherwise{};
};
/// A loop of the program.
struct MachineLoop {
  Form form{};
  MachineBlock body{};
};
/// A branch of the program: a block for each arm.
struct MachineBranch {
  std::vector<MachineBlock> arms{};
  MachineBlock otherwise{};
};
/// Groups of warps of the program, in the order of isa::ForkStmt::groups: each warp runs the block
/// of its group.
struct MachineFork {
  std::vector<MachineBlock> groups{};
};
/// A statement that touches no memory and is not an instruction: an assignment to a scalar, break,
/// continue.
struct MachineScalar {};

struct MachineNode {
  /// Statement that it came from; null at the kernel's begin and end.
  const isa::Stmt* stmt = nullptr;
  std::variant<MachineOp, MachineGuard, MachineLoop, MachineBranch, MachineFork, MachineScalar>
      node{};

  [[nodiscard]] isa::StmtId source() const { return stmt == nullptr ? isa::StmtId{} : stmt->id(); }
};

struct MachineKernel {
  std::vector<WarpGroup> groups{};  ///< the first is the whole block
  std::vector<MachineBarrier> barriers{};
  MachineBlock begin{};  ///< nodes before the kernel's first statement
  MachineBlock body{};
};

/// Calls f(node) for every node of a block, outer before inner, in the order of the text.
template <class Block, class F>
void for_each_node(Block& block, F&& f) {
  for (auto& node : block) {
    f(node);
    if (auto* guard = std::get_if<MachineGuard>(&node.node)) {
      for_each_node(guard->body, f);
      for_each_node(guard->otherwise, f);
    } else if (auto* loop = std::get_if<MachineLoop>(&node.node)) {
      for_each_node(loop->body, f);
    } else if (auto* branch = std::get_if<MachineBranch>(&node.node)) {
      for (auto& arm : branch->arms) for_each_node(arm, f);
      for_each_node(branch->otherwise, f);
    } else if (auto* fork = std::get_if<MachineFork>(&node.node)) {
      for (auto& group : fork->groups) for_each_node(group, f);
    }
  }
}

/// The machine program of a kernel. Pure and total.
[[nodiscard]] MachineKernel make_machine(const SelectedProgram& program, std::size_t kernel);

}  // namespace tilevm::backend
