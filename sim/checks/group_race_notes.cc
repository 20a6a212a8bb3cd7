#include "sim/checks/group_race_notes.h"

#include <fmt/format.h>

#include <string>

#include "sim/access/access_reports.h"
#include "sim/checks/shared_races.h"

namespace tilevm::sim {
namespace {

const PlannedGroup& named_group(const Context& context, std::uint16_t group) {
  return context.settings.groups->groups[group];
}

/// "thread 3 of warps 0 to 3", "one thread of warp 4", "a copy of warps 0 to 3".
std::string who(const GroupAccess& access, std::uint32_t thread, const Context& context) {
  const PlannedGroup& group = named_group(context, access.group);
  if (access.is_chain()) return fmt::format("an asynchronous access of {}", group.name);
  if (group.threads.count == 1) return group.name;
  return fmt::format("thread {} of {}", thread - group.threads.first, group.name);
}

/// The last wait of the current group at an object whose last complete phase its peer completed.
void explain_waits(const GroupRace& race, Context& context) {
  const BlockState& state = context.state;
  const GroupsPlan& plan = *context.settings.groups;
  const PhaseWait* latest = nullptr;
  std::size_t object = 0;
  for (std::size_t i = 0; i < plan.first_named; ++i) {
    const PhaseWait* wait = state.parties.object(i).last_wait(state.group);
    if (wait == nullptr || (latest != nullptr && wait->segment.number < latest->segment.number)) {
      continue;
    }
    latest = wait;
    object = i;
  }
  if (latest == nullptr || race.earlier.group == state.group) return;
  const std::string phase = latest->phase < 0 ? "the phase before the first, so it passed at once"
                                              : fmt::format("phase {}", latest->phase);
  add_note(
      context.fault->diagnostic,
      fmt::format("the last wait of {} before is for {} of {}, which does not follow that access",
                  named_group(context, state.group).name, phase, plan.objects[object].name),
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

void explain_order(const GroupRace& race, Context& context) {
  Diagnostic& diagnostic = context.fault->diagnostic;
  const std::uint16_t mine = context.state.group, other = race.earlier.group;
  const std::string other_name = named_group(context, other).name;
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
  const bool in_flight = race.earlier.is_chain() && !race.lacks_fence;
  const Code code = race.lacks_fence ? Code::proxy_not_fenced
                    : in_flight      ? Code::in_flight_access
                                     : Code::race;
  const std::string elements = elements_text(race.elements, access.tensor),
                    first = element_text(access.tensor, race.first);
  const std::string now_who = race.is_async ? fmt::format("an asynchronous access of {}",
                                                          named_group(context, race.now.group).name)
                                            : who(race.now, race.thread, context);
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
  if (!race.is_async) context.fault->thread = static_cast<std::int64_t>(race.thread);
  add_note(context.fault->diagnostic,
           fmt::format("the other access is here{}", in_flight ? ", and goes on" : ""),
           race.earlier.access->span);
  explain_shared_address(access, race.first, context);
  explain_combinations(type_of(access, race.now.kind == AccessKind::read      ? SharedUse::read
                                       : race.now.kind == AccessKind::combine ? SharedUse::combine
                                                                              : SharedUse::write),
                       {race.earlier.kind, race.earlier.access->combination}, context);
  if (race.lacks_fence) {
    add_note(context.fault->diagnostic,
             "insert `FenceProxy()` after the store, by the threads that stored, before they "
             "synchronize with the thread that begins the asynchronous access");
  } else {
    explain_order(race, context);
  }
  return false;
}

}  // namespace tilevm::sim
