// Asynchronous copies: prepared, issued, retired.
#pragma once

#include <cstddef>

#include "sim/access/copy_plan.h"
#include "sim/state/context.h"

namespace tilevm::sim {

/// Reads the tile and puts it among the pending copies; false after a fault.
[[nodiscard]] bool issue_copy(const CopyPlan& plan, Context& context);

/// The copies since the last commit become a group.
void commit_copies(SharedMemory& shared);

/// Retires all groups but the latest `pending`. `number` is the statement's in Plan::barriers, here
/// and below.
void wait_for_copies(std::uint64_t pending, Span span, std::uint32_t number, Context& context);

/// Completion::Time::random: each pending copy arrives now, or does not.
void let_copies_arrive(Context& context);

/// All threads meet: what is retired becomes visible.
void synchronize(std::uint32_t number, Context& context);
/// The same at a barrier that is not asked whether the run needs it.
void complete_barrier(Context& context);

}  // namespace tilevm::sim
