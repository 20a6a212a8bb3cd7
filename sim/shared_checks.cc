#include "sim/shared_checks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <set>

#include "isa/base/check.h"

namespace tilevm::sim {
namespace {

/// Calls f(first granule, one behind the last) for a thread's runs until it returns false.
template <class F>
bool for_each_granules(const SharedAccess& access, const FoundTable& runs, std::size_t thread,
                       unsigned granule_shift, F&& f) {
  const unsigned shift = granule_shift + 3;
  const std::uint64_t run_bits = runs.table->run_elements * access.tile.bits;
  const std::uint32_t* places = runs.table->run_bits.data() + thread * runs.table->runs;
  for (std::size_t r = 0; r < runs.table->runs; ++r) {
    const std::uint64_t begin = runs.base_bits + places[r];
    if (!f(begin >> shift, ((begin + run_bits - 1) >> shift) + 1)) return false;
  }
  return true;
}

/// Elements of a tile for which something holds: how many, and the first of them.
struct Found {
  std::set<std::int64_t> offsets;  ///< replicas count once
  isa::Index first;
  std::size_t thread = 0, granule = 0;
};

/// Asks `bad(thread, granule)` for all granules of all elements.
template <class F>
Found find_elements(const SharedAccess& access, const Numbers& origin, unsigned granule_shift,
                    F&& bad) {
  Found found;
  const auto& dims = access.place.tile_dims;
  for (std::size_t t = 0; t < access.tile.threads; ++t) {
    for (std::size_t i = 0; i < access.tile.locals; ++i) {
      const std::int64_t offset = element_offset(access.place, *access.parts, origin, t, i);
      const std::uint64_t bit =
          access.tensor_bits + static_cast<std::uint64_t>(offset) * access.tile.bits;
      const std::uint64_t end = ((bit + access.tile.bits - 1) >> (granule_shift + 3)) + 1;
      std::uint64_t granule = bit >> (granule_shift + 3);
      while (granule < end && !bad(t, granule)) ++granule;
      if (granule == end) continue;
      isa::Index index(dims.size());
      for (std::size_t d = 0; d < index.size(); ++d) {
        index[d] = origin[d];
        if (dims[d] < 0) continue;
        const auto dim = static_cast<std::size_t>(dims[d]);
        index[d] += access.parts->thread_part(t)[dim] + access.parts->local_part(i)[dim];
      }
      if (found.offsets.empty() || index < found.first) {
        found.first = index;
        found.thread = t;
        found.granule = granule;
      }
      found.offsets.insert(offset);
    }
  }
  return found;
}

std::string elements(const Found& found, std::string_view tensor) {
  const std::size_t count = found.offsets.size();
  return fmt::format("{} element{} of `{}`", count, count == 1 ? "" : "s", tensor);
}

std::string first_element(const Found& found, std::string_view tensor) {
  return fmt::format("first `{}[{}]`", tensor, fmt::join(found.first, ", "));
}

// ---- Copies in flight ---------------------------------------------------------------------------

/// Whether a pending copy writes a granule.
bool fills(const PendingCopy& copy, std::uint64_t granule, Context& context) {
  const SharedAccess& destination = copy.plan->destination;
  const FoundTable runs = find_runs(destination, context, copy.shared_origin);
  return !for_each_granules(
      destination, runs, 0, context.settings.granule_shift,
      [&](std::uint64_t begin, std::uint64_t end) { return granule < begin || granule >= end; });
}

bool report_in_flight(const SharedAccess& access, const Numbers& origin, std::string_view verb,
                      Context& context) {
  SharedMemory& shared = context.state.shared;
  const Found found =
      find_elements(access, origin, context.settings.granule_shift,
                    [&](std::size_t, std::uint64_t granule) { return shared.in_flight[granule]; });
  context.fail(
      Code::in_flight_access, access.span,
      fmt::format("`{}` {} {} while a copy to them is in flight, {}", access.mnemonic, verb,
                  elements(found, access.tensor), first_element(found, access.tensor)));
  if (access.parts->threads > 1) context.fault->thread = static_cast<std::int64_t>(found.thread);
  const auto copy = std::find_if(
      shared.copies.begin(), shared.copies.end(),
      [&](const PendingCopy& pending) { return fills(pending, found.granule, context); });
  if (copy != shared.copies.end()) explain_copy(*copy, context);
  return false;
}

bool is_in_flight(const SharedAccess& access, const FoundTable& runs, Context& context) {
  const SharedMemory& shared = context.state.shared;
  if (shared.in_flight.empty()) return false;
  const GranuleRange range = granules_of(runs, context);
  const bool is_near = std::any_of(
      shared.copies.begin(), shared.copies.end(),
      [&](const PendingCopy& copy) { return range.begin < copy.high && copy.low < range.end; });
  if (!is_near) return false;
  for (std::size_t t = 0; t < access.tile.threads; ++t) {
    const bool clear = for_each_granules(access, runs, t, context.settings.granule_shift,
                                         [&](std::uint64_t begin, std::uint64_t end) {
                                           for (; begin < end; ++begin) {
                                             if (shared.in_flight[begin]) return false;
                                           }
                                           return true;
                                         });
    if (!clear) return true;
  }
  return false;
}

// ---- Races --------------------------------------------------------------------------------------

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

GranuleRange granules_of(const FoundTable& runs, const Context& context) {
  const unsigned shift = context.settings.granule_shift + 3;
  return {(runs.base_bits + runs.table->low) >> shift,
          ((runs.base_bits + runs.table->high - 1) >> shift) + 1};
}

bool check_touch(const SharedAccess& access, const Numbers& origin, bool writes, Context& context) {
  const FoundTable runs = find_runs(access, context, origin);
  if (is_in_flight(access, runs, context)) {
    return report_in_flight(access, origin, writes ? "writes" : "reads", context);
  }
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

bool check_copy(const SharedAccess& access, const Numbers& origin, Context& context) {
  SharedMemory& shared = context.state.shared;
  if (is_in_flight(access, find_runs(access, context, origin), context)) {
    return report_in_flight(access, origin, "writes", context);
  }
  if (!shared.touches.empty() && context.settings.threads > 1 &&
      !copy_is_apart(access, origin, context)) {
    return report_race(access, origin, true, true, context);
  }
  if (shared.in_flight.empty()) return true;
  const FoundTable found = find_runs(access, context, origin);
  return for_each_granules(access, found, 0, context.settings.granule_shift,
                           [&](std::uint64_t begin, std::uint64_t end) {
                             for (; begin < end; ++begin) shared.in_flight[begin] = true;
                             return true;
                           });
}

void explain_copy(const PendingCopy& copy, Context& context) {
  const LastWait& wait = context.state.shared.last_wait;
  Diagnostic& diagnostic = context.fault->diagnostic;
  add_note(diagnostic, "this copy is in flight", copy.plan->destination.span);
  switch (copy.stage) {
    case PendingCopy::Stage::issued:
      add_note(diagnostic,
               "no `CopyAsyncCommitGroup()` follows it: insert one, then `CopyAsyncWaitGroup(0)` "
               "and `Synchronize()` before this line");
      return;
    case PendingCopy::Stage::retired:
      add_note(diagnostic, "it is retired here, but `Synchronize()` is missing behind", wait.span);
      return;
    case PendingCopy::Stage::committed:
      break;
  }
  if (wait.groups >= copy.group) {
    add_note(diagnostic,
             fmt::format("`CopyAsyncWaitGroup({})` leaves its group in flight: wait for {}",
                         wait.pending, wait.groups - copy.group),
             wait.span);
  } else {
    add_note(diagnostic,
             fmt::format("insert `CopyAsyncWaitGroup({})` and `Synchronize()` before this line",
                         context.state.shared.groups - copy.group));
  }
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

void end_flight(const PendingCopy& copy, Context& context) {
  SharedMemory& shared = context.state.shared;
  if (shared.in_flight.empty()) return;
  const SharedAccess& destination = copy.plan->destination;
  const FoundTable runs = find_runs(destination, context, copy.shared_origin);
  static_cast<void>(for_each_granules(destination, runs, 0, context.settings.granule_shift,
                                      [&](std::uint64_t begin, std::uint64_t end) {
                                        for (; begin < end; ++begin) {
                                          shared.in_flight[begin] = false;
                                        }
                                        return true;
                                      }));
}

}  // namespace tilevm::sim
