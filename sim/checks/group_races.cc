#include "sim/checks/group_races.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <unordered_map>
#include <vector>

#include "isa/dot/mma_shapes.h"
#include "sim/checks/granules.h"
#include "sim/checks/group_race_notes.h"

namespace tilevm::sim {
namespace {

/// Accesses beyond which those are dropped that every group knows.
constexpr std::size_t enough_accesses = 512;
constexpr auto lanes = static_cast<std::uint32_t>(isa::warp_size);

/// An access that is about to be made.
struct NewAccess {
  const ResolvedAccess& resolved;
  SharedUse use;
  GroupAccess record;
  const AsyncAccess* async = nullptr;

  [[nodiscard]] bool is_async_proxy() const {
    return async != nullptr && async->segment.party.proxy == isa::Proxy::async;
  }
  [[nodiscard]] AccessType type() const { return type_of(*resolved.access, use); }
};

AccessType type_of(const GroupAccess& access) { return {access.kind, access.access->combination}; }

/// Whether the async proxy sees an earlier access only after a fence.
bool is_generic_write(const GroupAccess& access) {
  return access.kind != AccessKind::read && access.segment.party.proxy == isa::Proxy::generic;
}

/// What order says of a thread's part of an earlier access.
OrderedAccess ordered(const GroupAccess& access, std::uint32_t thread) {
  return {access.segment, thread, is_generic_write(access)};
}

/// Whether a new access sees what an earlier one wrote only after a proxy fence. CopyAsync needs
/// none before products: its wait has the fence where the code needs one (docs/reference/products).
bool needs_fence(const GroupAccess& earlier, const NewAccess& now) {
  if (!now.is_async_proxy() || !is_generic_write(earlier)) return false;
  return now.use != SharedUse::product || earlier.segment.party.chain != copies_chain;
}

/// Whether a clock is after an earlier access with all of its threads.
bool is_after_all(const PartyClock& seen, const GroupAccess& earlier) {
  const ThreadRange& in = earlier.completes_in;
  if (in.count == 0) return seen.is_after(earlier.segment);
  for (std::uint32_t thread = in.first; thread < in.end(); thread += lanes) {
    if (!seen.is_after(earlier.segment, thread)) return false;
  }
  return true;
}

/// Whether an earlier access has happened before, with all of its threads, what all threads of the
/// current group do now.
bool is_before_as_a_whole(const GroupAccess& earlier, const NewAccess& now,
                          const Context& context) {
  const BlockState& state = context.state;
  const Knowledge& common = state.parties.group(state.group).common;
  if (!is_after_all(common.seen, earlier)) return false;
  return !needs_fence(earlier, now) || common.fenced.is_after(earlier.segment);
}

/// Why a thread's access races with a thread's part of an earlier one.
enum class Missing : std::uint8_t { nothing, order, fence };

/// What is missing between an access of a thread and the share of one thread in an earlier one.
Missing missing_edge_to(const GroupAccess& earlier, std::uint32_t earlier_thread,
                        const NewAccess& now, std::uint32_t thread, const Context& context) {
  const GroupOrder& parties = context.state.parties;
  const std::uint16_t group = context.state.group;
  const OrderedAccess access = ordered(earlier, earlier_thread);
  if (!parties.is_before(access, group, thread)) return Missing::order;
  if (needs_fence(earlier, now) && !parties.is_fenced(access, group, thread)) return Missing::fence;
  return Missing::nothing;
}

/// What is missing to an earlier access whose shares are several threads': each warp has one of a
/// product, each thread one of a copy, and which element is whose is not said.
Missing missing_edge(const GroupAccess& earlier, std::uint32_t earlier_thread, const NewAccess& now,
                     std::uint32_t thread, const Context& context) {
  const bool is_copy = earlier.segment.party.chain == copies_chain;
  if (!is_copy && earlier.completes_in.count == 0) {
    return missing_edge_to(earlier, earlier_thread, now, thread, context);
  }
  const ThreadRange& in =
      is_copy ? context.settings.groups->groups[earlier.group].threads : earlier.completes_in;
  Missing most = Missing::nothing;
  for (std::uint32_t t = in.first; t < in.end(); t += is_copy ? 1 : lanes) {
    const Missing missing = missing_edge_to(earlier, t, now, thread, context);
    if (missing == Missing::order) return missing;
    if (missing != Missing::nothing) most = missing;
  }
  return most;
}

/// What is missing between an access of a thread and a thread's part of an earlier one.
struct Lack {
  Missing missing = Missing::nothing;
  std::uint32_t thread = 0;
};

/// Finds what is missing between the threads of a new access and those of an earlier one.
class Edges {
 public:
  Edges(const GroupAccess& earlier, const NewAccess& now, const Context& context)
      : earlier_(earlier), now_(now), context_(context) {}

