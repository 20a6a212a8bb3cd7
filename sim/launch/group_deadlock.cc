#include "sim/launch/group_deadlock.h"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "sim/checks/group_barriers.h"
#include "sim/state/cluster.h"

namespace tilevm::sim {
namespace {

/// "1 of 2 arrivals", "1 of 2 arrivals and 4096 bytes".
std::string needs_of(const SyncObject& object) {
  std::string text;
  if (object.pending > 0) {
    text = fmt::format("{} of {} arrival{}", object.pending, object.expected,
                       object.expected == 1 ? "" : "s");
  }
  if (object.bytes < 0) {
    text += fmt::format("{}{} bytes", text.empty() ? "" : " and ", -object.bytes);
  } else if (object.bytes > 0) {
    text += fmt::format("{}an `ArriveExpect` of {} bytes that have come",
                        text.empty() ? "" : " and ", object.bytes);
  }
  return text;
}

struct Waiter {
  const PlannedGroup& group;
  const GroupWait& wait;
  const PlannedObject& planned;
  const SyncObject& object;
};

std::string sentence(const Waiter& waiter) {
  return fmt::format("{} {} for phase {} of {}, which still needs {}", waiter.group.name,
                     waiter.group.verb("waits", "wait"), waiter.wait.phase, waiter.planned.name,
                     needs_of(waiter.object));
}

}  // namespace

void report_group_deadlock(Context& context) {
  const BlockState& state = context.state;
  if (state.overtaken) {
    static_cast<void>(report_overtaken(context));
    return;
  }
  const GroupsPlan& plan = *context.settings.groups;
  std::vector<Waiter> waiters;
  for (std::size_t i = 0; i < state.groups.size(); ++i) {
    const GroupState& group = state.groups[i];
    if (group.status != GroupState::Status::running || !group.wait) continue;
    const std::size_t object = group.wait->object;
    waiters.push_back(
        {plan.groups[i], *group.wait, plan.objects[object], state.parties.object(object)});
  }
  enter_block(plan.block_of(static_cast<std::size_t>(&waiters.front().group - plan.groups.data())),
              context.state);
  context.fail(Code::deadlock, waiters.front().wait.span,
               fmt::format("the {} waits for ever: {}", plan.blocks == 1 ? "block" : "cluster",
                           sentence(waiters.front())));
  Diagnostic& diagnostic = context.fault->diagnostic;
  for (std::size_t i = 1; i < waiters.size(); ++i) {
    add_note(diagnostic, fmt::format("and {}", sentence(waiters[i])), waiters[i].wait.span);
  }
  for (const Waiter& waiter : waiters) {
    for (const PhaseArrival& arrival : waiter.object.arrivals) {
      add_note(diagnostic,
               fmt::format("{} arrived at this phase of {} here", arrived(arrival, context),
                           waiter.planned.name),
               arrival.span);
    }
  }
  for (std::size_t i = 1; i < state.groups.size(); ++i) {
    const bool never_began = state.groups[i].status == GroupState::Status::absent;
    const bool is_of_block =
        plan.groups[i].parent >= 0 &&
        plan.groups[static_cast<std::size_t>(plan.groups[i].parent)].parent < 0;
    if (!never_began || !is_of_block || plan.groups[i].span == Span{}) continue;
    if (plan.groups[i].span.begin < waiters.front().wait.span.begin) continue;
    add_note(diagnostic,
             fmt::format("{} {} here only after the groups before have ended; groups that run at "
                         "the same time follow one another with no statement in between",
                         plan.groups[i].name, plan.groups[i].verb("begins", "begin")),
             plan.groups[i].span);
    break;
  }
  add_note(diagnostic,
           "count who arrives: each thread of a group counts, and in `with single_thread():` one");
}

}  // namespace tilevm::sim
