#include "sim/checks/group_global_races.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <vector>

#include "sim/access/access_reports.h"
#include "sim/access/global_access.h"
#include "sim/access/tile_in_view.h"
#include "sim/checks/block_races.h"
#include "sim/checks/global_races.h"
#include "sim/checks/group_race_notes.h"
#include "sim/checks/group_races.h"

namespace tilevm::sim {
namespace {

/// Accesses beyond which those are dropped that every group knows.
constexpr std::size_t enough_global_accesses = 512;

const PlannedGroup& group_of(const Context& context, std::uint16_t group) {
  return context.settings.groups->groups[group];
}

/// Calls f(thread of the block, granule) for the elements inside of view and buffer until f returns
/// false.
template <class F>
bool for_each_granule(const GroupGlobalAccess& of, const Context& context, F&& f) {
  const GlobalAccess& access = *of.footprint.access;
  TileInView cursor(access, of.footprint.view, context, of.footprint.origin);
  const unsigned shift = context.settings.global_granule_shift;
  const std::uint32_t first = group_of(context, of.group).threads.first;
  const bool is_chain = of.segment.party.chain != 0;
  for (std::size_t t = 0; t < access.tile.threads; ++t) {
    const std::uint32_t thread = is_chain ? 0 : first + static_cast<std::uint32_t>(t);
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

bool meet(const std::vector<Interval>& a, const std::vector<Interval>& b) {
  return std::any_of(a.begin(), a.end(), [&](const Interval& one) {
    return std::any_of(b.begin(), b.end(), [&](const Interval& other) {
      return one.begin < other.end && other.begin < one.end;
    });
  });
}

AccessType type_of(const GroupGlobalAccess& access) { return sim::type_of(access.footprint); }

bool is_by_async_proxy(const GroupGlobalAccess& access) {
  return access.segment.party.chain != 0 && access.segment.party.proxy == isa::Proxy::async;
}

/// Whether a new access sees what an earlier one wrote only after a proxy fence.
bool needs_fence(const GroupGlobalAccess& earlier, const GroupGlobalAccess& now) {
  return is_by_async_proxy(now) && !is_by_async_proxy(earlier) &&
         type_of(earlier).kind != AccessKind::read;
}

/// Whether all threads of the current group know an earlier access, and what a new one needs of it.
bool is_before_as_a_whole(const GroupGlobalAccess& earlier, const GroupGlobalAccess& now,
                          const Context& context) {
  const Knowledge& common = context.state.parties.group(context.state.group).common;
  return common.seen.is_after(earlier.segment) &&
         (!needs_fence(earlier, now) || common.fenced.is_after(earlier.segment));
}

/// Two threads of two accesses that nothing orders, at one granule.
struct GlobalClash {
  std::uint32_t earlier_thread = 0, thread = 0;
  std::uint64_t granule = 0;
  bool lacks_fence = false;  ///< whether they are in order, but without a proxy fence
};

std::optional<GlobalClash> find_global_clash(const GroupGlobalAccess& earlier,
                                             const GroupGlobalAccess& now, const Context& context) {
  std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> touched;
  static_cast<void>(
      for_each_granule(earlier, context, [&](std::uint32_t thread, std::uint64_t granule) {
        touched[granule].push_back(thread);
        return true;
      }));
  const GroupOrder& parties = context.state.parties;
  const bool is_copy = now.segment.party.chain != 0;
  const bool fenced = needs_fence(earlier, now);
  std::optional<GlobalClash> found;
  static_cast<void>(
      for_each_granule(now, context, [&](std::uint32_t thread, std::uint64_t granule) {
        const auto at = touched.find(granule);
        if (at == touched.end()) return true;
        const std::uint32_t self = !is_copy ? thread
                                   : context.state.begun
                                       ? group_of(context, context.state.group).threads.first
                                       : AccessRecord::any_thread;
        // Replicas store the same bits, so a thread finds what it stored itself.
        const bool is_own = now.footprint.use == GlobalUse::load &&
                            earlier.segment.party.chain == 0 &&
                            std::ranges::find(at->second, self) != at->second.end();
        if (is_own) return true;
        for (const std::uint32_t other : at->second) {
          const OrderedAccess access{earlier.segment, other, fenced};
          const bool is_before = parties.is_before(access, context.state.group, self);
          if (is_before && (!fenced || parties.is_fenced(access, context.state.group, self)))
            continue;
          found = GlobalClash{other, thread, granule, is_before};
          return false;
        }
        return true;
      }));
  return found;
}

bool report_global(const GroupGlobalAccess& earlier, const GroupGlobalAccess& now,
                   const GlobalClash& clash, Context& context) {
  const GlobalAccess& access = *now.footprint.access;
  TileInView cursor(access, now.footprint.view, context, now.footprint.origin);
  isa::Index first;
  const unsigned shift = context.settings.global_granule_shift;
  for (std::size_t t = 0; t < access.tile.threads && first.empty(); ++t) {
    for (std::size_t i = 0; i < access.tile.locals && first.empty(); ++i) {
      if (!cursor.locate(t, i) || !cursor.in_buffer()) continue;
      const std::uint64_t last = (cursor.bit() + access.tile.bits - 1) >> shift;
      if (cursor.bit() >> shift <= clash.granule && clash.granule <= last) first = cursor.index();
    }
  }
  const auto who = [&](const GroupGlobalAccess& of, std::uint32_t thread) {
    const PlannedGroup& group = group_of(context, of.group);
    if (of.segment.party.chain != 0) return fmt::format("a copy of {}", group.name);
    if (group.threads.count == 1) return group.name;
    return fmt::format("thread {} of {}", thread - group.threads.first, group.name);
  };
  const std::string element = element_text(access.view_name, first),
                    now_who = who(now, clash.thread), now_verb(verb(type_of(now).kind)),
                    earlier_who = who(earlier, clash.earlier_thread),
                    earlier_verb(past_verb(type_of(earlier).kind));
  if (clash.lacks_fence) {
    context.fail(
        Code::proxy_not_fenced, access.span,
        fmt::format("`{}` may not see {}: {} {} what {} {} by the generic proxy, with no "
                    "`FenceProxy` in between",
                    access.mnemonic, element, now_who, now_verb, earlier_who, earlier_verb));
    add_note(context.fault->diagnostic, "the other access is here", earlier.footprint.access->span);
    add_note(context.fault->diagnostic, std::string(fence_advice));
    return false;
  }
  context.fail(Code::race, access.span,
               fmt::format("`{}` races for {}: {} {} what {} {}, and nothing orders the two",
                           access.mnemonic, element, now_who, now_verb, earlier_who, earlier_verb));
  context.fault->thread = clash.thread % context.settings.threads;
  add_note(context.fault->diagnostic, "the other access is here", earlier.footprint.access->span);
  add_note(
      context.fault->diagnostic,
      earlier.group == now.group
          ? "insert `Synchronize()` of the group between the two"
          : fmt::format("between the two, {} must arrive at a barrier after that access and {} "
                        "must wait for it",
                        group_of(context, earlier.group).name, group_of(context, now.group).name));
  return false;
}

/// Drops accesses that every group that runs knows, and has fenced where a copy may need it.
void prune_global(Context& context) {
  BlockState& state = context.state;
  auto& accesses = state.global_accesses;
  if (accesses.size() < std::max(state.global_to_prune, enough_global_accesses)) return;
  std::erase_if(accesses, [&](const GroupGlobalAccess& access) {
    const bool to_fence = context.settings.groups->has_tensor_copies &&
                          type_of(access).kind != AccessKind::read && !is_by_async_proxy(access);
    for (std::size_t g = 0; g < state.groups.size(); ++g) {
      if (state.groups[g].status == GroupState::Status::absent) continue;
      const auto& mine = state.parties.group(static_cast<std::uint16_t>(g));
      if (!mine.common.seen.is_after(access.segment)) return false;
      if (to_fence && !mine.common.fenced.is_after(access.segment)) return false;
    }
    return true;
  });
  state.global_to_prune = 2 * accesses.size();
}

}  // namespace

bool check_group_global(const GlobalFootprint& footprint, const TouchedIntervals& pieces,
                        Context& context) {
  BlockState& state = context.state;
  const bool is_copy = footprint.use == GlobalUse::copy;
  const Segment segment =
      state.begun ? *state.begun
      : is_copy   ? Segment{copy_chain(state), static_cast<std::uint32_t>(state.shared.groups)}
                  : state.parties.segment(state.group);
  GroupGlobalAccess now{footprint, pieces.bits, state.group, segment};
  const AccessType type = type_of(now);
  for (const GroupGlobalAccess& earlier : state.global_accesses) {
    if (earlier.footprint.view.buffer != footprint.view.buffer ||
        !conflict(type, type_of(earlier)) || is_before_as_a_whole(earlier, now, context) ||
        !meet(earlier.bits, now.bits)) {
      continue;
    }
    if (const auto clash = find_global_clash(earlier, now, context)) {
      return report_global(earlier, now, *clash, context);
    }
  }
  state.global_accesses.push_back(std::move(now));
  prune_global(context);
  return true;
}

}  // namespace tilevm::sim
