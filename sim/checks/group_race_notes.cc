#include "sim/checks/group_race_notes.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "sim/access/access_reports.h"
#include "sim/checks/product_checks.h"
#include "sim/checks/shared_races.h"

namespace tilevm::sim {
namespace {

const PlannedGroup& named_group(const Context& context, std::uint16_t group) {
  return context.settings.groups->groups[group];
}

bool is_product(const GroupAccess& access) { return access.segment.party.chain == products_chain; }

/// "thread 3 of warps 0 to 3", "one thread of warp 4", "a product of warps 0 to 3".
std::string who(const GroupAccess& access, std::uint32_t thread, const Context& context) {
  const PlannedGroup& group = named_group(context, access.group);
  if (is_product(access)) return fmt::format("a product of {}", group.name);
  if (access.is_chain()) return fmt::format("an asynchronous access of {}", group.name);
  if (group.threads.count == 1) return group.name;
  return fmt::format("thread {} of {}", thread - group.threads.first, group.name);
}

/// A wait of the current group at an object.
struct LatestWait {
  const PhaseWait* wait = nullptr;
  std::size_t object = 0;
};

/// The last wait of the current group at a memory barrier.
LatestWait find_latest_wait(const Context& context) {
  const BlockState& state = context.state;
  LatestWait latest;
  for (std::size_t i = 0; i < state.parties.objects().size(); ++i) {
    const PhaseWait* wait = state.parties.object(i).last_wait(state.group);
    if (wait == nullptr) continue;
    if (latest.wait != nullptr && wait->segment.number < latest.wait->segment.number) continue;
    latest = {wait, i};
  }
  return latest;
}

void explain_waits(const GroupRace& race, Context& context) {
  const BlockState& state = context.state;
  const auto [latest, object] = find_latest_wait(context);
  if (latest == nullptr || race.earlier.group == state.group) return;
  const std::string phase = latest->phase < 0 ? "the phase before the first, so it passed at once"
                                              : fmt::format("phase {}", latest->phase);
  add_note(
      context.fault->diagnostic,
      fmt::format("the last wait of {} before is for {} of {}, which does not follow that access",
                  named_group(context, state.group).name, phase,
                  context.settings.groups->objects[object].name),
      latest->span);
}

/// Whether something that the current group knows was released by single threads of the other group
/// after its access, but not by the thread that made it.
bool was_released_by_another_thread(const GroupRace& race, const Context& context) {
  const BlockState& state = context.state;
  const PlannedGroup& other = named_group(context, race.earlier.group);
  const PartyClock& seen = state.parties.group(state.group).common.seen;
  for (std::uint32_t t = other.threads.first; t < other.threads.end(); ++t) {
    if (t != race.earlier_thread && seen.is_after(race.earlier.segment, t)) return true;
  }
  return false;
}

/// Whether a group is another one or inside of it.
bool is_within(std::uint16_t group, std::uint16_t other, const Context& context) {
  std::int32_t at = group;
  while (at >= 0 && at != other) at = named_group(context, static_cast<std::uint16_t>(at)).parent;
  return at >= 0;
}

/// Whether a product that the current group, or one around, has begun is not waited for yet. When
/// other groups wait does not matter: what they do not say is not known.
bool is_unwaited(const GroupAccess& product, const Context& context) {
  return is_within(context.state.group, product.group, context) &&
         find_group_product(product.group, product.segment.number, context) != nullptr;
}

/// Whether the current group knows of the wait of some warp for its part of a product.
bool knows_a_wait(const GroupAccess& product, const Context& context) {
  const BlockState& state = context.state;
  const PartyClock& seen = state.parties.group(state.group).common.seen;
  const ThreadRange& in = product.completes_in;
  for (std::uint32_t thread = in.first; thread < in.end(); ++thread) {
    if (seen.is_after(product.segment, thread)) return true;
  }
  return false;
}

/// Notes where the group of a product arrived at the phase for which the current group waited last.
void explain_early_arrival(const GroupRace& race, Context& context) {
  const auto [wait, number] = find_latest_wait(context);
  if (wait == nullptr) return;
  const CompletePhase* const phase =
      context.state.parties.object(number).complete_phase(wait->phase);
  if (phase == nullptr) return;
  const auto by_group = [&](const PhaseArrival& arrival) {
    return is_within(arrival.group, race.earlier.group, context);
  };
  const auto found = std::find_if(phase->arrivals.begin(), phase->arrivals.end(), by_group);
  if (found == phase->arrivals.end()) return;
  const PlannedGroup& group = named_group(context, found->group);
  add_note(
      context.fault->diagnostic,
      fmt::format("{} arrived at that phase here, before the wait for the product", group.name),
      found->span);
}

/// Says in which block of a cluster the tensor is, if the access is of another one.
void explain_block(const GroupRace& race, Context& context) {
  const std::uint32_t from = context.settings.groups->block_of(race.now.group);
  if (race.now.block == from) return;
  add_note(context.fault->diagnostic,
           fmt::format("it is `{}` of block {} of the cluster, which a thread of block {} reaches",
                       race.resolved.access->tensor, race.now.block, from));
}

/// Says how a write comes after a product that reads what is written.
void explain_product_order(const GroupRace& race, Context& context) {
  Diagnostic& diagnostic = context.fault->diagnostic;
  const std::uint16_t mine = context.state.group, other = race.earlier.group;
  const std::string& name = named_group(context, other).name;
  if (is_within(mine, other, context)) {
    if (is_unwaited(race.earlier, context)) {
      explain_group_product(other, race.earlier.segment.number, context);
    }
    add_note(
        diagnostic,
        "each warp waits for its own part of a product: a `Synchronize()` must follow the wait "
        "before other warps, or copies, overwrite its operands");
    return;
  }
  if (knows_a_wait(race.earlier, context)) {
    add_note(diagnostic,
             fmt::format("each warp waits for its own part of a product, and one thread of {} "
                         "arrived for all: insert `Synchronize()` of the group between "
                         "`DotAsyncWaitGroup` and the arrival, or let all of its threads arrive",
                         name));
    return;
  }
  explain_waits(race, context);
  explain_early_arrival(race, context);
  add_note(diagnostic,
           fmt::format("{} must retire the product by `DotAsyncWaitGroup` and then `Arrive` at a "
                       "barrier, and {} must `WaitBarrier` for that phase before this line",
                       name, named_group(context, mine).name));
}

void explain_order(const GroupRace& race, Context& context) {
  Diagnostic& diagnostic = context.fault->diagnostic;
  const std::uint16_t mine = context.state.group, other = race.earlier.group;
  const std::string other_name = named_group(context, other).name;
  if (is_product(race.earlier)) return explain_product_order(race, context);
  const bool is_counted = race.earlier.is_chain() && race.earlier.kind == AccessKind::write &&
                          race.earlier.segment.party.proxy == isa::Proxy::async;
  if (is_counted) {
    add_note(diagnostic,
             fmt::format("before it {} must wait for the phase of the barrier that counts the "
                         "copy's bytes, or hear by a barrier of others who have waited",
                         named_group(context, mine).name));
    return;
  }
  if (race.earlier.is_chain()) {
    add_note(
        diagnostic,
        mine == other
            ? "wait for it first: for its commit group, and then `Synchronize()`, so that all "
              "threads of the group know; or for the phase of the barrier that counts its bytes"
            : fmt::format("{} must wait for it first and then arrive at a barrier for which {} "
                          "{}",
                          other_name, named_group(context, mine).name,
                          named_group(context, mine).verb("waits", "wait")));
    return;
  }
  if (mine == other) {
    add_note(diagnostic, "insert `Synchronize()` of the group between the two");
    return;
  }
  if (was_released_by_another_thread(race, context)) {
    add_note(
        diagnostic,
        fmt::format("one thread of {} arrived at a barrier after that access, which says nothing "
                    "of the others: insert `Synchronize()` of the group before the arrival, or "
                    "let all of its threads arrive",
                    other_name));
    return;
  }
  explain_waits(race, context);
  add_note(
      diagnostic,
      fmt::format("between the two, {} must `Arrive` at a barrier after that access and {} must "
                  "`WaitBarrier` for the same phase before this one",
                  other_name, named_group(context, mine).name));
}

}  // namespace

bool report_group_race(const GroupRace& race, Context& context) {
  const SharedAccess& access = *race.resolved.access;
  const bool waited = is_product(race.earlier) &&
                      is_within(context.state.group, race.earlier.group, context) &&
                      !is_unwaited(race.earlier, context);
  const bool in_flight = race.earlier.is_chain() && !race.lacks_fence && !waited;
  const Code code = race.lacks_fence ? Code::proxy_not_fenced
                    : in_flight      ? Code::in_flight_access
                                     : Code::race;
  const std::string elements = elements_text(race.elements, access.tensor),
                    first = element_text(access.tensor, race.first);
  const std::string now_who = who(race.now, race.thread, context);
  const std::string earlier_who = who(race.earlier, race.earlier_thread, context);
  std::string message;
  if (race.lacks_fence) {
    message = fmt::format(
        "`{}` may not see {}, first {}: {} {} what {} {} by the generic proxy, with "
        "no `FenceProxy` in between",
        access.mnemonic, elements, first, now_who, verb(race.now.kind), earlier_who,
        past_verb(race.earlier.kind));
  } else {
    message = fmt::format(
        "`{}` races for {}, first {}: {} {} what {} {}, and nothing orders the two",
        access.mnemonic, elements, first, now_who, verb(race.now.kind), earlier_who,
        in_flight ? fmt::format("{} as long as it is under way", verb(race.earlier.kind))
                  : std::string(past_verb(race.earlier.kind)));
  }
  context.fail(code, access.span, std::move(message));
  if (!race.is_async) context.fault->thread = race.thread % context.settings.threads;
  add_note(context.fault->diagnostic,
           fmt::format("the other access is here{}", in_flight ? ", and goes on" : ""),
           race.earlier.access->span);
  explain_block(race, context);
  explain_shared_address(access, race.first, context);
  explain_combinations(type_of(access, race.now.kind == AccessKind::read      ? SharedUse::read
                                       : race.now.kind == AccessKind::combine ? SharedUse::combine
                                                                              : SharedUse::write),
                       {race.earlier.kind, race.earlier.access->combination}, context);
  if (race.lacks_fence) {
    add_note(context.fault->diagnostic, std::string(fence_advice));
  } else {
    explain_order(race, context);
  }
  return false;
}

}  // namespace tilevm::sim
