#include "sim/checks/global_checks.h"

#include <optional>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "sim/access/global_access.h"
#include "sim/access/tile_in_view.h"
#include "sim/checks/block_races.h"
#include "sim/checks/equal_indices.h"
#include "sim/checks/global_races.h"
#include "sim/checks/group_global_races.h"
#include "sim/checks/redundancy.h"
#include "sim/checks/shared_races.h"
#include "sim/tiles/offenders.h"

namespace tilevm::sim {
namespace {

/// The elements that race, and the access that the first one conflicts with. Replicas of an element
/// count once.
Offenders<ConflictingAccess> find_race(const GlobalFootprint& footprint, const Context& context) {
  const GlobalAccess& access = *footprint.access;
  const BufferHistory& history =
      context.state.global.since_barrier[static_cast<std::size_t>(footprint.view.buffer)];
  TileInView cursor(access, footprint.view, context, footprint.origin);
  const unsigned shift = context.settings.global_granule_shift;
  std::unordered_set<std::uint64_t> elements;
  auto found = find_offenders(
      access.tile.threads, access.tile.locals,
      [&](std::size_t t, std::size_t i) -> std::optional<Offender<ConflictingAccess>> {
        const std::size_t thread = footprint.use == GlobalUse::copy ? AccessRecord::any_thread : t;
        if (!cursor.locate(t, i) || !cursor.in_buffer()) return std::nullopt;
        const std::uint64_t end = (cursor.bit() + access.tile.bits - 1) >> shift;
        std::uint64_t granule = cursor.bit() >> shift;
        while (granule <= end && !is_race(history, footprint, thread, granule, context)) ++granule;
        if (granule > end) return std::nullopt;
        elements.insert(cursor.bit());
        return Offender<ConflictingAccess>{
            cursor.index(),
            conflicting_access(history.marks.at(granule), thread, type_of(footprint))};
      });
  found.count = elements.size();
  return found;
}

bool report_race(const GlobalFootprint& footprint, Context& context) {
  const GlobalAccess& access = *footprint.access;
  const auto found = find_race(footprint, context);
  const bool is_copy = footprint.use == GlobalUse::copy;
  context.fail(
      Code::race, access.span,
      fmt::format("`{}` races for {}, first {}: {} {} what thread {} {}, with no `Synchronize` "
                  "in between",
                  access.mnemonic, elements_text(found.count, access.view_name),
                  element_text(access.view_name, found.first),
                  is_copy ? "any thread" : fmt::format("thread {}", found.thread),
                  verb(kind_of(footprint.use)), found.detail.thread, past_verb(found.detail.kind)));
  if (!is_copy) context.fault->thread = static_cast<std::int64_t>(found.thread);
  explain_combinations(type_of(footprint), {found.detail.kind, found.detail.combination}, context);
  explain_conflicting_access(found.detail, access.statement, context);
  return false;
}

/// Elements of one tile at the same address must be written by one thread.
bool check_overlap(const GlobalFootprint& footprint, Context& context) {
  struct Writer {
    isa::Index index;
    ElementPlace place;
  };
  std::unordered_map<std::uint64_t, Writer> writers;
  const GlobalAccess& access = *footprint.access;
  TileInView cursor(access, footprint.view, context, footprint.origin);
  for (const std::int32_t first : access.parts->first_threads) {
    const auto t = static_cast<std::size_t>(first);
    for (std::size_t i = 0; i < access.tile.locals; ++i) {
      if (!cursor.locate(t, i) || !cursor.in_buffer()) continue;
      const auto [writer, fresh] =
          writers.emplace(cursor.bit(), Writer{cursor.index(), ElementPlace{t, i}});
      const ElementPlace& first_place = writer->second.place;
      if (fresh || first_place.thread == t) continue;
      if (writer->second.index == cursor.index()) {
        return report_equal_indices(
            {access.mnemonic, access.span, *access.indexed, *access.parts, access.dtype},
            access.view_name, cursor.index(), first_place, {t, i}, context);
      }
      context.fail(Code::race, access.span,
                   fmt::format("`{}` writes different elements of the tile to the same place of "
                               "`{}`, from threads {} and {}, one of them {}; the strides of "
                               "a view that is written must keep elements apart",
                               access.mnemonic, access.view_name, first_place.thread, t,
                               element_text(access.view_name, cursor.index())));
      context.fault->thread = static_cast<std::int64_t>(t);
      return false;
    }
  }
  return true;
}

}  // namespace

bool check_global(const GlobalFootprint& footprint, const TouchedIntervals& pieces,
                  Context& context) {
  const auto number = static_cast<std::size_t>(footprint.view.buffer);
  if (context.settings.observers.replay != nullptr) {
    return context.settings.observers.replay->check(footprint, pieces, context);
  }
  BufferHistory& history = context.state.global.since_barrier[number];
  if (context.settings.has_parties()) {
    if (kind_of(footprint.use) == AccessKind::write && pieces.overlap &&
        !check_overlap(footprint, context)) {
      return false;
    }
    add_intervals(history, footprint, pieces);
    return check_group_global(footprint, pieces, context);
  }
  if (context.settings.threads == 1) {
    add_intervals(history, footprint, pieces);
  } else {
    if (kind_of(footprint.use) == AccessKind::write && pieces.overlap &&
        !check_overlap(footprint, context))
      return false;
    if (conflicts_with_history(history, footprint, pieces, context))
      return report_race(footprint, context);
  }
  check_without_barrier(footprint, pieces, context);
  return true;
}

}  // namespace tilevm::sim
