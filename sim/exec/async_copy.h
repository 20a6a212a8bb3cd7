// Asynchronous copies: prepared, issued, retired.
#pragma once

#include <cstddef>

#include "sim/access/copy_plan.h"
#include "sim/state/context.h"

namespace tilevm::sim {

/// Reads the tile and puts it among the pending copies; false after a fault.
[[nodiscard]] bool issue_copy(const CopyPlan& plan, Context& context);

/// Writes what a copy moves to shared memory.
void fill_shared(PendingCopy& copy, Context& context);

/// The copies since the last commit become a group.
void commit_copies(SharedMemory& shared);

/// Retires all groups but the latest `pending`. `number`, here and below, is the statement's index
/// in Plan::barriers.
void wait_for_copies(std::uint64_t pending, Span span, std::uint32_t number, Context& context);

/// Completion::Time::random: each pending copy arrives now or later, at random.
void let_copies_arrive(Context& context);

/// A barrier of all threads: retired copies become visible.
void synchronize(std::uint32_t number, Context& context);
/// A barrier of all threads for which `redundant` is not checked.
void complete_barrier(Context& context);

/// A tile that one thread holds, in row-major order: what a copy moves.
[[nodiscard]] Tile data_tile(const LayoutParts& parts, unsigned bits);

}  // namespace tilevm::sim
