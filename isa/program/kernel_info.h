// What the verifier learns of a kernel, for the engines that run it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "isa/program/print.h"
#include "isa/program/program.h"
#include "isa/program/stmt_map.h"

namespace tilevm::isa {

struct AccessPlan;
struct DotPlan;

/// A group of warps of a kernel, or its block.
struct ThreadGroup {
  std::int64_t first_thread = 0;  ///< number of its first thread in the block
  std::int64_t threads = 1;
  bool elects = false;                    ///< one thread, which its warp elects
  std::int32_t parent = -1;               ///< index in KernelInfo::groups; -1: this is the block
  StmtId fork{};                          ///< statement that begins it
  std::size_t position = 0;               ///< index in ForkStmt::groups
  std::optional<std::int64_t> registers;  ///< registers of each thread
  /// The named barrier of its `Synchronize`; none where there is no such instruction.
  std::optional<std::int64_t> named_barrier;
  Span span{};

  [[nodiscard]] std::int64_t first_warp() const { return first_thread / 32; }
  [[nodiscard]] std::int64_t warps() const { return (threads + 31) / 32; }
};

/// What the verifier learned of a kernel.
struct KernelInfo {
  std::int64_t num_threads = 1;
  /// In bytes: a cache line, so that the sectors of a copy follow from its tensor alone.
  static constexpr std::int64_t shared_alignment = 128;
  /// The block, then its groups of warps in the order of the text.
  std::vector<ThreadGroup> groups{ThreadGroup{}};
  StmtMap<std::int32_t> group_of;  ///< index in `groups` of the group that runs a statement
  [[nodiscard]] const ThreadGroup& group_at(StmtId id) const {
    return groups[static_cast<std::size_t>(group_of[id])];
  }
  /// How many threads run a statement.
  [[nodiscard]] std::int64_t threads_at(StmtId id) const {
    return has_groups() ? group_at(id).threads : num_threads;
  }
  /// Whether the kernel has groups of warps.
  [[nodiscard]] bool has_groups() const { return groups.size() > 1; }
  /// Registers of each thread at the launch, of which groups may take other numbers; 0: no group
  /// does.
  std::int64_t launch_registers = 0;
  /// Barriers in the order of the text. `first` is the number of a barrier's first stage among the
  /// stages of all.
  struct Barrier {
    VarId var;
    std::int64_t arrivals = 1, stages = 1, first = 0;
    StmtId made{};
  };
  std::vector<Barrier> barriers;
  std::int64_t barrier_stages = 0;  ///< stages of all barriers
  [[nodiscard]] const Barrier& barrier(VarId var) const;
  /// Kernel-level AllocateGlobal tensors in order: hidden buffers that a launch provides.
  struct Workspace {
    VarId var;
    std::int64_t bytes;
    bool zeroed;  ///< whether each launch begins with zeros; not if no instruction uses it
  };
  std::vector<Workspace> workspaces;
  /// Shared tensors in the order of the text. `offset` is a tensor's address if all follow one
  /// another, as in the simulator; `gpu_offset` is its address on a GPU (shared_plan.h).
  struct SharedTile {
    VarId var;
    std::int64_t offset, bytes;
    std::int64_t gpu_offset = 0;
    /// The alignment of the address on a GPU: a descriptor's swizzle is one of addresses
    /// (isa/dot/shared_matrix.h).
    std::int64_t alignment = shared_alignment;
  };
  std::vector<SharedTile> shared;
  std::int64_t shared_bytes = 0;  ///< bytes of all shared tensors, a multiple of shared_alignment
  /// Bytes of shared memory that a block needs on a GPU, also such a multiple.
  std::int64_t shared_footprint = 0;
  /// Two halves of `exchange_bytes` at a GPU's `exchange_offset`, which instructions that exchange
  /// values between threads use in turn (isa/program/exchange.h): what one half holds is read
  /// before the barrier of the next exchange, so the half may then be written again.
  std::int64_t exchange_offset = 0, exchange_bytes = 0;
  /// 1 where a second half does not fit: each exchange then begins with a barrier of its own.
  std::int32_t exchange_halves = 2;
  /// Each group of warps has halves of its own, behind those of the block.
  [[nodiscard]] std::int64_t exchange_offset_of(std::int32_t group) const {
    return exchange_offset + std::int64_t{group} * exchange_halves * exchange_bytes;
  }
  /// Barriers and waits after which shared memory is reused by another tensor.
  StmtSet reuse_barriers;
  [[nodiscard]] const SharedTile& shared_tile(VarId var) const;
  /// Print statements in the order of the text.
  std::vector<PrintSite> prints;
  StmtMap<std::uint32_t> print_sites;  ///< positions of Print statements in `prints`
  /// The position of a Print statement of this kernel.
  [[nodiscard]] std::uint32_t print_site(const InstStmt& stmt) const {
    return print_sites[stmt.id];
  }
  // By statement: of Dot, and of the instructions that move a tile; null for others.
  StmtMap<std::shared_ptr<const DotPlan>> dot_plans;
  StmtMap<std::shared_ptr<const AccessPlan>> access_plans;
  [[nodiscard]] const DotPlan& dot_plan(const InstStmt& stmt) const;
  /// The plan of a statement; null of a statement that is not a product.
  [[nodiscard]] const DotPlan* find_dot_plan(const InstStmt& stmt) const;
  /// How a statement that moves a tile does so (isa/access/access_plan.h).
  [[nodiscard]] const AccessPlan& access_plan(const InstStmt& stmt) const;
};

/// What the constant views of a pointer parameter say of its tensor.
struct PointerUse {
  VarId parameter;
  bool read = false;
  bool written = false;
  /// The type and shape of its view, if all views agree on one constant one.
  std::optional<DType> dtype;
  std::optional<Shape> shape;
  /// The elements of memory that this view reaches, if they are fewer than the shape has: where
  /// strides lay elements one on the other.
  std::optional<std::int64_t> elements = {};
};

}  // namespace tilevm::isa
