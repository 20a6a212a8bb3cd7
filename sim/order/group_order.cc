#include "sim/order/group_order.h"

#include <algorithm>

namespace tilevm::sim {
namespace {

/// A party's share of what some threads did; nothing if none of them is of the party.
std::optional<Party> part_of(const Party& party, const ThreadRange& all, const ThreadRange& some) {
  ThreadRange own = all;
  if (party.threads != 0) own = {party.first_thread, party.threads};
  if (some.covers(own)) return party;
  if (!some.meets(own)) return std::nullopt;
  const std::uint32_t first = std::max(own.first, some.first);
  Party part = party;
  part.first_thread = static_cast<std::uint16_t>(first);
  part.threads = static_cast<std::uint16_t>(std::min(own.end(), some.end()) - first);
  return part;
}

void add_own(std::vector<OwnPast>& past, const OwnPast& more) {
  const auto known = std::find_if(past.begin(), past.end(),
                                  [&](const OwnPast& each) { return each.party == more.party; });
  if (known == past.end()) {
    past.push_back(more);
    return;
  }
  known->seen = std::max(known->seen, more.seen);
  known->fenced = std::max(known->fenced, more.fenced);
}

/// Nothing is added that all threads know.
void add_partial(GroupKnowledge& group, const ThreadRange& threads, const Knowledge& knows) {
  if (knows == group.common) return;
  if (threads.covers(group.threads)) {
    group.common.join(knows);
    return;
  }
  for (PartialKnowledge& known : group.partial) {
    if (known.threads == threads) return known.knows.join(knows);
  }
  group.partial.push_back({threads, knows});
}

}  // namespace

GroupOrder::GroupOrder(std::uint64_t block, const std::vector<ThreadRange>& groups,
                       std::size_t objects)
    : block_(block), groups_(groups.size()), objects_(objects) {
  for (std::size_t i = 0; i < groups.size(); ++i) groups_[i].threads = groups[i];
  for (std::size_t i = 0; i < objects; ++i) {
    objects_[i].chain = {.block = block,
                         .group = 0,
                         .proxy = isa::Proxy::generic,
                         .chain = static_cast<std::uint32_t>(i + 1)};
  }
}

void GroupOrder::fork(std::uint16_t parent, std::uint16_t child) {
  const GroupKnowledge& outer = groups_[parent];
  GroupKnowledge& inner = groups_[child];
  inner.common.join(outer.common);
  for (const PartialKnowledge& each : outer.partial) {
    if (each.threads.meets(inner.threads)) add_partial(inner, each.threads, each.knows);
  }
  const auto inherit = [&](const OwnPast& past) {
    const ThreadRange all = groups_[past.party.group].threads;
    if (const auto part = part_of(past.party, all, inner.threads)) {
      add_own(inner.own, {*part, past.seen, past.fenced});
    }
  };
  inherit({party(parent), outer.segment + 1, outer.fenced});
  for (const OwnPast& past : outer.own) inherit(past);
  // What is known to all is not kept as a past of single threads.
  std::erase_if(inner.own, [&](const OwnPast& past) {
    Party whole = past.party;
    whole.first_thread = whole.threads = 0;
    return inner.common.seen[whole] >= past.seen && inner.common.fenced[whole] >= past.fenced;
  });
}

void GroupOrder::join(std::uint16_t parent, std::uint16_t child) {
  GroupKnowledge& outer = groups_[parent];
  GroupKnowledge& inner = groups_[child];
  add_partial(outer, inner.threads, inner.common);
  for (const PartialKnowledge& each : inner.partial) add_partial(outer, each.threads, each.knows);
  for (const OwnPast& past : inner.own) {
    if (past.party != party(parent)) add_own(outer.own, past);
  }
  add_own(outer.own, {party(child), ++inner.segment, inner.fenced});
  inner.partial.clear();
  inner.own.clear();
}

bool GroupOrder::is_before(const OrderedAccess& access, std::uint16_t group,
                           std::uint32_t thread) const {
  const bool is_chain = access.segment.party.chain != 0;
  if (!is_chain && access.thread == thread) return true;
  const GroupKnowledge& mine = groups_[group];
  if (mine.common.seen.is_after(access.segment, access.thread)) return true;
  const auto knows = [&](const PartialKnowledge& each) {
    return each.threads.has(thread) && each.knows.seen.is_after(access.segment, access.thread);
  };
  if (std::any_of(mine.partial.begin(), mine.partial.end(), knows)) return true;
  // Each thread that waits for a chain knows of its own share only, which is the whole chain where
  // the group has one thread.
  return is_chain && mine.threads.count == 1 &&
         std::any_of(mine.own.begin(), mine.own.end(), [&](const OwnPast& past) {
           return past.party == access.segment.party && past.seen > access.segment.number;
         });
}

bool GroupOrder::is_fenced(const OrderedAccess& access, std::uint16_t group,
                           std::uint32_t thread) const {
  const GroupKnowledge& mine = groups_[group];
  if (mine.common.fenced.is_after(access.segment, access.thread)) return true;
  const auto knows = [&](const PartialKnowledge& each) {
    return each.threads.has(thread) && each.knows.fenced.is_after(access.segment, access.thread);
  };
  if (std::any_of(mine.partial.begin(), mine.partial.end(), knows)) return true;
  const bool is_own =
      access.segment.party.chain != 0 ? mine.threads.count == 1 : access.thread == thread;
  if (!is_own) return false;
  if (access.segment.party.is_part_of(party(group))) return mine.fenced > access.segment.number;
  return std::any_of(mine.own.begin(), mine.own.end(), [&](const OwnPast& past) {
    return past.party.is_part_of(access.segment.party) && past.party.has(thread) &&
           past.fenced > access.segment.number;
  });
}

bool GroupOrder::is_known(const OrderedAccess& access, std::uint16_t group) const {
  const ThreadRange threads = groups_[group].threads;
  if (groups_[group].common.seen.is_after(access.segment, access.thread)) return true;
  for (std::uint32_t thread = threads.first; thread < threads.end(); ++thread) {
    if (!is_before(access, group, thread)) return false;
  }
  return true;
}

Knowledge GroupOrder::released(std::uint16_t group) const {
  const GroupKnowledge& mine = groups_[group];
  Knowledge all = mine.common;
  for (const PartialKnowledge& each : mine.partial) all.join(each.knows);
  const auto add = [&](const OwnPast& past) {
    all.seen.raise(past.party, past.seen);
    if (past.fenced > 0) all.fenced.raise(past.party, past.fenced);
  };
  for (const OwnPast& past : mine.own) add(past);
  add({party(group), mine.segment + 1, mine.fenced});
  return all;
}

void GroupOrder::acquire(std::uint16_t group, const Knowledge& knowledge) {
  groups_[group].common.join(knowledge);
}

void GroupOrder::synchronize(std::uint16_t group) {
  GroupKnowledge& mine = groups_[group];
  mine.common = released(group);
  mine.partial.clear();
  mine.own.clear();
  ++mine.segment;
}

/// A thread fences what it knows and its own past.
void GroupOrder::fence(std::uint16_t group) {
  GroupKnowledge& mine = groups_[group];
  mine.common.fence();
  for (PartialKnowledge& each : mine.partial) each.knows.fence();
  for (OwnPast& past : mine.own) past.fenced = past.seen;
  mine.fenced = ++mine.segment;
}

void GroupOrder::complete_own(std::uint16_t group, const Party& chain, std::uint32_t segments) {
  add_own(groups_[group].own, {chain, segments, 0});
}

}  // namespace tilevm::sim
