#include "sim/checks/redundancy.h"

#include <algorithm>
#include <utility>

#include "sim/access/global_place.h"
#include "sim/checks/granules.h"
#include "sim/exec/async_copy.h"

namespace tilevm::sim {
namespace {

/// More copies than this are not kept: then the barrier or wait is not called redundant.
constexpr std::size_t most_ghosts = 1024;

bool is_off(const Context& context) { return context.settings.observers.needed == nullptr; }

bool is_needed(std::uint32_t statement, const Context& context) {
  return context.settings.observers.needed[statement].load(std::memory_order_relaxed);
}

/// The run needs a barrier or a wait.
void need(std::uint32_t statement, Context& context) {
  Without& without = context.state.shared.without;
  context.settings.observers.needed[statement].store(true, std::memory_order_relaxed);
  if (without.barrier == statement) stop_imagining(context);
  std::erase_if(without.unwaited,
                [&](const GhostCopy& copy) { return copy.statement == statement; });
}

GhostCopy make_ghost(const PendingCopy& copy, std::uint32_t statement, Context& context) {
  GhostCopy ghost{copy.plan, copy.source, copy.source_origin, copy.group, statement, false, {}};
  const SharedAccess& destination = copy.plan->destination;
  static_cast<void>(for_each_granules(
      destination, find_runs(destination, context, copy.shared_origin), 0,
      context.settings.granule_shift, [&](std::uint64_t begin, std::uint64_t end) {
        ghost.granules.push_back({begin, end});
        return true;
      }));
  merge_intervals(ghost.granules);
  return ghost;
}

/// Whether sorted, disjoint intervals meet [begin, end).
bool meets(const std::vector<Interval>& intervals, std::uint64_t begin, std::uint64_t end) {
  const auto next = std::partition_point(intervals.begin(), intervals.end(),
                                         [&](const Interval& x) { return x.end <= begin; });
  return next != intervals.end() && next->begin < end;
}

bool fills(const GhostCopy& copy, const SharedAccess& access, const FoundTable& runs,
           const Context& context) {
  for (std::size_t t = 0; t < access.tile.threads; ++t) {
    const bool apart = for_each_granules(
        access, runs, t, context.settings.granule_shift,
        [&](std::uint64_t begin, std::uint64_t end) { return !meets(copy.granules, begin, end); });
    if (!apart) return true;
  }
  return false;
}

/// Whether a store writes what a copy reads.
bool reads(const GhostCopy& copy, const GlobalFootprint& footprint, const Pieces& pieces,
           const Context& context) {
  if (footprint.use != GlobalUse::store || copy.source.buffer != footprint.view.buffer) {
    return false;
  }
  const GlobalAccess& source = copy.plan->source;
  Place place(source, copy.source, context, copy.source_origin);
  for (std::size_t i = 0; i < source.tile.locals; ++i) {
    if (!place.locate(0, i) || !place.in_buffer()) continue;
    if (meets(pieces.bits, place.bit(), place.bit() + source.tile.bits)) return true;
  }
  return false;
}

/// Finds out whose absence would let a copy be in flight now; `uses` says whether this access would
/// meet it.
template <class F>
void look_at_copies(Context& context, F&& uses) {
  Without& without = context.state.shared.without;
  if (std::any_of(without.unseen.begin(), without.unseen.end(), uses)) {
    need(without.barrier, context);
  }
  for (std::size_t i = 0; i < without.unwaited.size();) {
    if (uses(without.unwaited[i])) {
      need(without.unwaited[i].statement, context);  // drops it, and others of that wait
      i = 0;
    } else {
      ++i;
    }
  }
}

}  // namespace

void stop_imagining(Context& context) {
  Without& without = context.state.shared.without;
  without.barrier = Without::none;
  without.unseen.clear();
  forget_touches(without.touches);
  for (BufferTouches& touches : context.state.global.without) touches.clear();
}

void imagine_without(std::uint32_t barrier, Context& context) {
  if (is_off(context)) return;
  Without& without = context.state.shared.without;
  std::erase_if(without.unwaited, [](const GhostCopy& copy) { return copy.covered; });
  if (is_needed(barrier, context)) return stop_imagining(context);
  if (without.barrier == barrier) return;  // nothing but this barrier ran since: go on gathering
  stop_imagining(context);
  without.barrier = barrier;
  std::swap(without.touches, context.state.shared.since_barrier);
  GlobalTouches& global = context.state.global;
  for (std::size_t b = 0; b < global.without.size(); ++b) {
    global.without[b] = global.since_barrier[b];
  }
}

void note_visible(const PendingCopy& copy, Context& context) {
  Without& without = context.state.shared.without;
  if (is_off(context) || without.barrier == Without::none) return;
  without.unseen.push_back(make_ghost(copy, without.barrier, context));
  if (without.unseen.size() > most_ghosts) need(without.barrier, context);
}

void note_retired(const PendingCopy& copy, std::uint32_t wait, Context& context) {
  if (is_off(context) || is_needed(wait, context)) return;
  auto& unwaited = context.state.shared.without.unwaited;
  unwaited.push_back(make_ghost(copy, wait, context));
  if (unwaited.size() > most_ghosts) need(wait, context);
}

void note_wait(std::uint64_t group, std::uint32_t wait, Context& context) {
  if (is_off(context)) return;
  for (GhostCopy& copy : context.state.shared.without.unwaited) {
    if (copy.statement != wait && copy.group <= group) copy.covered = true;
  }
}

void look_without(const SharedAccess& access, const Numbers& origin, SharedUse use,
                  Context& context) {
  if (is_off(context)) return;
  Without& without = context.state.shared.without;
  if (without.barrier != Without::none && context.settings.threads > 1 &&
      meets_touches(without.touches, access, origin, use, context)) {
    need(without.barrier, context);
  }
  if (without.unseen.empty() && without.unwaited.empty()) return;
  const FoundTable runs = find_runs(access, context, origin);
  look_at_copies(context,
                 [&](const GhostCopy& copy) { return fills(copy, access, runs, context); });
}

void look_without(const GlobalFootprint& footprint, const Pieces& pieces, Context& context) {
  if (is_off(context)) return;
  Without& without = context.state.shared.without;
  const auto buffer = static_cast<std::size_t>(footprint.view.buffer);
  if (without.barrier != Without::none && context.settings.threads > 1 &&
      meets_touches(context.state.global.without[buffer], footprint, pieces, context)) {
    need(without.barrier, context);
  }
  look_at_copies(context,
                 [&](const GhostCopy& copy) { return reads(copy, footprint, pieces, context); });
}

}  // namespace tilevm::sim
