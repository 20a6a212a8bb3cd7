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

/// What the verifier learned of a kernel.
struct KernelInfo {
  std::int64_t num_threads = 1;
  /// In bytes: a cache line, so that the sectors of a copy follow from its tensor alone.
  static constexpr std::int64_t shared_alignment = 128;
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