  /// A tile of a product is read by the tensor cores of every thread.
  Lack find(std::uint32_t earlier_thread, std::uint32_t thread) {
    const bool by_all = now_.async != nullptr && now_.async->completes_in.count > 0;
    if (!by_all) return {missing_edge(earlier_, earlier_thread, now_, thread, context_), thread};
    const auto [found, fresh] = of_all_.try_emplace(earlier_thread);
    if (fresh) found->second = find_for_all(earlier_thread);
    return found->second;
  }

 private:
  [[nodiscard]] Lack find_for_all(std::uint32_t earlier_thread) const {
    const ThreadRange& all = now_.async->completes_in;
    for (std::uint32_t thread = all.first; thread < all.end(); ++thread) {
      const Missing missing = missing_edge(earlier_, earlier_thread, now_, thread, context_);
      if (missing != Missing::nothing) return {missing, thread};
    }
    return {};
  }

  const GroupAccess& earlier_;
  const NewAccess& now_;
  const Context& context_;
  std::unordered_map<std::uint32_t, Lack> of_all_;
};

/// A granule of both accesses and their threads.
struct Clash {
  Missing missing = Missing::nothing;
  std::uint64_t granule = 0;
  std::uint32_t earlier_thread = 0, thread = 0;
  std::size_t own_thread = 0;  ///< number of `thread` among the threads of the tile
};

std::uint32_t thread_of(const GroupAccess& access, std::size_t in_tile, const Context& context) {
  if (access.is_chain()) return 0;
  return context.settings.groups->groups[access.group].threads.first +
         static_cast<std::uint32_t>(in_tile);
}

/// The threads of an access by granule, within [low, high).
class Toucher {
 public:
  Toucher(const GroupAccess& access, std::uint64_t low, std::uint64_t high, Context& context)
      : low_(low), threads_(high - low) {
    const SharedAccess& tile = *access.access;
    has_replicas_ = !access.is_chain() && access.kind == AccessKind::write &&
                    tile.tile.bits % 8 == 0 &&
                    tile.parts->first_threads.size() < tile.parts->threads;
    const ResolvedAccess resolved = resolve_at(*access.access, access.origin, context);
    for (std::size_t t = 0; t < access.access->tile.threads; ++t) {
      const std::uint32_t thread = thread_of(access, t, context);
      static_cast<void>(for_each_granules(
          resolved, t, context.settings.granule_shift, [&](std::uint64_t begin, std::uint64_t end) {
            for (std::uint64_t g = std::max(begin, low); g < std::min(end, high); ++g) {
              add(g, thread);
            }
            return true;
          }));
    }
  }
  /// Whether a thread reads what it has itself stored, with replicas that stored the same.
  [[nodiscard]] bool writes_alike(const NewAccess& now, std::uint32_t thread,
                                  std::uint64_t granule) const {
    return has_replicas_ && now.record.kind == AccessKind::read &&
           std::ranges::find(at(granule), thread) != at(granule).end();
  }
  [[nodiscard]] const std::vector<std::uint32_t>& at(std::uint64_t granule) const {
    return threads_[granule - low_];
  }

