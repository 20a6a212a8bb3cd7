#include "sim/checks/global_races.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "sim/access/global_access.h"
#include "sim/access/tile_in_view.h"
#include "sim/state/context.h"

namespace tilevm::sim {
namespace {

constexpr std::size_t most_recent = 256;

bool same_view(const GlobalView& a, const GlobalView& b) {
  return a.buffer == b.buffer && a.rank == b.rank && a.extents == b.extents &&
         a.strides == b.strides && a.layout == b.layout;
}

/// Whether both are the same tile at the same origin, so that one thread holds each element.
bool same_owners(const GlobalFootprint& a, const GlobalFootprint& b) {
  const GlobalAccess &x = *a.access, &y = *b.access;
  return a.use != GlobalUse::copy && b.use != GlobalUse::copy && x.parts == y.parts &&
         x.tile.bits == y.tile.bits && x.tile_dims == y.tile_dims && a.origin == b.origin &&
         x.parts->first_threads.size() == x.parts->threads && same_view(a.view, b.view);
}

bool conflict_by_combination(const GlobalFootprint& a, const GlobalFootprint& b) {
  return a.access->combination != b.access->combination;
}

/// Calls f(thread, granule) for the elements inside view and buffer until f returns false.
template <class F>
bool for_each_granule(const GlobalFootprint& footprint, const Context& context, F&& f) {
  const GlobalAccess& access = *footprint.access;
  TileInView cursor(access, footprint.view, context, footprint.origin);
  const unsigned shift = context.settings.global_granule_shift;
  for (std::size_t t = 0; t < access.tile.threads; ++t) {
    const std::size_t thread = footprint.use == GlobalUse::copy ? AccessRecord::any_thread : t;
    for (std::size_t i = 0; i < access.tile.locals; ++i) {
      if (!cursor.locate(t, i) || !cursor.in_buffer()) continue;
      const std::uint64_t end = (cursor.bit() + access.tile.bits - 1) >> shift;
      for (std::uint64_t granule = cursor.bit() >> shift; granule <= end; ++granule) {
        if (!f(thread, granule)) return false;
      }
    }
  }
  return true;
}

void mark(BufferHistory& history, const GlobalFootprint& footprint, const Context& context) {
  const std::uint32_t statement = footprint.access->statement;
  static_cast<void>(
      for_each_granule(footprint, context, [&](std::size_t thread, std::uint64_t granule) {
        if (history.marks.size() >= max_marks) return false;
        AccessRecord& record = history.marks[granule];
        add_access(record, thread, statement, type_of(footprint));
        return true;
      }));
}

void mark_recent(BufferHistory& history, const Context& context) {
  for (const GlobalFootprint& footprint : history.recent) mark(history, footprint, context);
  history.recent.clear();
  history.marking = true;
}

/// Keeps a store of replicas, so that each thread may load back what it stored itself.
void keep_replicated(BufferHistory& history, const GlobalFootprint& footprint) {
  const LayoutParts& parts = *footprint.access->parts;
  if (footprint.use != GlobalUse::store || parts.first_threads.size() == parts.threads) return;
  constexpr std::size_t most_replicated = 1024;
  if (history.replicated.size() < most_replicated) history.replicated.push_back(footprint);
}

/// Whether a thread has itself stored a granule in one of the stores of replicas. All of them store
/// the same bits.
bool reads_own(const BufferHistory& history, std::size_t thread, std::uint64_t granule,
               const Context& context) {
  const unsigned shift = context.settings.global_granule_shift;
  return std::any_of(history.replicated.begin(), history.replicated.end(), [&](const auto& store) {
    const GlobalAccess& access = *store.access;
    TileInView cursor(access, store.view, context, store.origin);
    for (std::size_t i = 0; i < access.tile.locals; ++i) {
      if (!cursor.locate(thread, i) || !cursor.in_buffer()) continue;
      const std::uint64_t last = (cursor.bit() + access.tile.bits - 1) >> shift;
      if (cursor.bit() >> shift <= granule && granule <= last) return true;
    }
    return false;
  });
}

/// Whether intervals alone rule out a race: no conflicting access met them, or only accesses of the
/// same tile did.
bool is_apart(const BufferHistory& history, const GlobalFootprint& footprint,
              const TouchedIntervals& pieces) {
  const AccessType type = type_of(footprint);
  const TouchedBits& touched = history.touched;
  const auto meets_combined = [&](const Interval& interval) {
    return std::any_of(touched.combined.begin(), touched.combined.end(), [&](const auto& each) {
      return conflict(type, each.type()) && each.bits.meets(interval);
    });
  };
  const bool meets =
      std::any_of(pieces.bits.begin(), pieces.bits.end(), [&](const Interval& interval) {
        return touched.written.meets(interval) ||
               (conflict(type.kind, AccessKind::read) && touched.read.meets(interval)) ||
               meets_combined(interval);
      });
  if (!meets) return true;
  return !pieces.overlap &&
         std::all_of(history.recent.begin(), history.recent.end(), [&](const auto& recent) {
           return same_owners(recent, footprint) || !conflict(type_of(recent), type);
         });
}

}  // namespace

bool is_race(const BufferHistory& history, const GlobalFootprint& footprint, std::size_t thread,
             std::uint64_t granule, const Context& context) {
  const auto found = history.marks.find(granule);
  if (found == history.marks.end() || !races(found->second, thread, type_of(footprint))) {
    return false;
  }
  return footprint.use != GlobalUse::load || history.replicated.empty() ||
         !reads_own(history, thread, granule, context);
}

void add_intervals(BufferHistory& history, const GlobalFootprint& footprint,
                   const TouchedIntervals& pieces) {
  IntervalSet& set = history.touched.of(type_of(footprint));
  for (const Interval& interval : pieces.bits) set.add(interval);
}

bool conflicts_with_history(BufferHistory& history, const GlobalFootprint& footprint,
                            const TouchedIntervals& pieces, const Context& context) {
  const bool simple = !history.marking && history.recent.size() < most_recent &&
                      is_apart(history, footprint, pieces);
  if (simple) {
    add_intervals(history, footprint, pieces);
    keep_replicated(history, footprint);
    const auto is_same = [&](const GlobalFootprint& recent) {
      return recent.use == footprint.use && !conflict_by_combination(recent, footprint) &&
             same_owners(recent, footprint);
    };
    if (footprint.use != GlobalUse::copy &&
        std::none_of(history.recent.begin(), history.recent.end(), is_same)) {
      history.recent.push_back(footprint);
    }
    return false;
  }
  mark_recent(history, context);
  const bool clear =
      for_each_granule(footprint, context, [&](std::size_t thread, std::uint64_t granule) {
        return !is_race(history, footprint, thread, granule, context);
      });
  if (!clear) return true;
  add_intervals(history, footprint, pieces);
  keep_replicated(history, footprint);
  if (footprint.use != GlobalUse::copy) mark(history, footprint, context);
  return false;
}

void forget_history(GlobalHistory& history) {
  for (std::size_t b = 0; b < history.since_barrier.size(); ++b) {
    BufferHistory& since = history.since_barrier[b];
    if (since.empty()) continue;
    TouchedBits& block = history.block[b];
    block.empty() ? std::swap(block, since.touched) : block.add(since.touched);
    since.clear();
  }
}

void publish_accesses(Context& context) {
  GlobalHistory& history = context.state.global;
  AccessSink* sink = context.settings.observers.block_races;
  for (std::size_t b = 0; b < history.block.size(); ++b) {
    TouchedBits& block = history.block[b];
    BufferHistory& since = history.since_barrier[b];
    if (sink != nullptr) {
      if (!block.empty()) sink->note(b, context.state.order, block);
      if (!since.empty()) sink->note(b, context.state.order, since.touched);
    }
    block.clear();
    since.clear();
  }
}

}  // namespace tilevm::sim
