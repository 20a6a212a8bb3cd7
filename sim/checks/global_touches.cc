#include "sim/checks/global_touches.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "sim/access/global_access.h"
#include "sim/access/global_place.h"
#include "sim/checks/launch_shadow.h"
#include "sim/checks/redundancy.h"
#include "sim/checks/shared_races.h"
#include "sim/state/context.h"
#include "sim/tiles/offenders.h"

namespace tilevm::sim {
namespace {

constexpr std::size_t most_recent = 256;

bool same_view(const GlobalView& a, const GlobalView& b) {
  return a.buffer == b.buffer && a.rank == b.rank && a.extents == b.extents &&
         a.strides == b.strides && a.layout == b.layout;
}

/// Whether both are the same tile in the same place, so that each element belongs to one thread.
bool same_owners(const GlobalFootprint& a, const GlobalFootprint& b) {
  const GlobalAccess &x = *a.access, &y = *b.access;
  return a.use != GlobalUse::copy && b.use != GlobalUse::copy && x.parts == y.parts &&
         x.tile.bits == y.tile.bits && x.tile_dims == y.tile_dims && a.origin == b.origin &&
         x.parts->first_threads.size() == x.parts->threads && same_view(a.view, b.view);
}

/// Calls f(thread, granule) for all elements that exist until it returns false.
template <class F>
bool for_each_touch(const GlobalFootprint& footprint, const Context& context, F&& f) {
  const GlobalAccess& access = *footprint.access;
  Place place(access, footprint.view, context, footprint.origin);
  const unsigned shift = context.settings.global_granule_shift;
  for (std::size_t t = 0; t < access.tile.threads; ++t) {
    const std::size_t thread = footprint.use == GlobalUse::copy ? Touch::any_thread : t;
    for (std::size_t i = 0; i < access.tile.locals; ++i) {
      if (!place.locate(t, i) || !place.in_buffer()) continue;
      const std::uint64_t end = (place.bit() + access.tile.bits - 1) >> shift;
      for (std::uint64_t granule = place.bit() >> shift; granule <= end; ++granule) {
        if (!f(thread, granule)) return false;
      }
    }
  }
  return true;
}

void mark(BufferTouches& touches, const GlobalFootprint& footprint, const Context& context) {
  const std::uint32_t statement = footprint.access->statement;
  static_cast<void>(
      for_each_touch(footprint, context, [&](std::size_t thread, std::uint64_t granule) {
        if (touches.marks.size() >= max_marks) return false;
        Touch& touch = touches.marks[granule];
        writes(footprint.use) ? add_writer(touch, thread, statement)
                              : add_reader(touch, thread, statement);
        return true;
      }));
}

void mark_recent(BufferTouches& touches, const Context& context) {
  for (const GlobalFootprint& footprint : touches.recent) mark(touches, footprint, context);
  touches.recent.clear();
  touches.marking = true;
}

bool conflicts(const BufferTouches& touches, std::uint64_t granule, std::size_t thread,
               bool is_write) {
  const auto found = touches.marks.find(granule);
  return found != touches.marks.end() && races(found->second, thread, is_write);
}

/// Whether intervals alone show that nothing is in the way: nothing was touched there, or only by
/// the same tile.
bool is_apart(const BufferTouches& touches, const GlobalFootprint& footprint,
              const Pieces& pieces) {
  const bool meets =
      std::any_of(pieces.bits.begin(), pieces.bits.end(), [&](const Interval& interval) {
        return touches.written.meets(interval) ||
               (writes(footprint.use) && touches.read.meets(interval));
      });
  if (!meets) return true;
  return !pieces.overlap &&
         std::all_of(touches.recent.begin(), touches.recent.end(), [&](const auto& recent) {
           return same_owners(recent, footprint) || (!writes(recent.use) && !writes(footprint.use));
         });
}

void add(BufferTouches& touches, const GlobalFootprint& footprint, const Pieces& pieces) {
  IntervalSet& set = writes(footprint.use) ? touches.written : touches.read;
  for (const Interval& interval : pieces.bits) set.add(interval);
}

/// The elements that race, and with whom the first one does.
Offenders<Opponent> find_race(const GlobalFootprint& footprint, const Context& context) {
  const GlobalAccess& access = *footprint.access;
  const BufferTouches& touches =
      context.state.global.since_barrier[static_cast<std::size_t>(footprint.view.buffer)];
  Place place(access, footprint.view, context, footprint.origin);
  const unsigned shift = context.settings.global_granule_shift;
  return find_offenders(
      access.tile.threads, access.tile.locals,
      [&](std::size_t t, std::size_t i) -> std::optional<Offender<Opponent>> {
        const std::size_t thread = footprint.use == GlobalUse::copy ? Touch::any_thread : t;
        if (!place.locate(t, i) || !place.in_buffer()) return std::nullopt;
        const std::uint64_t granule = place.bit() >> shift;
        if (!conflicts(touches, granule, thread, writes(footprint.use))) return std::nullopt;
        return Offender<Opponent>{place.index(), opponent_of(touches.marks.at(granule), thread)};
      });
}

bool report_race(const GlobalFootprint& footprint, Context& context) {
  const GlobalAccess& access = *footprint.access;
  const auto found = find_race(footprint, context);
  const bool is_copy = footprint.use == GlobalUse::copy;
  context.fail(
      Code::race, access.span,
      fmt::format("`{}` races for {}, first {}: {} {} what thread {} {}, and no `Synchronize` "
                  "stands between",
                  access.mnemonic, elements_text(found.count, access.view_name),
                  element_text(access.view_name, found.first),
                  is_copy ? "any thread" : fmt::format("thread {}", found.thread),
                  writes(footprint.use) ? "writes" : "reads", found.detail.thread,
                  found.detail.wrote ? "wrote" : "read"));
  if (!is_copy) context.fault->thread = static_cast<std::int64_t>(found.thread);
  explain_opponent(found.detail, access.statement, context);
  return false;
}

/// Elements of one tile that share a place must be written by one thread.
bool check_overlap(const GlobalFootprint& footprint, Context& context) {
  std::unordered_map<std::uint64_t, std::size_t> writers;
  const GlobalAccess& access = *footprint.access;
  Place place(access, footprint.view, context, footprint.origin);
  for (const std::int32_t first : access.parts->first_threads) {
    const auto t = static_cast<std::size_t>(first);
    for (std::size_t i = 0; i < access.tile.locals; ++i) {
      if (!place.locate(t, i) || !place.in_buffer()) continue;
      const auto [writer, fresh] = writers.emplace(place.bit(), t);
      if (fresh || writer->second == t) continue;
      context.fail(Code::race, access.span,
                   fmt::format("`{}` writes different elements of the tile to the same place of "
                               "`{}`, from threads {} and {}, one of them {}; the strides of "
                               "a view that is written must keep elements apart",
                               access.mnemonic, access.view_name, writer->second, t,
                               element_text(access.view_name, place.index())));
      context.fault->thread = static_cast<std::int64_t>(t);
      return false;
    }
  }
  return true;
}

}  // namespace

void BufferTouches::clear() {
  read.clear();
  written.clear();
  recent.clear();
  marks.clear();
  marking = false;
}

bool meets_touches(BufferTouches& touches, const GlobalFootprint& footprint, const Pieces& pieces,
                   const Context& context) {
  const bool simple = !touches.marking && touches.recent.size() < most_recent &&
                      is_apart(touches, footprint, pieces);
  if (simple) {
    add(touches, footprint, pieces);
    const auto is_same = [&](const GlobalFootprint& recent) {
      return recent.use == footprint.use && same_owners(recent, footprint);
    };
    if (footprint.use != GlobalUse::copy &&
        std::none_of(touches.recent.begin(), touches.recent.end(), is_same)) {
      touches.recent.push_back(footprint);
    }
    return false;
  }
  mark_recent(touches, context);
  const bool clear =
      for_each_touch(footprint, context, [&](std::size_t thread, std::uint64_t granule) {
        return !conflicts(touches, granule, thread, writes(footprint.use));
      });
  if (!clear) return true;
  add(touches, footprint, pieces);
  if (footprint.use != GlobalUse::copy) mark(touches, footprint, context);
  return false;
}

bool check_global(const GlobalFootprint& footprint, const Pieces& pieces, Context& context) {
  const auto number = static_cast<std::size_t>(footprint.view.buffer);
  if (context.settings.observers.replay != nullptr) {
    return context.settings.observers.replay->touch(footprint, pieces, context);
  }
  BufferTouches& touches = context.state.global.since_barrier[number];
  if (context.settings.threads == 1) {
    add(touches, footprint, pieces);
  } else {
    if (writes(footprint.use) && pieces.overlap && !check_overlap(footprint, context)) return false;
    if (meets_touches(touches, footprint, pieces, context)) return report_race(footprint, context);
  }
  look_without(footprint, pieces, context);
  return true;
}

void forget_touches(GlobalTouches& touches) {
  for (std::size_t b = 0; b < touches.since_barrier.size(); ++b) {
    BufferTouches& since = touches.since_barrier[b];
    if (since.empty()) continue;
    GlobalTouches::Block& block = touches.block[b];
    if (block.read.empty() && block.written.empty()) {
      std::swap(block.read, since.read);
      std::swap(block.written, since.written);
    } else {
      block.read.add(since.read);
      block.written.add(since.written);
    }
    since.clear();
  }
}

void hand_on_touches(Context& context) {
  GlobalTouches& touches = context.state.global;
  TouchSink* shadow = context.settings.observers.shadow;
  for (std::size_t b = 0; b < touches.block.size(); ++b) {
    GlobalTouches::Block& block = touches.block[b];
    BufferTouches& since = touches.since_barrier[b];
    if (shadow != nullptr) {
      if (!block.read.empty() || !block.written.empty()) {
        shadow->note(b, context.state.order, block.read, block.written);
      }
      if (!since.empty()) shadow->note(b, context.state.order, since.read, since.written);
    }
    block.read.clear();
    block.written.clear();
    since.clear();
  }
}

}  // namespace tilevm::sim
