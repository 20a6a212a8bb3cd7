// Which asynchronous copies of a kernel are made in bulk (PTX ISA, cp.async.bulk): a row of the
// tile by one instruction of one thread, instead of 16 bytes by each of many. A row is as many of
// the tile's last dimensions as lie without gaps on both sides.
//
// Rows must be runs of whole 16 bytes, and lie inside the view, since nothing is filled with zeros.
// Warp 0 alone commits groups and waits for them, at a memory barrier for each of the last few
// groups; the Synchronize that must follow a CopyAsyncWaitGroup tells the others. In a kernel that
// drifts (backend/select/gates.h) the last warps copy, the first of them commits, and all wait.
//
// Bulk copies reach memory by a way of their own (PTX ISA, proxies). What a launch wrote through
// the pointer they read from is not theirs; behind stores to memory that they overwrite stands a
// fence.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <set>
#include <vector>

#include "isa/access/access_plan.h"
#include "isa/verify/verify.h"

namespace tilevm::backend {

/// Shared memory of a group's memory barrier.
inline constexpr std::int64_t barrier_bytes = 8;

/// Bulk copies that follow each other, or one alone, by neighbouring warps, so that one test sends
/// the others on.
struct CopyRun {
  const isa::InstStmt *first, *last;
  std::int64_t first_warp, warps, bytes;
};

/// A tile that is copied in bulk. The outer digits of both sides are those of a row's number.
struct BulkCopy {
  std::int64_t rows = 0;
  std::int64_t bytes = 0;       ///< of a row
  std::int64_t first_warp = 0;  ///< of those that copy them in turn ..
  std::int64_t warps = 0;       ///< .. and how many these are
  isa::AccessSide from{}, to{};
  const CopyRun* run = nullptr;  ///< of which it is a part
};

class BulkCopies {
 public:
  BulkCopies(const isa::VerifiedProgram& program, int kernel);

  /// Nothing for a copy that is made in pieces, and for other statements.
  [[nodiscard]] const BulkCopy* find(const isa::InstStmt& stmt) const;
  /// Groups that may be under way at a time, a power of two; 0 without bulk copies.
  [[nodiscard]] std::int64_t groups() const { return groups_; }
  /// Whether there are bulk copies, and no others.
  [[nodiscard]] bool are_all() const { return are_all_; }
  /// The first of the warps that copy, where all others may pass gates; else 0.
  [[nodiscard]] std::int64_t copiers() const { return copiers_; }
  /// Whether a fence must stand behind a statement that stores.
  [[nodiscard]] bool needs_fence(const isa::InstStmt& stmt) const {
    return fences_.contains(&stmt);
  }

 private:
  [[nodiscard]] bool meets_bulk_copy(isa::VarId tensor) const;
  /// Gives the copies of a run their warps: the next ones, or the last of the block.
  void place_warps(const std::vector<const isa::InstStmt*>& run, bool last);
  /// Behind those of the statements, which may run before a bulk copy, that need one.
  void place_fences(const std::vector<const isa::InstStmt*>& before);

  const isa::KernelInfo& info_;
  std::map<const isa::InstStmt*, BulkCopy> copies_;  // keys point into the program
  std::set<const isa::InstStmt*> fences_;            // likewise
  std::list<CopyRun> runs_;
  std::int64_t next_warp_ = 1;  // warp 0 commits and waits
  std::int64_t groups_ = 0;
  std::int64_t copiers_ = 0;
  bool are_all_ = false;
};

}  // namespace tilevm::backend
