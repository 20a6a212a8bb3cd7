#include "sim/exec/async_copy.h"

#include <algorithm>
#include <utility>

#include "sim/checks/granules.h"
#include "sim/checks/group_races.h"
#include "sim/checks/padding.h"
#include "sim/checks/redundancy.h"
#include "sim/checks/shared_checks.h"
#include "sim/checks/shared_races.h"
#include "sim/exec/global_moves.h"
#include "sim/shadow/shadow_access.h"
#include "sim/state/random_draw.h"

namespace tilevm::sim {
namespace {

/// Limits of pending data. They are only reached if in_flight is not checked, since a checked copy
/// owns its bytes. At a limit the pending copies arrive, as they may at any time.
constexpr std::size_t max_pending_bytes = std::size_t{1} << 24;
constexpr std::size_t max_pending_copies = std::size_t{1} << 20;

/// The data of a copy reaches shared memory.
void arrive(PendingCopy& copy, Context& context) {
  if (copy.arrived) return;
  fill_shared(copy, context);
  context.state.shared.pending_bytes -= copy.data.size();
  copy.data.clear();
  copy.shadow.clear();
  copy.arrived = true;
}

void limit_pending(Context& context) {
  SharedMemory& shared = context.state.shared;
  if (!shared.in_flight.empty()) return;
  while (!shared.copies.empty() &&
         (shared.pending_bytes > max_pending_bytes || shared.copies.size() > max_pending_copies)) {
    for (PendingCopy& copy : shared.copies) arrive(copy, context);
    shared.copies.clear();
  }
}

}  // namespace

Tile data_tile(const LayoutParts& parts, unsigned bits) {
  Tile tile;
  tile.threads = 1;
  tile.locals = parts.locals;
  tile.bits = bits;
  tile.thread_bytes = (parts.locals * bits + 7) / 8;
  return tile;
}

void fill_shared(PendingCopy& copy, Context& context) {
  const SharedAccess& destination = copy.plan->destination;
  SharedMemory& shared = context.state.shared;
  const ResolvedAccess to = resolve_at(destination, copy.shared_origin, context);
  write_shared(to, copy.data.data(), shared.bytes.data());
  if (context.settings.checks.padding) {
    arrive_padding(copy, to, context);
  } else if (may_be_undefined(destination, shared)) {
    define_shared(to, shared);
  }
  if (context.state.shadow.kept) store_shadow(to, copy.shadow, context);
}

bool issue_copy(const CopyPlan& plan, Context& context) {
  PendingCopy copy;
  copy.plan = &plan;
  ResolvedAccess destination;
  if (!resolve(plan.destination, context, destination)) return false;
  if (!load_for_copy(plan.source, context, copy)) return false;
  copy.source = context.state.views[plan.source.view];
  if (!check_copy(destination, context)) return false;
  const GranuleRange range = granules_of(destination, context);
  copy.shared_origin = destination.origin;
  copy.low = range.begin;
  copy.high = range.end;
  context.state.shared.pending_bytes += copy.data.size();
  context.state.shared.copies.push_back(std::move(copy));
  switch (context.settings.completion.time) {
    case Completion::Time::earliest:
      arrive(context.state.shared.copies.back(), context);
      break;
    case Completion::Time::latest:
    case Completion::Time::random:
      break;
  }
  limit_pending(context);
  return true;
}

void commit_copies(SharedMemory& shared) {
  ++shared.groups;
  for (PendingCopy& copy : shared.copies) {
    if (copy.stage != PendingCopy::Stage::issued) continue;
    copy.stage = PendingCopy::Stage::committed;
    copy.group = shared.groups;
  }
}

void wait_for_copies(std::uint64_t pending, Span span, std::uint32_t number, Context& context) {
  SharedMemory& shared = context.state.shared;
  shared.last_wait = {span, pending, shared.groups};
  if (shared.groups < pending) return;
  const std::uint64_t last = shared.groups - pending;
  note_wait(last, number, context);
  for (PendingCopy& copy : shared.copies) {
    if (copy.stage != PendingCopy::Stage::committed || copy.group > last) continue;
    note_retired(copy, number, context);
    arrive(copy, context);
    copy.stage = PendingCopy::Stage::retired;
  }
  if (!context.settings.has_parties()) return;
  // Each thread knows that its own copies are complete; what it tells others is up to barriers.
  BlockState& state = context.state;
  state.parties.complete_own(state.group, copy_chain(state), static_cast<std::uint32_t>(last));
  std::erase_if(shared.copies,
                [](const PendingCopy& copy) { return copy.stage == PendingCopy::Stage::retired; });
}

void let_copies_arrive(Context& context) {
  for (PendingCopy& copy : context.state.shared.copies) {
    if (!copy.arrived && next_random(context) % 2 == 0) arrive(copy, context);
  }
}

void synchronize(std::uint32_t number, Context& context) {
  if (!context.settings.has_parties()) begin_without_barrier(number, context);
  complete_barrier(context);
}

void complete_barrier(Context& context) {
  if (context.settings.has_parties()) {
    context.state.parties.synchronize(context.state.group);
    if (!context.settings.checks.padding) update_unwritten(context.state.shared);
    const GroupsPlan& groups = *context.settings.groups;
    if (context.state.group % groups.block_groups == 0) forget_history(context.state.global);
    return;
  }
  SharedMemory& shared = context.state.shared;
  forget_history(shared.since_barrier);
  forget_history(context.state.global);
  if (!context.settings.checks.padding) update_unwritten(shared);
  std::erase_if(shared.copies, [&](const PendingCopy& copy) {
    if (copy.stage != PendingCopy::Stage::retired) return false;
    end_flight(copy, context);
    note_visible(copy, context);
    return true;
  });
}

}  // namespace tilevm::sim
