#include "sim/checks/cluster_checks.h"

#include <algorithm>

#include <fmt/format.h>

namespace tilevm::sim {
namespace {

GroupState& current(BlockState& state) { return state.groups[state.group]; }

SyncObject& cluster_barrier(Context& context) {
  return context.state.parties.object(context.settings.groups->cluster_barrier());
}

std::uint32_t block_threads(const Context& context) {
  return context.settings.groups->groups[context.state.group].threads.count;
}

bool is_known_to_block(const Segment& segment, const BlockState& state) {
  return state.parties.released(state.group).seen.is_after(segment);
}

bool report_ended(const RemoteUse& use, Context& context) {
  context.fail(Code::exit_in_flight, use.span,
               fmt::format("`{}` reaches the shared memory of block {} of the cluster, which may "
                           "have ended: nothing orders this before its end",
                           use.mnemonic, use.block));
  add_note(context.fault->diagnostic,
           "the shared memory of a block is gone when it has ended: insert `SynchronizeCluster()` "
           "at the end of the kernel, or let that block wait for what follows this line");
  return false;
}

}  // namespace

bool arrive_at_cluster(std::string_view mnemonic, Span span, Context& context) {
  BlockState& state = context.state;
  SyncObject& barrier = cluster_barrier(context);
  GroupState& block = current(state);
  if (block.at_cluster) {
    context.fail(Code::barrier_phase, span,
                 fmt::format("`{}` arrives at the barrier of the cluster again, and no "
                             "`WaitCluster` follows the arrival before",
                             mnemonic));
    add_note(context.fault->diagnostic, "the arrival before is here", block.at_cluster->span);
    return false;
  }
  const std::uint32_t threads = block_threads(context);
  barrier.left.join(state.parties.released(state.group));
  barrier.arrivals.push_back(
      {state.group, threads, span, state.parties.segment(state.group), false});
  state.parties.begin_segment(state.group);
  block.at_cluster = ClusterArrival{barrier.phase, span};
  barrier.pending -= threads;
  static_cast<void>(barrier.end_phase());
  return true;
}

bool wait_for_cluster(std::string_view mnemonic, Span span, Context& context) {
  BlockState& state = context.state;
  GroupState& block = current(state);
  if (!block.at_cluster) {
    context.fail(Code::barrier_phase, span,
                 fmt::format("`{}` waits for the barrier of the cluster, at which the block has "
                             "not arrived",
                             mnemonic));
    add_note(context.fault->diagnostic,
             "`ArriveCluster()` comes before it; `SynchronizeCluster()` is both");
    return false;
  }
  const SyncObject& barrier = cluster_barrier(context);
  const std::int64_t phase = block.at_cluster->phase;
  if (barrier.phase == phase) {
    block.wait = GroupWait{context.settings.groups->cluster_barrier(), phase, span};
    return true;
  }
  block.wait.reset();
  block.at_cluster.reset();
  if (const Knowledge* learned = barrier.learned(phase)) {
    state.parties.acquire(state.group, *learned);
  }
  state.parties.begin_segment(state.group);
  return true;
}

bool note_remote_use(std::uint32_t block, const RemoteUse& use, Context& context) {
  BlockState& state = context.state;
  const GroupsPlan& plan = *context.settings.groups;
  if (block == plan.block_of(state.group)) return true;
  RemoteUse now = use;
  now.block = block;
  if (state.groups[plan.group_of(block, 0)].status == GroupState::Status::absent) {
    return report_ended(now, context);
  }
  // Whoever knows the last one of a party knows those before.
  const auto known = std::ranges::find_if(state.remote_uses, [&](const RemoteUse& each) {
    return each.block == block && each.segment.party == now.segment.party;
  });
  known == state.remote_uses.end() ? state.remote_uses.push_back(now)
                                   : static_cast<void>(*known = now);
  return true;
}

bool end_member(Context& context) {
  BlockState& state = context.state;
  if (state.others.empty()) return true;
  for (const RemoteUse& use : state.remote_uses) {
    if (use.block != state.rank || is_known_to_block(use.segment, state)) continue;
    return report_ended(use, context);
  }
  SyncObject& barrier = cluster_barrier(context);
  const std::uint32_t threads = block_threads(context);
  const GroupState& block = current(state);
  const bool has_arrived = block.at_cluster && block.at_cluster->phase == barrier.phase;
  barrier.expected -= threads;
  if (!has_arrived) barrier.pending -= threads;
  if (barrier.expected > 0) static_cast<void>(barrier.end_phase());
  return true;
}

}  // namespace tilevm::sim
