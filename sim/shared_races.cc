#include "sim/shared_races.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

#include "isa/base/check.h"
#include "sim/granules.h"

namespace tilevm::sim {
namespace {

/// The party of a touch that is not `thread`, if there is one.
std::optional<std::size_t> other_than(const std::array<std::uint16_t, 2>& parties,
                                      std::size_t thread) {
  for (std::size_t i = 0; i < parties.size(); ++i) {
    if (parties[i] != Touch::nobody && parties[i] != thread) return i;
  }
  return std::nullopt;
}

bool conflicts(const Touch& touch, std::uint32_t epoch, std::size_t thread, bool writes) {
  if (touch.epoch != epoch) return false;
  return other_than(touch.writers, thread) || (writes && other_than(touch.readers, thread));
}

/// A thread that is none of the block's: for copies, which any thread may make.
constexpr std::size_t any_thread = Touch::nobody - 1;

/// Tells of the first conflict: who, with whom, and where both stand.
bool report_race(const SharedAccess& access, const Numbers& origin, bool writes, bool is_copy,
                 Context& context) {
  const SharedMemory& shared = context.state.shared;
  const auto thread_of = [&](std::size_t t) { return is_copy ? any_thread : t; };
  const Found found = find_elements(
      access, origin, context.settings.granule_shift, [&](std::size_t t, std::uint64_t granule) {
        return conflicts(shared.touches[granule], shared.epoch, thread_of(t), writes);
      });
  const Touch& touch = shared.touches[found.granule];
  const std::size_t thread = thread_of(found.thread);
  const auto writer = other_than(touch.writers, thread);
  const std::size_t reader = writer ? 0 : other_than(touch.readers, thread).value_or(0);
  const unsigned other = writer ? touch.writers[*writer] : touch.readers[reader];
  const std::uint32_t statement = writer ? touch.writing : touch.reading[reader];
  const std::string who = is_copy ? "any thread" : fmt::format("thread {}", found.thread);
  context.fail(Code::race, access.span,
               fmt::format("`{}` races for {}, {}: {} {} what thread {} {}, and no `Synchronize` "
                           "stands between",
                           access.mnemonic, elements(found, access.tensor),
                           first_element(found, access.tensor), who, writes ? "writes" : "reads",
                           other, writer ? "wrote" : "read"));
  if (!is_copy) context.fault->thread = static_cast<std::int64_t>(found.thread);
  const SharedStatement& partner = (*context.settings.shared_statements)[statement];
  add_note(context.fault->diagnostic,
           fmt::format("`{}` {} them here{}", partner.mnemonic, writer ? "wrote" : "read",
                       statement == access.statement ? ", when it ran before" : ""),
           partner.span);
  add_note(context.fault->diagnostic, "insert `Synchronize()` between the two");
  return false;
}

/// Two elements of one tile lie in the same place and are written by different threads.
bool report_overlap(const SharedAccess& access, std::size_t thread, unsigned other,
                    Context& context) {
  context.fail(Code::race, access.span,
               fmt::format("`{}` writes different elements of the tile to the same bytes of `{}`, "
                           "from threads {} and {}; the layout of `{}` must keep them apart",
                           access.mnemonic, access.tensor, other, thread, access.tensor));
  context.fault->thread = static_cast<std::int64_t>(thread);
  return false;
}

/// The touch of a granule, empty if it is from before the last barrier.
Touch& current(Touch& touch, std::uint32_t epoch) {
  if (touch.epoch != epoch) {
    touch = Touch{};
    touch.epoch = epoch;
  }
  return touch;
}

/// Adds a thread to the parties; the place it took, if it is new there.
std::optional<std::size_t> add_party(std::array<std::uint16_t, 2>& parties, std::uint16_t thread) {
  if (parties[0] == thread || parties[1] == thread) return std::nullopt;
  for (std::size_t i = 0; i < parties.size(); ++i) {
    if (parties[i] != Touch::nobody) continue;
    parties[i] = thread;
    return i;
  }
  return std::nullopt;
}

/// Whether a write of the tile meets what another thread has touched.
bool has_conflict(const SharedAccess& access, const FoundTable& runs, bool is_copy,
                  const Context& context) {
  const SharedMemory& shared = context.state.shared;
  for (std::size_t t = 0; t < access.tile.threads; ++t) {
    const std::size_t thread = is_copy ? any_thread : t;
    const bool clear =
        for_each_granules(access, runs, t, context.settings.granule_shift,
                          [&](std::uint64_t begin, std::uint64_t end) {
                            for (; begin < end; ++begin) {
                              if (conflicts(shared.touches[begin], shared.epoch, thread, true))
                                return false;
                            }
                            return true;
                          });
    if (!clear) return true;
  }
  return false;
}

/// Marks what all threads read; false if another thread wrote some of it.
bool mark_reads(const SharedAccess& access, const FoundTable& runs, Context& context) {
  SharedMemory& shared = context.state.shared;
  for (std::size_t t = 0; t < access.tile.threads; ++t) {
    const auto thread = static_cast<std::uint16_t>(t);
    const auto mark = [&](std::uint64_t begin, std::uint64_t end) {
      for (; begin < end; ++begin) {
        Touch& touch = current(shared.touches[begin], shared.epoch);
        if (other_than(touch.writers, t)) return false;
        const auto place = add_party(touch.readers, thread);
        if (place) touch.reading[*place] = access.statement;
      }
      return true;
    };
    if (!for_each_granules(access, runs, t, context.settings.granule_shift, mark)) return false;
  }
  return true;
}

/// Marks what a thread writes; another thread's mark in the same tile is an overlap, unless it is a
/// replica or the elements are narrower than a byte.
bool mark_writes_of(const SharedAccess& access, const FoundTable& runs, std::size_t t,
                    bool may_overlap, Context& context) {
  SharedMemory& shared = context.state.shared;
  const auto thread = static_cast<std::uint16_t>(t);
  return for_each_granules(access, runs, t, context.settings.granule_shift,
                           [&](std::uint64_t begin, std::uint64_t end) {
                             for (; begin < end; ++begin) {
                               Touch& touch = current(shared.touches[begin], shared.epoch);
                               const auto other = other_than(touch.writers, t);
                               if (other && !may_overlap) {
                                 return report_overlap(access, t, touch.writers[*other], context);
                               }
                               static_cast<void>(add_party(touch.writers, thread));
                               touch.writing = access.statement;
                             }
                             return true;
                           });
}

bool mark_writes(const SharedAccess& access, const FoundTable& runs, Context& context) {
  const bool shares_bytes = access.tile.bits % 8 != 0;
  for (const std::int32_t t : access.parts->first_threads) {
    if (!mark_writes_of(access, runs, static_cast<std::size_t>(t), shares_bytes, context)) {
      return false;
    }
  }
  if (access.parts->first_threads.size() == access.tile.threads) return true;
  for (std::size_t t = 0; t < access.tile.threads; ++t) {
    if (!mark_writes_of(access, runs, t, true, context)) return false;
  }
  return true;
}

/// Marks what was touched since the last barrier: from now on every granule counts.
void mark_recent(Context& context) {
  SharedMemory& shared = context.state.shared;
  for (const RecentTouch& touch : shared.recent) {
    const FoundTable runs = find_runs(*touch.access, context, touch.origin);
    const bool clear = touch.writes ? mark_writes(*touch.access, runs, context)
                                    : mark_reads(*touch.access, runs, context);
    TILEVM_CHECK(clear, "touches that are apart do not conflict");
  }
  shared.recent.clear();
  shared.marks_touches = true;
}

/// Whether no tile since the last barrier lies near this one, unless both were only read.
bool is_apart(const GranuleRange& range, bool writes, const SharedMemory& shared) {
  return std::none_of(shared.recent.begin(), shared.recent.end(), [&](const RecentTouch& touch) {
    return (writes || touch.writes) && range.begin < touch.high && touch.low < range.end;
  });
}

/// Tests granule by granule, and marks.
bool check_races(const SharedAccess& access, const Numbers& origin, bool writes, Context& context) {
  const FoundTable runs = find_runs(access, context, origin);
  if (!writes) {
    return mark_reads(access, runs, context) || report_race(access, origin, false, false, context);
  }
  if (has_conflict(access, runs, false, context)) {
    return report_race(access, origin, true, false, context);
  }
  return mark_writes(access, runs, context);
}

/// Whether nobody has touched what a copy fills since the last barrier.
bool copy_is_apart(const SharedAccess& access, const Numbers& origin, Context& context) {
  const SharedMemory& shared = context.state.shared;
  const GranuleRange range = granules_of(find_runs(access, context, origin), context);
  if (!shared.marks_touches && is_apart(range, true, shared)) return true;
  mark_recent(context);
  return !has_conflict(access, find_runs(access, context, origin), true, context);
}

}  // namespace

bool check_race(const SharedAccess& access, const Numbers& origin, bool writes, Context& context) {
  const FoundTable runs = find_runs(access, context, origin);
  SharedMemory& shared = context.state.shared;
  if (shared.touches.empty()) return true;
  const GranuleRange range = granules_of(runs, context);
  constexpr std::size_t most_recent = 64;
  const bool is_simple = !shared.marks_touches && shared.recent.size() < most_recent &&
                         !(writes && runs.table->overlaps) && is_apart(range, writes, shared);
  if (is_simple) {
    shared.recent.push_back({&access, origin, writes, range.begin, range.end});
    return true;
  }
  mark_recent(context);
  return check_races(access, origin, writes, context);
}

bool check_copy_race(const SharedAccess& access, const Numbers& origin, Context& context) {
  const bool apart = context.state.shared.touches.empty() || context.settings.threads == 1 ||
                     copy_is_apart(access, origin, context);
  return apart || report_race(access, origin, true, true, context);
}

void forget_touches(SharedMemory& shared) {
  shared.recent.clear();
  shared.marks_touches = false;
  if (shared.epoch == std::numeric_limits<std::uint32_t>::max()) {
    std::fill(shared.touches.begin(), shared.touches.end(), Touch{});
    shared.epoch = 0;
  }
  ++shared.epoch;
}

}  // namespace tilevm::sim
