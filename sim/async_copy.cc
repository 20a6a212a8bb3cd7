#include "sim/async_copy.h"

#include <algorithm>
#include <utility>

#include "sim/granules.h"
#include "sim/shared_checks.h"
#include "sim/shared_races.h"

namespace tilevm::sim {
namespace {

/// More data than this only gathers if in_flight is not checked (a checked copy owns its bytes):
/// then the oldest copies arrive, which they may at any time.
constexpr std::size_t max_pending_bytes = std::size_t{1} << 24;
constexpr std::size_t max_pending_copies = std::size_t{1} << 20;

/// The data reaches shared memory.
void arrive(PendingCopy& copy, Context& context) {
  const SharedAccess& destination = copy.plan->destination;
  SharedMemory& shared = context.state.shared;
  write_shared(find_runs(destination, context, copy.shared_origin), destination, copy.data.data(),
               shared);
  shared.pending_bytes -= copy.data.size();
  copy.data.clear();
  copy.stage = PendingCopy::Stage::retired;
}

void limit_pending(Context& context) {
  SharedMemory& shared = context.state.shared;
  if (!shared.in_flight.empty()) return;
  while (!shared.copies.empty() &&
         (shared.pending_bytes > max_pending_bytes || shared.copies.size() > max_pending_copies)) {
    for (PendingCopy& copy : shared.copies) {
      if (copy.stage != PendingCopy::Stage::retired) arrive(copy, context);
    }
    shared.copies.clear();
  }
}

}  // namespace

bool issue_copy(const CopyPlan& plan, Context& context) {
  PendingCopy copy;
  copy.plan = &plan;
  if (!find_shared_origin(plan.destination, context, copy.shared_origin)) return false;
  copy.data.resize(plan.source.tile.bytes());
  if (!load_to(plan.source, context, copy.data.data(), &copy.source_origin)) return false;
  copy.source = context.state.views[plan.source.view];
  if (!check_copy(plan.destination, copy.shared_origin, context)) return false;
  const GranuleRange range =
      granules_of(find_runs(plan.destination, context, copy.shared_origin), context);
  copy.low = range.begin;
  copy.high = range.end;
  context.state.shared.pending_bytes += copy.data.size();
  context.state.shared.copies.push_back(std::move(copy));
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

void wait_for_copies(std::uint64_t pending, Span span, Context& context) {
  SharedMemory& shared = context.state.shared;
  shared.last_wait = {span, pending, shared.groups};
  if (shared.groups < pending) return;
  for (PendingCopy& copy : shared.copies) {
    const bool waited_for =
        copy.stage == PendingCopy::Stage::committed && copy.group <= shared.groups - pending;
    if (waited_for) arrive(copy, context);
  }
}

void synchronize(Context& context) {
  SharedMemory& shared = context.state.shared;
  forget_touches(shared);
  std::erase_if(shared.copies, [&](const PendingCopy& copy) {
    if (copy.stage != PendingCopy::Stage::retired) return false;
    end_flight(copy, context);
    return true;
  });
}

}  // namespace tilevm::sim
