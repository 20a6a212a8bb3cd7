#include "sim/checks/shared_races.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "isa/dot/mma_shapes.h"
#include "sim/checks/equal_indices.h"
#include "sim/checks/granules.h"

namespace tilevm::sim {
namespace {

bool conflicts(const SharedHistory& set, std::uint64_t granule, std::size_t thread,
               const AccessType& type) {
  const AccessRecord& record = set.records[granule];
  return record.epoch == set.epoch && races(record, thread, type);
}

/// Calls f(thread, granule) for all granules of all threads until f returns false.
template <class F>
bool for_each_granule(const ResolvedAccess& resolved, const Context& context, F&& f) {
  for (std::size_t t = 0; t < resolved.access->tile.threads; ++t) {
    const bool all = for_each_granules(resolved, t, context.settings.granule_shift,
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

void mark(SharedHistory& set, const ResolvedAccess& resolved, AccessKind kind,
          const Context& context) {
  static_cast<void>(
      for_each_granule(resolved, context, [&](std::size_t thread, std::uint64_t granule) {
        const AccessType type{kind, resolved.access->combination};
        add_access(current(set, granule), thread, resolved.access->statement, type);
        // Another warp, too: two parties stand for all of them.
        if (resolved.access->by_warps && context.settings.threads > isa::warp_size) {
          add_access(current(set, granule), thread + isa::warp_size, resolved.access->statement,
                     type);
        }
        return true;
      }));
}

constexpr std::size_t most_joint_writes = 4096;

/// Whether several threads may write a granule in one store.
bool writes_jointly(const SharedAccess& access) {
  return access.parts->first_threads.size() < access.parts->threads || access.tile.bits % 8 != 0;
}

void keep_joint_write(SharedHistory& set, const RecentAccess& write) {
  if (!writes_jointly(*write.access) || set.joint_writes.size() >= most_joint_writes) return;
  set.joint_writes.push_back(write);
}

/// Whether a thread's runs in `write` cover a bit range.
bool covers(const ResolvedAccess& write, std::size_t thread, std::uint64_t begin,
            std::uint64_t end) {
  const TableLookup& runs = write.runs;
  const std::uint64_t run_bits = runs.table->run_elements * write.access->tile.bits;
  const std::uint32_t* begins = runs.table->run_bits.data() + thread * runs.table->runs;
  return std::any_of(begins, begins + runs.table->runs, [&](std::uint32_t first) {
    const std::uint64_t run = runs.base_bits + first;
    return run <= begin && end <= run + run_bits;
  });
}

/// Whether a thread has itself written, in one store with others, all that it reads of a granule.
/// Such a store leaves each thread's own bits as the thread wrote them.
bool reads_own(const SharedHistory& set, const ResolvedAccess& resolved, std::size_t thread,
               std::uint64_t granule, Context& context) {
  const unsigned shift = context.settings.granule_shift + 3;
  const std::uint64_t low = granule << shift, high = (granule + 1) << shift;
  std::vector<Interval> read;
  const TableLookup& runs = resolved.runs;
  const std::uint64_t run_bits = runs.table->run_elements * resolved.access->tile.bits;
  const std::uint32_t* begins = runs.table->run_bits.data() + thread * runs.table->runs;
  for (std::size_t r = 0; r < runs.table->runs; ++r) {
    const std::uint64_t begin = runs.base_bits + begins[r], end = begin + run_bits;
    if (begin < high && low < end) read.push_back({std::max(begin, low), std::min(end, high)});
  }
  return std::any_of(set.joint_writes.begin(), set.joint_writes.end(), [&](const auto& write) {
    if (granule < write.low || granule >= write.high) return false;
    const ResolvedAccess earlier = resolve_at(*write.access, write.origin, context);
    return std::all_of(read.begin(), read.end(), [&](const Interval& piece) {
      return covers(earlier, thread, piece.begin, piece.end);
    });
  });
}

/// Whether a thread's access to a granule races with the history.
bool is_race(const SharedHistory& set, const ResolvedAccess& resolved, SharedUse use,
             std::size_t thread, std::uint64_t granule, Context& context) {
  const std::size_t party = is_asynchronous(use) ? AccessRecord::any_thread : thread;
  if (!conflicts(set, granule, party, type_of(*resolved.access, use))) return false;
  return use != SharedUse::read || set.joint_writes.empty() ||
         !reads_own(set, resolved, thread, granule, context);
}

bool has_conflict(const SharedHistory& set, const ResolvedAccess& resolved, SharedUse use,
                  Context& context) {
  if (use != SharedUse::read || set.joint_writes.empty()) {
    return !for_each_granule(resolved, context, [&](std::size_t t, std::uint64_t granule) {
      return !conflicts(set, granule, is_asynchronous(use) ? AccessRecord::any_thread : t,
                        type_of(*resolved.access, use));
    });
  }
  return !for_each_granule(resolved, context, [&](std::size_t t, std::uint64_t granule) {
    return !is_race(set, resolved, use, t, granule, context);
  });
}

/// Marks the accesses since the last barrier by granule; later accesses are marked at once.
void mark_recent(SharedHistory& set, Context& context) {
  for (const RecentAccess& recent : set.recent) {
    mark(set, resolve_at(*recent.access, recent.origin, context), recent.kind, context);
  }
  set.recent.clear();
  set.marking = true;
}

/// Whether no conflicting access since the last barrier overlaps this range of granules.
bool is_apart(const SharedHistory& set, const GranuleRange& range, const AccessType& type) {
  return std::none_of(set.recent.begin(), set.recent.end(), [&](const RecentAccess& recent) {
    return conflict(type, {recent.kind, recent.access->combination}) && range.begin < recent.high &&
           recent.low < range.end;
  });
}

/// Whether the statement has read the same elements since the last barrier, so that one record
/// serves both reads: it becomes the latest. A loop that reads a table again and again has no
/// barrier of its own.
bool repeats_read(SharedHistory& set, const SharedAccess& access, const TileOrigin& origin) {
  const auto is_same = [&](const RecentAccess& each) {
    if (each.access != &access || each.kind != AccessKind::read) return false;
    if (each.origin.begin != origin.begin) return false;
    return origin.places == nullptr ||
           each.origin.places->table.run_bits == origin.places->table.run_bits;
  };
  const auto known = std::find_if(set.recent.begin(), set.recent.end(), is_same);
  if (known == set.recent.end()) return false;
  std::rotate(known, known + 1, set.recent.end());
  return true;
}

/// Reports the first conflict: both threads and both statements.
bool report_race(const ResolvedAccess& resolved, SharedUse use, Context& context) {
  const SharedAccess& access = *resolved.access;
  const TileOrigin& origin = resolved.origin;
  const SharedHistory& set = context.state.shared.since_barrier;
  const bool is_copy = is_asynchronous(use);
  const auto thread_of = [&](std::size_t t) { return is_copy ? AccessRecord::any_thread : t; };
  const auto found = find_elements(resolved, context.settings.granule_shift,
                                   [&](std::size_t t, std::uint64_t granule) {
                                     return is_race(set, resolved, use, t, granule, context);
                                   });
  const ConflictingAccess other =
      conflicting_access(set.records[found.detail], thread_of(found.thread), type_of(access, use));
  const std::string who = use == SharedUse::product ? "any warp"
                          : is_copy                 ? "any thread"
                                                    : fmt::format("thread {}", found.thread);
  context.fail(
      Code::race, access.span,
      fmt::format("`{}` races for {}, first {}: {} {} what thread {} {}, with no `Synchronize` "
                  "in between",
                  access.mnemonic, elements_text(found.count, access.tensor),
                  element_text(access.tensor, found.first), who, verb(kind_of(use)), other.thread,
                  past_verb(other.kind)));
  if (!is_copy) context.fault->thread = static_cast<std::int64_t>(found.thread);
  explain_shared_address(access, found.first, context);
  explain_combinations(type_of(access, use), {other.kind, other.combination}, context);
  explain_conflicting_access(other, access.statement, context);
  const auto& dims = access.geometry.tile_dims;
  if (std::any_of(dims.begin(), dims.end(), [](int dim) { return dim < 0; })) {
    const auto rank = static_cast<std::ptrdiff_t>(dims.size());
    add_note(context.fault->diagnostic,
             fmt::format("or an index is off, if the two should touch different parts of `{}`: the "
                         "tile begins at [{}] here",
                         access.tensor,
                         fmt::join(origin.begin.begin(), origin.begin.begin() + rank, ", ")));
  }
  if (access.tile.bits % 8 != 0) {
    add_note(context.fault->diagnostic,
             fmt::format("elements of {} bits share bytes: threads race for a byte also if they "
                         "touch different elements of it",
                         access.tile.bits));
  }
  return false;
}

/// Whether no two elements of a tile have one place, but for those of one thread that an index
/// places there. False as well where a table of the places would be large.
bool is_disjoint(const ResolvedAccess& resolved, const Context& context) {
  const SharedAccess& access = *resolved.access;
  const RunTable& table = *resolved.runs.table;
  const unsigned bits = access.tile.bits;
  const std::size_t places = context.state.shared.bytes.size() * 8 / bits + 1;
  constexpr std::size_t most_places = std::size_t{1} << 17;
  if (places > most_places) return false;
  std::vector<std::uint32_t> writers(places, 0);
  const bool may_repeat = access.indexed != nullptr;
  const std::uint64_t base = resolved.runs.base_bits - access.tensor_bits;
  for (const std::int32_t first : access.parts->first_threads) {
    const auto t = static_cast<std::size_t>(first);
    const auto writer = static_cast<std::uint32_t>(first) + 1;
    for (std::size_t r = 0; r < table.runs; ++r) {
      const std::uint64_t begin = (base + table.run_bits[t * table.runs + r]) / bits;
      if (begin + table.run_elements > places) return false;
      for (std::uint64_t place = begin; place < begin + table.run_elements; ++place) {
        const std::uint32_t other = std::exchange(writers[place], writer);
        if (other != 0 && !(may_repeat && other == writer)) return false;
      }
    }
  }
  return true;
}

}  // namespace

/// Elements that only share a byte are exempt: a store keeps the other bits of the byte.
bool check_overlap(const ResolvedAccess& resolved, SharedUse use, Context& context) {
  if (!resolved.runs.table->overlaps || is_disjoint(resolved, context)) return true;
  const SharedAccess& access = *resolved.access;
  struct Writer {
    std::size_t thread, local;
  };
  std::unordered_map<std::int64_t, Writer> writers;
  for (const std::int32_t first : access.parts->first_threads) {
    const auto t = static_cast<std::size_t>(first);
    for (std::size_t i = 0; i < access.tile.locals; ++i) {
      const std::int64_t offset =
          element_offset(access.geometry, *access.parts, resolved.origin, t, i);
      const auto [writer, fresh] = writers.emplace(offset, Writer{t, i});
      // Where an index places elements, the last one of a thread stays.
      const bool is_last = access.indexed != nullptr && writer->second.thread == t;
      if (fresh || is_last) continue;
      const isa::Index one = element_index(resolved, writer->second.thread, writer->second.local);
      const isa::Index other = element_index(resolved, t, i);
      if (one == other) {
        const auto& [thread, local] = writer->second;
        return report_equal_indices(
            {access.mnemonic, access.span, *access.indexed, *access.parts, access.dtype},
            access.tensor, one, {thread, local}, {t, i}, context);
      }
      const std::string who = use == SharedUse::copy ? "in any order"
                              : writer->second.thread == t
                                  ? fmt::format("both from thread {}", t)
                                  : fmt::format("from threads {} and {}", writer->second.thread, t);
      context.fail(
          Code::race, access.span,
          fmt::format("`{}` writes different elements of the tile to the same bytes of "
                      "`{}`, {}: {} and {} have one address; the layout of `{}` must keep "
                      "them apart",
                      access.mnemonic, access.tensor, who, element_text(access.tensor, one),
                      element_text(access.tensor, other), access.tensor));
      if (use != SharedUse::copy) context.fault->thread = static_cast<std::int64_t>(t);
      return false;
    }
  }
  return true;
}

void explain_shared_address(const SharedAccess& access, const isa::Index& index, Context& context) {
  const isa::MemoryLayout& layout = *access.geometry.layout;
  const std::int64_t count = isa::element_count(layout.shape());
  const std::int64_t offset = layout.offset(index);
  for (std::int64_t x = 0; x < count; ++x) {
    const isa::Index other = isa::unravel(x, layout.shape());
    if (layout.offset(other) != offset || other == index) continue;
    add_note(context.fault->diagnostic,
             fmt::format("the layout of `{}` gives {} and {} one address: if they are to be "
                         "different elements, fix its strides first",
                         access.tensor, element_text(access.tensor, index),
                         element_text(access.tensor, other)));
    return;
  }
}

void explain_combinations(const AccessType& mine, const AccessType& other, Context& context) {
  if (mine.kind != AccessKind::combine || other.kind != AccessKind::combine) return;
  add_note(context.fault->diagnostic,
           fmt::format("one combines by {}, the other by {}: which comes first decides the result",
                       combination_text(mine.combination), combination_text(other.combination)));
}

void explain_conflicting_access(const ConflictingAccess& other, std::uint32_t statement,
                                Context& context) {
  const MemoryStatement& partner = (*context.settings.memory_statements)[other.statement];
  const std::string_view when = other.statement == statement  ? ", when it ran before"
                                : other.statement > statement ? ", in an earlier iteration"
                                                              : "";
  add_note(context.fault->diagnostic,
           fmt::format("`{}` {} them here{}", partner.mnemonic, past_verb(other.kind), when),
           partner.span);
  add_note(context.fault->diagnostic,
           "insert `Synchronize()` between the two, such as right before this line");
}

bool conflicts_with_history(SharedHistory& set, const ResolvedAccess& resolved, SharedUse use,
                            Context& context) {
  const auto& [access, origin, runs] = resolved;
  const GranuleRange range = granules_of(resolved, context);
  const AccessKind kind = kind_of(use);
  constexpr std::size_t most_recent = 64;
  if (!set.marking && set.recent.size() < most_recent &&
      is_apart(set, range, type_of(*access, use))) {
    if (is_asynchronous(use)) return false;
    if (kind == AccessKind::read && repeats_read(set, *access, origin)) return false;
    set.recent.push_back({access, origin, kind, range.begin, range.end});
    if (kind == AccessKind::write) keep_joint_write(set, set.recent.back());
    return false;
  }
  mark_recent(set, context);
  if (has_conflict(set, resolved, use, context)) return true;
  if (is_asynchronous(use)) return false;
  mark(set, resolved, kind, context);
  if (kind == AccessKind::write) {
    keep_joint_write(set, {access, origin, kind, range.begin, range.end});
  }
  return false;
}

bool check_race(const ResolvedAccess& resolved, SharedUse use, Context& context) {
  SharedHistory& set = context.state.shared.since_barrier;
  if (set.records.empty()) return true;
  const bool replaces = kind_of(use) == AccessKind::write;
  if (replaces && !check_overlap(resolved, use, context)) return false;
  if (context.settings.threads == 1) return true;
  return !conflicts_with_history(set, resolved, use, context) ||
         report_race(resolved, use, context);
}

namespace {

void add_product_read(SharedHistory& set, const ResolvedAccess& operand, Context& context) {
  const auto& [access, origin, runs] = operand;
  constexpr std::size_t most_recent = 64;
  if (set.marking || set.recent.size() >= most_recent) {
    mark_recent(set, context);
    return mark(set, operand, AccessKind::read, context);
  }
  if (repeats_read(set, *access, origin)) return;
  const GranuleRange range = granules_of(operand, context);
  set.recent.push_back({access, origin, AccessKind::read, range.begin, range.end});
}

}  // namespace

void note_product_read(const ResolvedAccess& operand, Context& context) {
  SharedMemory& shared = context.state.shared;
  if (shared.since_barrier.records.empty()) return;
  add_product_read(shared.since_barrier, operand, context);
  if (shared.without.barrier == Without::none || shared.without.history.records.empty()) return;
  add_product_read(shared.without.history, operand, context);
}

void forget_history(SharedHistory& set) {
  set.recent.clear();
  set.joint_writes.clear();
  set.marking = false;
  if (set.epoch == std::numeric_limits<std::uint32_t>::max()) {
    std::fill(set.records.begin(), set.records.end(), AccessRecord{});
    set.epoch = 0;
  }
  ++set.epoch;
}

}  // namespace tilevm::sim
