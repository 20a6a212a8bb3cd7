// The groups of warps of a block: which one runs next.
//
// One group runs at a time, up to a wait or its end; which one is next changes no result and no
// report (docs/inside/asynchrony.md), and follows GroupSchedule alone.
#pragma once

#include "sim/launch/plan.h"
#include "sim/state/context.h"

namespace tilevm::sim {

/// A block begins: the state of its groups, of which the block itself is the current one.
void start_groups(const Plan& plan, BlockState& state);

/// Runs a fork: its groups begin, and the current one goes on when they have ended.
void begin_groups(const PlanOp& fork, Context& context);

/// The current group ends; false after a fault: copies that it began are under way.
bool end_group(const PlanOp& end, Context& context);

/// After a record: makes the group that runs next the current one. False after a fault: none can
/// run, or the block ends while something is under way.
bool settle_groups(const Plan& plan, const PlanOp& record, Context& context);

}  // namespace tilevm::sim