 private:
  void add(std::uint64_t granule, std::uint32_t thread) {
    auto& known = threads_[granule - low_];
    if (known.empty() || known.back() != thread) known.push_back(thread);
  }
  std::uint64_t low_;
  bool has_replicas_ = false;
  std::vector<std::vector<std::uint32_t>> threads_;
};

/// The first granule at which an access races with an earlier one.
std::optional<Clash> find_clash(const GroupAccess& earlier, const NewAccess& now,
                                Context& context) {
  const std::uint64_t low = std::max(earlier.low, now.record.low),
                      high = std::min(earlier.high, now.record.high);
  const Toucher before(earlier, low, high, context);
  Edges edges(earlier, now, context);
  std::optional<Clash> found;
  for (std::size_t t = 0; t < now.resolved.access->tile.threads && !found; ++t) {
    const std::uint32_t thread =
        now.async != nullptr ? now.async->thread : thread_of(now.record, t, context);
    static_cast<void>(for_each_granules(
        now.resolved, t, context.settings.granule_shift,
        [&](std::uint64_t begin, std::uint64_t end) {
          for (std::uint64_t g = std::max(begin, low); g < std::min(end, high); ++g) {
            if (now.async == nullptr && before.writes_alike(now, thread, g)) continue;
            for (const std::uint32_t other : before.at(g)) {
              const Lack lack = edges.find(other, thread);
              if (lack.missing == Missing::nothing) continue;
              found = Clash{lack.missing, g, other, lack.thread, t};
              return false;
            }
          }
          return true;
        }));
  }
  return found;
}

/// The elements that are in both accesses, for the message: how many, and the first.
Offenders<std::size_t> common_elements(const GroupAccess& earlier, const NewAccess& now,
                                       Context& context) {
  const std::uint64_t low = std::max(earlier.low, now.record.low),
                      high = std::min(earlier.high, now.record.high);
  const Toucher before(earlier, low, high, context);
  return find_elements(now.resolved, context.settings.granule_shift,
                       [&](std::size_t, std::uint64_t granule) {
                         return low <= granule && granule < high && !before.at(granule).empty();
                       });
}

bool report(const GroupAccess& earlier, const NewAccess& now, const Clash& clash,
            Context& context) {
  const auto elements = common_elements(earlier, now, context);
  GroupRace race{earlier, now.record, now.resolved, elements.count, elements.first};
  race.thread = clash.thread;
  race.earlier_thread = clash.earlier_thread;
  race.is_async = now.async != nullptr;
  race.lacks_fence = clash.missing == Missing::fence;
  return report_group_race(race, context);
}

/// Whether an access writes every granule of [low, high), so that later accesses need only be
/// compared with it.
bool replaces(const NewAccess& now, const GroupAccess& earlier, Context& context) {
  if (now.record.kind != AccessKind::write || earlier.block != now.record.block ||
      earlier.low < now.record.low || earlier.high > now.record.high) {
    return false;
  }
  const bool is_same_tile =
      earlier.access->tensor_number == now.resolved.access->tensor_number &&
      earlier.low == now.record.low && earlier.high == now.record.high &&
      earlier.access->tile.threads * earlier.access->tile.locals ==
          now.resolved.access->tile.threads * now.resolved.access->tile.locals &&
      earlier.access->indexed == nullptr &&
      earlier.access->geometry.tile_dims == now.resolved.access->geometry.tile_dims;
  if (is_same_tile) return true;
  const std::size_t bits = now.resolved.access->tile.locals * now.resolved.access->tile.threads *
                           now.resolved.access->tile.bits;
  const std::uint64_t granules = now.record.high - now.record.low;
  const bool has_replicas =
      now.resolved.access->parts->first_threads.size() < now.resolved.access->parts->threads;
  return !has_replicas && now.resolved.access->indexed == nullptr &&
         !now.resolved.runs.table->overlaps &&
         bits == granules << (context.settings.granule_shift + 3);
}

/// Drops accesses that every group that runs knows, and of generic stores those that each may tell
/// to the async proxy.
void prune(Context& context) {
  BlockState& state = context.state;
  if (state.accesses.size() < std::max(state.accesses_to_prune, enough_accesses)) return;
  const auto is_known = [&](const GroupAccess& access) {
    for (std::size_t g = 0; g < state.groups.size(); ++g) {
      if (state.groups[g].status == GroupState::Status::absent) continue;
      const Knowledge& common = state.parties.group(static_cast<std::uint16_t>(g)).common;
      if (!is_after_all(common.seen, access)) return false;
      if (is_generic_write(access) && !common.fenced.is_after(access.segment)) return false;
    }
    return true;
  };
  std::erase_if(state.accesses, is_known);
  state.accesses_to_prune = 2 * state.accesses.size();
}

/// Whether a statement reads again what it has read, so that one record serves both.
bool repeats(const GroupAccess& earlier, const GroupAccess& now) {
  return earlier.access == now.access && earlier.kind == AccessKind::read &&
         now.kind == AccessKind::read && earlier.segment.party == now.segment.party &&
         earlier.completes_in == now.completes_in && earlier.origin.begin == now.origin.begin &&
         earlier.origin.places == nullptr && now.origin.places == nullptr;
}

bool check(const NewAccess& now, Context& context) {
  BlockState& state = context.state;
  const AccessType type = now.type();
  bool repeated = false;
  for (GroupAccess& earlier : state.accesses) {
    if (earlier.block != now.record.block) continue;
    if (earlier.high <= now.record.low || now.record.high <= earlier.low) continue;
    if (repeats(earlier, now.record)) {
      repeated = true;
      earlier.segment = now.record.segment;
    }
    if (!conflict(type, type_of(earlier)) || is_before_as_a_whole(earlier, now, context)) continue;
    if (const auto clash = find_clash(earlier, now, context)) {
      return report(earlier, now, *clash, context);
    }
  }
  if (now.record.kind == AccessKind::write) {
    std::erase_if(state.accesses, [&](const GroupAccess& earlier) {
      return replaces(now, earlier, context) && is_before_as_a_whole(earlier, now, context);
    });
  }
  if (!repeated) state.accesses.push_back(now.record);
  prune(context);
  return true;
}

GroupAccess record_of(const ResolvedAccess& resolved, SharedUse use, const Segment& segment,
                      const Context& context) {
  const GranuleRange range = granules_of(resolved, context);
  GroupAccess record;
  record.access = resolved.access;
  record.origin = resolved.origin;
  record.kind = kind_of(use);
  record.low = range.begin;
  record.high = range.end;
  record.group = context.state.group;
  record.block = context.state.rank;
  record.segment = segment;
  return record;
}

}  // namespace

Party copy_chain(const BlockState& state) {
  return state.parties.chain(state.group, copies_chain, isa::Proxy::generic);
}

Party product_chain(const BlockState& state) {
  return state.parties.chain(state.group, products_chain);
}

void complete_products(std::uint64_t groups, BlockState& state) {
  const ThreadRange threads = state.parties.group(state.group).threads;
  for (std::uint32_t first = threads.first; first < threads.end(); first += lanes) {
    Party warp = product_chain(state);
    warp.first_thread = static_cast<std::uint16_t>(first);
    warp.threads = static_cast<std::uint16_t>(lanes);
    state.parties.complete_own(state.group, warp, static_cast<std::uint32_t>(groups));
  }
}

namespace {

/// The tensor cores read for each warp of the group, until that warp has waited.
bool check_product_read(const ResolvedAccess& resolved, Context& context) {
  const BlockState& state = context.state;
  const Segment segment{product_chain(state), static_cast<std::uint32_t>(state.products.groups)};
  const ThreadRange threads = state.parties.group(state.group).threads;
  return check_async_access(resolved, SharedUse::product, {segment, threads.first, threads},
                            context);
}

}  // namespace

/// A copy by CopyAsync is made by a thread that nobody knows, which may be any of its group.
bool check_group_access(const ResolvedAccess& resolved, SharedUse use, Context& context) {
  if (!context.settings.checks.races) return true;
  if (use == SharedUse::product) return check_product_read(resolved, context);
  const BlockState& state = context.state;
  if (kind_of(use) == AccessKind::write && !check_overlap(resolved, use, context)) return false;
  if (use != SharedUse::copy) {
    const Segment segment = state.parties.segment(state.group);
    return check({resolved, use, record_of(resolved, use, segment, context)}, context);
  }
  const Segment segment{copy_chain(state), static_cast<std::uint32_t>(state.shared.groups)};
  const AsyncAccess copy{segment, AccessRecord::any_thread, {0, 0}};
  return check({resolved, use, record_of(resolved, use, segment, context), &copy}, context);
}

bool check_async_access(const ResolvedAccess& resolved, SharedUse use, const AsyncAccess& async,
                        Context& context) {
  if (!context.settings.checks.races) return true;
  GroupAccess record = record_of(resolved, use, async.segment, context);
  record.completes_in = async.completes_in;
  return check({resolved, use, record, &async}, context);
}

}  // namespace tilevm::sim
