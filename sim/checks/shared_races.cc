#include "sim/checks/shared_races.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "sim/checks/granules.h"

namespace tilevm::sim {
namespace {

bool conflicts(const SharedHistory& set, std::uint64_t granule, std::size_t thread, bool is_write) {
  const AccessRecord& record = set.records[granule];
  return record.epoch == set.epoch && races(record, thread, is_write);
}

/// Calls f(thread, granule) for all granules of all threads until f returns false.
template <class F>
bool for_each_granule(const SharedAccess& access, const TableLookup& runs, const Context& context,
                      F&& f) {
  for (std::size_t t = 0; t < access.tile.threads; ++t) {
    const bool all = for_each_granules(access, runs, t, context.settings.granule_shift,
                                       [&](std::uint64_t begin, std::uint64_t end) {
                                         for (; begin < end; ++begin) {
                                           if (!f(t, begin)) return false;
                                         }
                                         return true;
                                       });
    if (!all) return false;
  }
  return true;
}

/// The access record of a granule; a record from before the last barrier is emptied first.
AccessRecord& current(SharedHistory& set, std::uint64_t granule) {
  AccessRecord& record = set.records[granule];
  if (record.epoch != set.epoch) {
    record = AccessRecord{};
    record.epoch = set.epoch;
  }
  return record;
}

void mark(SharedHistory& set, const SharedAccess& access, const TableLookup& runs, bool is_write,
          const Context& context) {
  static_cast<void>(
      for_each_granule(access, runs, context, [&](std::size_t thread, std::uint64_t granule) {
        AccessRecord& record = current(set, granule);
        is_write ? add_writer(record, thread, access.statement)
                 : add_reader(record, thread, access.statement);
        return true;
      }));
}

bool has_conflict(const SharedHistory& set, const SharedAccess& access, const TableLookup& runs,
                  SharedUse use, const Context& context) {
  const bool is_write = writes(use);
  return !for_each_granule(access, runs, context, [&](std::size_t t, std::uint64_t granule) {
    return !conflicts(set, granule, use == SharedUse::copy ? AccessRecord::any_thread : t,
                      is_write);
  });
}

/// Marks the accesses since the last barrier by granule; later accesses are marked at once.
void mark_recent(SharedHistory& set, Context& context) {
  for (const RecentAccess& recent : set.recent) {
    mark(set, *recent.access, find_runs(*recent.access, context, recent.origin), recent.writes,
         context);
  }
  set.recent.clear();
  set.marking = true;
}

/// Whether no conflicting access since the last barrier overlaps this range of granules.
bool is_apart(const SharedHistory& set, const GranuleRange& range, bool is_write) {
  return std::none_of(set.recent.begin(), set.recent.end(), [&](const RecentAccess& recent) {
    return (is_write || recent.writes) && range.begin < recent.high && recent.low < range.end;
  });
}

/// Reports the first conflict: both threads and both statements.
bool report_race(const SharedAccess& access, const Coordinates& origin, SharedUse use,
                 Context& context) {
  const SharedHistory& set = context.state.shared.since_barrier;
  const bool is_write = writes(use), is_copy = use == SharedUse::copy;
  const auto thread_of = [&](std::size_t t) { return is_copy ? AccessRecord::any_thread : t; };
  const auto found = find_elements(access, origin, context.settings.granule_shift,
                                   [&](std::size_t t, std::uint64_t granule) {
                                     return conflicts(set, granule, thread_of(t), is_write);
                                   });
  const ConflictingAccess other =
      conflicting_access(set.records[found.detail], thread_of(found.thread));
  const std::string who = is_copy ? "any thread" : fmt::format("thread {}", found.thread);
  context.fail(
      Code::race, access.span,
      fmt::format("`{}` races for {}, first {}: {} {} what thread {} {}, with no `Synchronize` "
                  "in between",
                  access.mnemonic, elements_text(found.count, access.tensor),
                  element_text(access.tensor, found.first), who, is_write ? "writes" : "reads",
                  other.thread, other.wrote ? "wrote" : "read"));
  if (!is_copy) context.fault->thread = static_cast<std::int64_t>(found.thread);
  explain_conflicting_access(other, access.statement, context);
  if (access.tile.bits % 8 != 0) {
    add_note(context.fault->diagnostic,
             fmt::format("elements of {} bits share bytes: threads race for a byte also if they "
                         "touch different elements of it",
                         access.tile.bits));
  }
  return false;
}

/// Reports different elements of one tile at the same address that different threads write.
/// Elements that only share a byte are exempt: a store keeps the other bits of the byte.
bool check_overlap(const SharedAccess& access, const TableLookup& runs, Context& context) {
  if (!runs.table->overlaps || access.tile.bits % 8 != 0) return true;
  std::unordered_map<std::uint64_t, std::size_t> writers;
  for (const std::int32_t first : access.parts->first_threads) {
    const auto t = static_cast<std::size_t>(first);
    const auto is_alone = [&](std::uint64_t begin, std::uint64_t end) {
      for (; begin < end; ++begin) {
        const auto [writer, fresh] = writers.emplace(begin, t);
        if (fresh || writer->second == t) continue;
        context.fail(Code::race, access.span,
                     fmt::format("`{}` writes different elements of the tile to the same bytes of "
                                 "`{}`, from threads {} and {}; the layout of `{}` must keep them "
                                 "apart",
                                 access.mnemonic, access.tensor, writer->second, t, access.tensor));
        context.fault->thread = static_cast<std::int64_t>(t);
        return false;
      }
      return true;
    };
    if (!for_each_granules(access, runs, t, context.settings.granule_shift, is_alone)) return false;
  }
  return true;
}

}  // namespace

void explain_conflicting_access(const ConflictingAccess& other, std::uint32_t statement,
                                Context& context) {
  const MemoryStatement& partner = (*context.settings.memory_statements)[other.statement];
  add_note(context.fault->diagnostic,
           fmt::format("`{}` {} them here{}", partner.mnemonic, other.wrote ? "wrote" : "read",
                       other.statement == statement ? ", when it ran before" : ""),
           partner.span);
  add_note(context.fault->diagnostic, "insert `Synchronize()` between the two");
}

bool conflicts_with_history(SharedHistory& set, const SharedAccess& access,
                            const Coordinates& origin, SharedUse use, Context& context) {
  const TableLookup runs = find_runs(access, context, origin);
  const GranuleRange range = granules_of(runs, context);
  const bool is_write = writes(use);
  constexpr std::size_t most_recent = 64;
  if (!set.marking && set.recent.size() < most_recent && is_apart(set, range, is_write)) {
    if (use != SharedUse::copy) {
      set.recent.push_back({&access, origin, is_write, range.begin, range.end});
    }
    return false;
  }
  mark_recent(set, context);
  const TableLookup found = find_runs(access, context, origin);
  if (has_conflict(set, access, found, use, context)) return true;
  if (use != SharedUse::copy) mark(set, access, found, is_write, context);
  return false;
}

bool check_race(const SharedAccess& access, const Coordinates& origin, SharedUse use,
                Context& context) {
  SharedHistory& set = context.state.shared.since_barrier;
  if (set.records.empty() || context.settings.threads == 1) return true;
  if (use == SharedUse::write &&
      !check_overlap(access, find_runs(access, context, origin), context)) {
    return false;
  }
  return !conflicts_with_history(set, access, origin, use, context) ||
         report_race(access, origin, use, context);
}

void forget_history(SharedHistory& set) {
  set.recent.clear();
  set.marking = false;
  if (set.epoch == std::numeric_limits<std::uint32_t>::max()) {
    std::fill(set.records.begin(), set.records.end(), AccessRecord{});
    set.epoch = 0;
  }
  ++set.epoch;
}

}  // namespace tilevm::sim
