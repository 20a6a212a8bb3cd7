#include "sim/checks/redundancy.h"

#include <algorithm>
#include <utility>

#include "sim/access/copy_plan.h"
#include "sim/access/tile_in_view.h"
#include "sim/checks/granules.h"

namespace tilevm::sim {
namespace {

/// With more copies than this, the barrier or wait counts as needed.
constexpr std::size_t most_counterfactuals = 1024;

bool is_off(const Context& context) { return context.settings.observers.needed == nullptr; }

bool is_needed(std::uint32_t statement, const Context& context) {
  return context.settings.observers.needed[statement].load(std::memory_order_relaxed);
}

/// Records that the run needs a barrier or wait, and drops its counterfactual history.
void mark_barrier_needed(std::uint32_t statement, Context& context) {
  Without& without = context.state.shared.without;
  context.settings.observers.needed[statement].store(true, std::memory_order_relaxed);
  if (without.barrier == statement) stop_counterfactuals(context);
  std::erase_if(without.unwaited,
                [&](const CounterfactualCopy& copy) { return copy.statement == statement; });
}

CounterfactualCopy make_counterfactual(const PendingCopy& copy, std::uint32_t statement,
                                       Context& context) {
  CounterfactualCopy counterfactual{
      copy.plan, copy.source, copy.source_origin, copy.group, statement, false, {}};
  const ResolvedAccess destination =
      resolve_at(copy.plan->destination, copy.shared_origin, context);
  static_cast<void>(for_each_granules(destination, 0, context.settings.granule_shift,
                                      [&](std::uint64_t begin, std::uint64_t end) {
                                        counterfactual.granules.push_back({begin, end});
                                        return true;
                                      }));
  merge_intervals(counterfactual.granules);
  return counterfactual;
}

/// Whether sorted, disjoint intervals meet [begin, end).
bool meets(const std::vector<Interval>& intervals, std::uint64_t begin, std::uint64_t end) {
  const auto next = std::partition_point(intervals.begin(), intervals.end(),
                                         [&](const Interval& x) { return x.end <= begin; });
  return next != intervals.end() && next->begin < end;
}

bool fills(const CounterfactualCopy& copy, const ResolvedAccess& resolved, const Context& context) {
  for (std::size_t t = 0; t < resolved.access->tile.threads; ++t) {
    const bool apart = for_each_granules(
        resolved, t, context.settings.granule_shift,
        [&](std::uint64_t begin, std::uint64_t end) { return !meets(copy.granules, begin, end); });
    if (!apart) return true;
  }
  return false;
}

/// Whether a store changes what a copy reads.
bool reads(const CounterfactualCopy& copy, const GlobalFootprint& footprint,
           const TouchedIntervals& pieces, const Context& context) {
  const bool stores = writes(footprint.use) && !orders_blocks(footprint.use);
  if (!stores || copy.source.buffer != footprint.view.buffer) {
    return false;
  }
  const GlobalAccess& source = copy.plan->source;
  TileInView cursor(source, copy.source, context, copy.source_origin);
  for (std::size_t i = 0; i < source.tile.locals; ++i) {
    if (!cursor.locate(0, i) || !cursor.in_buffer()) continue;
    if (meets(pieces.bits, cursor.bit(), cursor.bit() + source.tile.bits)) return true;
  }
  return false;
}

/// Marks each barrier or wait without which this access would meet a copy in flight; `uses` says
/// whether the access meets a copy.
template <class F>
void look_at_copies(Context& context, F&& uses) {
  Without& without = context.state.shared.without;
  if (std::any_of(without.unseen.begin(), without.unseen.end(), uses)) {
    mark_barrier_needed(without.barrier, context);
  }
  for (std::size_t i = 0; i < without.unwaited.size();) {
    if (uses(without.unwaited[i])) {
      mark_barrier_needed(without.unwaited[i].statement,
                          context);  // drops it, and others of that wait
      i = 0;
    } else {
      ++i;
    }
  }
}

}  // namespace

void stop_counterfactuals(Context& context) {
  Without& without = context.state.shared.without;
  without.barrier = Without::none;
  without.unseen.clear();
  forget_history(without.history);
  for (BufferHistory& history : context.state.global.without) history.clear();
}

void end_counterfactuals(Context& context) {
  stop_counterfactuals(context);
  if (is_off(context)) return;
  auto& unwaited = context.state.shared.without.unwaited;
  std::erase_if(unwaited, [](const CounterfactualCopy& copy) { return copy.covered; });
  while (true) {
    const auto read = std::find_if(unwaited.begin(), unwaited.end(), [&](const auto& copy) {
      return context.settings.tracks(copy.source.buffer);
    });
    if (read == unwaited.end()) return;
    mark_barrier_needed(read->statement, context);  // drops its copies
  }
}

void begin_without_barrier(std::uint32_t barrier, Context& context) {
  if (is_off(context)) return;
  Without& without = context.state.shared.without;
  std::erase_if(without.unwaited, [](const CounterfactualCopy& copy) { return copy.covered; });
  if (is_needed(barrier, context)) return stop_counterfactuals(context);
  if (without.barrier == barrier) return;  // no other barrier ran since: keep collecting
  stop_counterfactuals(context);
  without.barrier = barrier;
  std::swap(without.history, context.state.shared.since_barrier);
  GlobalHistory& global = context.state.global;
  for (std::size_t b = 0; b < global.without.size(); ++b) {
    global.without[b] = global.since_barrier[b];
  }
}

void note_visible(const PendingCopy& copy, Context& context) {
  Without& without = context.state.shared.without;
  if (is_off(context) || without.barrier == Without::none) return;
  without.unseen.push_back(make_counterfactual(copy, without.barrier, context));
  if (without.unseen.size() > most_counterfactuals) mark_barrier_needed(without.barrier, context);
}

void note_retired(const PendingCopy& copy, std::uint32_t wait, Context& context) {
  if (is_off(context) || is_needed(wait, context)) return;
  auto& unwaited = context.state.shared.without.unwaited;
  unwaited.push_back(make_counterfactual(copy, wait, context));
  if (unwaited.size() > most_counterfactuals) mark_barrier_needed(wait, context);
}

void note_wait(std::uint64_t group, std::uint32_t wait, Context& context) {
  if (is_off(context)) return;
  for (CounterfactualCopy& copy : context.state.shared.without.unwaited) {
    if (copy.statement != wait && copy.group <= group) copy.covered = true;
  }
}

void check_without_barrier(const ResolvedAccess& resolved, SharedUse use, Context& context) {
  if (is_off(context)) return;
  Without& without = context.state.shared.without;
  if (without.barrier != Without::none && context.settings.threads > 1 &&
      conflicts_with_history(without.history, resolved, use, context)) {
    mark_barrier_needed(without.barrier, context);
  }
  if (without.unseen.empty() && without.unwaited.empty()) return;
  look_at_copies(context,
                 [&](const CounterfactualCopy& copy) { return fills(copy, resolved, context); });
}

void check_without_barrier(const GlobalFootprint& footprint, const TouchedIntervals& pieces,
                           Context& context) {
  if (is_off(context)) return;
  Without& without = context.state.shared.without;
  const auto buffer = static_cast<std::size_t>(footprint.view.buffer);
  if (without.barrier != Without::none && context.settings.threads > 1 &&
      conflicts_with_history(context.state.global.without[buffer], footprint, pieces, context)) {
    mark_barrier_needed(without.barrier, context);
  }
  look_at_copies(context, [&](const CounterfactualCopy& copy) {
    return reads(copy, footprint, pieces, context);
  });
}

}  // namespace tilevm::sim
