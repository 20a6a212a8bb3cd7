#include "sim/launch/group_scheduler.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "sim/access/copy_plan.h"
#include "sim/checks/cluster_checks.h"
#include "sim/checks/group_barriers.h"
#include "sim/checks/product_checks.h"
#include "sim/launch/group_deadlock.h"
#include "sim/state/cluster.h"

namespace tilevm::sim {
namespace {

GroupState& current(BlockState& state) { return state.groups[state.group]; }

/// Makes another group the current one.
void switch_to(std::uint16_t group, const Context& context) {
  BlockState& state = context.state;
  if (group == state.group) return;
  const auto exchange = [&](GroupState& other) {
    std::swap(state.next, other.next);
    std::swap(state.scalars, other.scalars);
    state.shared.exchange(other.copies);
    state.products.exchange(other.products);
  };
  exchange(current(state));
  enter_block(context.settings.groups->block_of(group), state);
  state.group = group;
  exchange(current(state));
}

bool can_run(const GroupState& group, const BlockState& state) {
  if (group.status != GroupState::Status::running) return false;
  return !group.wait || state.parties.object(group.wait->object).phase > group.wait->phase;
}

std::uint64_t mixed(std::uint64_t seed, std::uint64_t step) {
  std::uint64_t x = (seed + 1) * 0x9e3779b97f4a7c15U + step * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 30)) * 0x94d049bb133111ebU;
  return x ^ (x >> 29);
}

/// A group that can run; nothing if there is none.
std::optional<std::uint16_t> choose(const GroupSchedule& schedule, bool may_leave,
                                    const BlockState& state) {
  const bool goes_on = can_run(state.groups[state.group], state);
  if (goes_on && (!may_leave || schedule.kind != GroupSchedule::Kind::random)) return state.group;
  std::vector<std::uint16_t> able;
  for (std::size_t i = 0; i < state.groups.size(); ++i) {
    if (can_run(state.groups[i], state)) able.push_back(static_cast<std::uint16_t>(i));
  }
  if (able.empty()) return std::nullopt;
  switch (schedule.kind) {
    case GroupSchedule::Kind::first:
      return able.front();
    case GroupSchedule::Kind::last:
      return able.back();
    case GroupSchedule::Kind::random:
      return able[mixed(schedule.seed + state.order, state.steps) % able.size()];
  }
  TILEVM_NO_ENUMERATOR();
}

/// Completes what is under way until a group can run; false if there is nothing to complete, or
/// after a fault.
bool complete_one(Context& context) {
  auto& under_way = context.state.under_way;
  const auto first = std::find_if(under_way.begin(), under_way.end(),
                                  [](const AsyncOperation& each) { return each.object; });
  return first != under_way.end() &&
         complete_operation(static_cast<std::size_t>(first - under_way.begin()), context);
}

/// Whether the current group is a block that is at its end.
bool is_at_end(const Plan& plan, const BlockState& state) {
  return state.group % plan.groups.block_groups == 0 && state.next >= plan.records.size() &&
         state.groups[state.group].status == GroupState::Status::running;
}

/// Whether all blocks have ended. A block's group is the first of its groups.
bool have_all_ended(const Plan& plan, const BlockState& state) {
  for (std::size_t i = 0; i < state.groups.size(); i += plan.groups.block_groups) {
    if (state.groups[i].status != GroupState::Status::absent) return false;
  }
  return true;
}

/// The current group, a block, ends; false after a fault.
bool end_block(const Plan& plan, Span span, Context& context) {
  if (!check_all_retired(context)) return false;
  current(context.state).status = GroupState::Status::absent;
  if (!end_member(context)) return false;
  return check_exit(span, have_all_ended(plan, context.state), context);
}

/// Copies of the current group that nothing has waited for.
const PendingCopy* unwaited(const BlockState& state) {
  const auto& copies = state.shared.copies;
  return copies.empty() ? nullptr : &copies.front();
}

}  // namespace

void start_groups(const Plan& plan, BlockState& state) {
  state.groups.clear();
  state.accesses.clear();
  state.under_way.clear();
  state.accesses_to_prune = 0;
  state.global_accesses.clear();
  state.global_to_prune = 0;
  state.begun.reset();
  state.overtaken.reset();
  state.group = 0;
  state.parties = {};
  if (!plan.groups.active) return;
  state.groups.resize(plan.groups.groups.size());
  state.remote_uses.clear();
  for (std::size_t i = 0; i < state.groups.size(); i += plan.groups.block_groups) {
    state.groups[i].status = GroupState::Status::running;
    if (i > 0) state.groups[i].scalars = state.scalars;
  }
  state.parties = GroupOrder(state.order, plan.groups.threads(), plan.groups.objects.size());
  if (plan.groups.objects.size() > plan.groups.cluster_barrier()) {
    SyncObject& barrier = state.parties.object(plan.groups.cluster_barrier());
    barrier.expected = barrier.pending = plan.groups.objects.back().arrivals;
  }
}

void begin_groups(const PlanOp& fork, Context& context) {
  BlockState& state = context.state;
  GroupState& outer = current(state);
  outer.status = GroupState::Status::forked;
  outer.children = static_cast<std::uint32_t>(fork.groups.size());
  state.next = fork.target;
  const GroupsPlan& plan = *context.settings.groups;
  for (const PlanOp::Begin& begin : fork.groups) {
    const auto number = static_cast<std::uint16_t>(plan.group_of(state.rank, begin.group));
    GroupState& inner = state.groups[number];
    inner.status = GroupState::Status::running;
    inner.next = begin.record;
    inner.scalars = state.scalars;
    inner.wait.reset();
    state.parties.fork(state.group, number);
  }
  state.parties.begin_segment(state.group);
}

bool end_group(const PlanOp& end, Context& context) {
  BlockState& state = context.state;
  const PlannedGroup& group = context.settings.groups->groups[state.group];
  if (const PendingCopy* copy = unwaited(state)) {
    context.fail(
        Code::exit_in_flight, end.span,
        fmt::format("{} {} while a copy is under way", group.name, group.verb("ends", "end")));
    add_note(context.fault->diagnostic, "this copy was begun here", copy->plan->destination.span);
    add_note(context.fault->diagnostic,
             "commit and wait in the group that copies: `CopyAsyncCommitGroup()`, "
             "`CopyAsyncWaitGroup(0)`");
    return false;
  }
  if (!check_all_retired(context)) return false;
  const std::int32_t parent = group.parent;
  const std::uint16_t ended = state.group;
  current(state).status = GroupState::Status::absent;
  state.parties.join(static_cast<std::uint16_t>(parent), ended);
  GroupState& outer = state.groups[static_cast<std::size_t>(parent)];
  if (--outer.children == 0) outer.status = GroupState::Status::running;
  return true;
}

bool settle_groups(const Plan& plan, const PlanOp& record, Context& context) {
  BlockState& state = context.state;
  while (true) {
    if (is_at_end(plan, state)) {
      if (!end_block(plan, record.span, context)) return false;
      if (have_all_ended(plan, state)) return true;
    }
    const bool may_leave = record.orders_groups;
    auto next = choose(context.settings.group_schedule, may_leave, state);
    while (!next) {
      if (!complete_one(context)) {
        if (!context.fault) report_group_deadlock(context);
        return false;
      }
      next = choose(context.settings.group_schedule, may_leave, state);
    }
    switch_to(*next, context);
    if (!is_at_end(plan, state)) return true;
  }
}

}  // namespace tilevm::sim
