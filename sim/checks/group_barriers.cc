// More than 400 lines: beside the uses of barriers stand the reports of what is wrong with them.
#include "sim/checks/group_barriers.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "sim/access/copy_plan.h"
#include "sim/checks/cluster_checks.h"

namespace tilevm::sim {
namespace {

constexpr std::uint32_t warp_threads = 32;
/// Bytes that a barrier counts ahead or behind (PTX ISA, tx-count).
constexpr std::int64_t max_bytes = std::int64_t{1} << 20;

const PlannedGroup& planned_group(const Context& context, std::uint16_t group) {
  return context.settings.groups->groups[group];
}
const PlannedObject& planned(const Context& context, std::size_t object) {
  return context.settings.groups->objects[object];
}
/// "warps 0 to 3", or "one thread of warp 0".
const std::string& group_name(const Context& context, std::uint16_t group) {
  return planned_group(context, group).name;
}

/// How many phases of an object all threads of the current group know to be complete by waits,
/// their own or those of others from whom they heard.
std::int64_t awaited_phases(const SyncObject& object, const Context& context) {
  const BlockState& state = context.state;
  const GroupKnowledge& mine = state.parties.group(state.group);
  const std::uint32_t common = mine.common.seen[object.chain];
  if (mine.partial.empty()) return common;
  // What threads know differs only where a range of them begins or ends.
  std::vector<std::uint32_t> threads{mine.threads.first};
  for (const PartialKnowledge& each : mine.partial) {
    for (const std::uint32_t thread : {each.threads.first, each.threads.end()}) {
      if (mine.threads.has(thread)) threads.push_back(thread);
    }
  }
  std::uint32_t least = std::numeric_limits<std::uint32_t>::max();
  for (const std::uint32_t thread : threads) {
    std::uint32_t known = common;
    for (const PartialKnowledge& each : mine.partial) {
      if (each.threads.has(thread)) known = std::max(known, each.knows.seen[object.chain]);
    }
    least = std::min(least, known);
  }
  return least;
}

/// Whether all threads of the current group know all arrivals of a complete phase, and so know that
/// it is complete.
bool knows_arrivals(const CompletePhase& phase, const Context& context) {
  const BlockState& state = context.state;
  return std::all_of(
      phase.arrivals.begin(), phase.arrivals.end(), [&](const PhaseArrival& arrival) {
        const ThreadRange& threads = planned_group(context, arrival.group).threads;
        if (arrival.is_counted) return false;
        const Knowledge& common = state.parties.group(state.group).common;
        if (common.seen.is_after(arrival.segment)) return true;
        for (std::uint32_t thread = threads.first; thread < threads.end(); ++thread) {
          if (!state.parties.is_known({arrival.segment, thread, false}, state.group)) return false;
        }
        return true;
      });
}

/// How many phases of an object all threads of the current group know to be complete.
std::int64_t known_phases(const SyncObject& object, const Context& context) {
  const std::int64_t awaited = awaited_phases(object, context);
  for (std::int64_t known = object.phase; known > awaited; --known) {
    const CompletePhase* const last = object.complete_phase(known - 1);
    if (last == nullptr) break;
    if (knows_arrivals(*last, context)) return known;
  }
  return awaited;
}

/// The rank in the cluster of the block whose barrier is used.
std::uint32_t block_of(const BarrierUseSite& site, const Context& context) {
  return static_cast<std::uint32_t>(site.object / context.settings.groups->block_objects);
}

/// Whether every thread of the group sees that the barrier was initialised.
bool is_visible(const BarrierUseSite& site, Context& context) {
  const SyncObject& object = context.state.parties.object(site.object);
  if (!context.settings.groups->is_memory_barrier(site.object)) return true;
  const std::uint16_t group = context.state.group;
  if (object.made && context.state.parties.is_known({*object.made, object.maker, true}, group)) {
    return true;
  }
  const PlannedObject& plan = planned(context, site.object);
  const bool is_remote = block_of(site, context) != context.settings.groups->block_of(group);
  context.fail(Code::barrier_not_ready, site.span,
               fmt::format("`{}` uses {} before its initialisation is visible to all threads of {}",
                           site.mnemonic, plan.name, group_name(context, group)));
  add_note(context.fault->diagnostic,
           fmt::format("one thread {}initialises the barrier here; insert `{}()` after it, before "
                       "the first use",
                       is_remote ? "of its block " : "",
                       is_remote ? "SynchronizeCluster" : "Synchronize"),
           plan.span);
  return false;
}

/// Adds a note about an object where it is made; a named barrier is made nowhere.
void add_note_at(std::size_t object, std::string text, Context& context) {
  const Span span = planned(context, object).span;
  if (span == Span{}) {
    add_note(context.fault->diagnostic, std::move(text));
  } else {
    add_note(context.fault->diagnostic, std::move(text), span);
  }
}

/// Adds notes about who arrived at the present phase.
void explain_arrivals(const SyncObject& object, Context& context) {
  for (const PhaseArrival& arrival : object.arrivals) {
    add_note(context.fault->diagnostic,
             fmt::format("{} arrived here before", arrived(arrival, context)), arrival.span);
  }
}

bool too_many_arrivals(const BarrierUseSite& site, std::uint32_t threads, Context& context) {
  if (context.state.overtaken) return report_overtaken(context);
  const SyncObject& object = context.state.parties.object(site.object);
  const std::string group{group_name(context, context.state.group)};
  const std::string who = threads == 1 ? group : fmt::format("{} threads of {}", threads, group);
  context.fail(Code::barrier_phase, site.span,
               fmt::format("`{}` by {}, but phase {} of {} takes {} more of {} arrival{}",
                           site.mnemonic, who, object.phase, planned(context, site.object).name,
                           object.pending, object.expected, object.expected == 1 ? "" : "s"));
  explain_arrivals(object, context);
  add_note(
      context.fault->diagnostic,
      fmt::format("every thread of a group arrives: let one of them arrive in `with "
                  "single_thread():`, after a `Synchronize()` of the group, or make the barrier "
                  "with as many arrivals"));
  add_note_at(site.object, "the barrier is made here", context);
  return false;
}

/// What completed the last complete phase.
const PhaseArrival* last_arrival(const SyncObject& object) {
  if (object.completed.empty() || object.completed.back().arrivals.empty()) return nullptr;
  return &object.completed.back().arrivals.back();
}

/// An arrival by threads that do not know that the phase before is complete may, in another order,
/// count for that phase. A wait that may be overtaken decides the phases of the arrivals behind it:
/// that wait is then reported as the cause.
bool ambiguous_arrival(const BarrierUseSite& site, std::int64_t known, Context& context) {
  if (context.state.overtaken) return report_overtaken(context);
  const SyncObject& object = context.state.parties.object(site.object);
  const std::string& name = planned(context, site.object).name;
  context.fail(Code::barrier_phase, site.span,
               fmt::format("`{}` may count for phase {} of {} instead of phase {}: {} did not wait "
                           "for phase {}",
                           site.mnemonic, known, name, object.phase,
                           group_name(context, context.state.group), object.phase - 1));
  if (const PhaseArrival* const last = last_arrival(object)) {
    add_note(context.fault->diagnostic,
             fmt::format("phase {} takes {} arrival{} and was completed by {} here",
                         object.phase - 1, object.expected, object.expected == 1 ? "" : "s",
                         group_name(context, last->group)),
             last->span);
  }
  add_note_at(site.object,
              fmt::format("if both belong to one phase, {} needs more arrivals; else wait for the "
                          "phase before the next arrival, or for another barrier that follows it",
                          name),
              context);
  return false;
}

/// Bytes of copies under way that an object counts.
std::int64_t bytes_under_way(std::size_t object, const Context& context) {
  std::int64_t bytes = 0;
  for (const AsyncOperation& each : context.state.under_way) {
    if (each.object == object) bytes += each.bytes;
  }
  return bytes;
}

/// All arrivals of a phase have come, and with them all bytes that it expects: `extra` more come.
bool too_many_bytes(const BarrierUseSite& site, std::int64_t extra, Context& context) {
  const SyncObject& object = context.state.parties.object(site.object);
  const std::string& name = planned(context, site.object).name;
  context.fail(Code::barrier_phase, site.span,
               fmt::format("phase {} of {} gets {} bytes more than its arrivals expect: all have "
                           "come, and it never completes",
                           object.phase, name, extra));
  for (const AsyncOperation& each : context.state.under_way) {
    if (each.object != site.object || each.span == site.span) continue;
    add_note(context.fault->diagnostic, fmt::format("this copy brings {} bytes", each.bytes),
             each.span);
    break;
  }
  if (!object.arrivals.empty()) {
    const PhaseArrival& last = object.arrivals.back();
    add_note(context.fault->diagnostic,
             fmt::format("{} arrived here", group_name(context, last.group)), last.span);
  }
  add_note(context.fault->diagnostic,
           "`ArriveExpect` expects the bytes of all copies of a phase; a copy by a tensor map "
           "counts its whole box, elements outside of the view included");
  return false;
}

/// "phase 3", or "the phase before the first".
std::string phase_name(std::int64_t phase) {
  return phase < 0 ? "the phase before the first" : fmt::format("phase {}", phase);
}

/// Keeps the first one: a race that follows says more.
void note_overtaken(const PhaseWait& wait, std::size_t number, Context& context) {
  BlockState& state = context.state;
  if (state.overtaken || !context.settings.checks.races) return;
  const PhaseArrival* const last = last_arrival(state.parties.object(number));
  state.overtaken = OvertakenWait{number, wait, last == nullptr ? Span{} : last->span};
}

/// Whether every warp of a group has passed a wait before what a clock is after. One thread of
/// a warp suffices: what single threads did later is known of elected threads alone, and
/// `elect.sync` lets all threads of the warp come first.
bool has_passed(const PhaseWait& wait, const PartyClock& seen, const Context& context) {
  const ThreadRange& threads = planned_group(context, wait.group).threads;
  for (std::uint32_t warp = threads.first; warp < threads.end(); warp += warp_threads) {
    std::uint32_t thread = warp;
    const std::uint32_t end = std::min(warp + warp_threads, threads.end());
    while (thread < end && !seen.is_after(wait.segment, thread)) ++thread;
    if (thread == end) return false;
  }
  return true;
}

/// When a phase has completed, whoever waited for the one before has passed in every order.
void check_not_overtaken(std::size_t number, std::int64_t phase, Context& context) {
  const SyncObject& object = context.state.parties.object(number);
  for (const PhaseWait& wait : object.waits) {
    if (wait.phase == phase - 1 && !has_passed(wait, object.left.seen, context)) {
      note_overtaken(wait, number, context);
    }
  }
}

/// Ends the phase of an object if it is complete.
void end_phase(std::size_t number, Context& context) {
  SyncObject& object = context.state.parties.object(number);
  const std::int64_t phase = object.phase;
  if (object.end_phase()) check_not_overtaken(number, phase, context);
}

/// Place of a copy to global memory that may still read shared memory; none if all have been
/// waited for.
Span unread_store(const BlockState& state) {
  for (const TensorStores& stores : state.tensor_stores) {
    if (stores.is_open || stores.read < stores.groups) return stores.last;
  }
  return {};
}

}  // namespace

std::string arrived(const PhaseArrival& arrival, const Context& context) {
  const PlannedGroup& group = planned_group(context, arrival.group);
  if (group.threads.count == 1) return group.name;
  return fmt::format("{} threads of {}", arrival.threads, group.name);
}

void make_barrier(std::size_t own_object, Context& context) {
  BlockState& state = context.state;
  const std::size_t object = context.settings.groups->object_of(state.rank, own_object);
  SyncObject& made = state.parties.object(object);
  made.expected = made.pending = planned(context, object).arrivals;
  made.made = state.parties.segment(state.group);
  made.maker = planned_group(context, state.group).threads.first;
}

bool begin_counted(const BarrierUseSite& site, std::int64_t bytes, Context& context) {
  if (!is_visible(site, context)) return false;
  const SyncObject& object = context.state.parties.object(site.object);
  const std::int64_t known = known_phases(object, context);
  if (known < object.phase) {
    context.fail(Code::barrier_phase, site.span,
                 fmt::format("the bytes of `{}` may count for phase {} of {} instead of phase {}: "
                             "{} did not wait for phase {}",
                             site.mnemonic, known, planned(context, site.object).name, object.phase,
                             group_name(context, context.state.group), object.phase - 1));
    if (const PhaseArrival* const last = last_arrival(object)) {
      add_note(context.fault->diagnostic,
               fmt::format("phase {} was completed without them; {} arrived at it here",
                           object.phase - 1, group_name(context, last->group)),
               last->span);
    }
    add_note(context.fault->diagnostic,
             "if the copy belongs to that phase, let an `ArriveExpect` of it expect its bytes, "
             "too; else wait for the phase first");
    return false;
  }
  const std::int64_t coming = object.bytes + bytes_under_way(site.object, context) + bytes;
  if (object.pending == 0 && coming > 0) return too_many_bytes(site, coming, context);
  if (coming < max_bytes) return true;
  context.fail(
      Code::barrier_phase, site.span,
      fmt::format("{} bytes come to phase {} of {} that no `ArriveExpect` expects; a "
                  "barrier counts to {}",
                  coming, object.phase, planned(context, site.object).name, max_bytes - 1));
  return false;
}

bool arrive(const BarrierUseSite& site, std::int64_t bytes, Context& context) {
  BlockState& state = context.state;
  const std::uint16_t group = state.group;
  const std::uint32_t threads = planned_group(context, group).threads.count;
  if (!is_visible(site, context)) return false;
  const RemoteUse use{0, state.parties.segment(group), site.mnemonic, site.span};
  if (!note_remote_use(block_of(site, context), use, context)) return false;
  SyncObject& object = state.parties.object(site.object);
  const std::int64_t known = known_phases(object, context);
  if (known < object.phase) return ambiguous_arrival(site, known, context);
  if (threads > object.pending) return too_many_arrivals(site, threads, context);
  const std::int64_t expected = bytes * threads;
  if (object.bytes - expected < -max_bytes) {
    context.fail(
        Code::barrier_phase, site.span,
        fmt::format("phase {} of {} would wait for {} bytes; a barrier counts to {}", object.phase,
                    planned(context, site.object).name, expected - object.bytes, max_bytes));
    return false;
  }
  object.left.join(state.parties.released(group));
  object.arrivals.push_back(
      {group, threads, site.span, state.parties.segment(group), expected > 0});
  state.parties.begin_segment(group);
  object.pending -= threads;
  object.bytes -= expected;
  const std::int64_t extra = object.bytes + bytes_under_way(site.object, context);
  if (object.pending == 0 && extra > 0) return too_many_bytes(site, extra, context);
  end_phase(site.object, context);
  return true;
}

bool wait_for_phase(const BarrierUseSite& site, std::uint64_t parity, Context& context) {
  BlockState& state = context.state;
  const std::uint16_t group = state.group;
  auto& wait = state.groups[group].wait;
  if (!is_visible(site, context)) return false;
  SyncObject& object = state.parties.object(site.object);
  const std::int64_t known = known_phases(object, context);
  const auto bit = static_cast<std::int64_t>(parity & 1U);
  const std::int64_t phase = (known & 1) == bit ? known : known - 1;
  const PhaseWait* const last = object.last_wait(group);
  if (context.settings.checks.races && last != nullptr && phase <= last->phase) {
    if (state.overtaken) return report_overtaken(context);
    context.fail(
        Code::barrier_phase, site.span,
        fmt::format(
            "`{}` passes at once for {} of {}, for which {} {} waited before: the parity is "
            "{}, and phase {} has parity {}",
            site.mnemonic, phase_name(phase), planned(context, site.object).name,
            group_name(context, group), planned_group(context, group).verb("has", "have"), bit,
            phase + 1, (phase + 1) & 1));
    add_note(context.fault->diagnostic, "the wait before is here", last->span);
    add_note(
        context.fault->diagnostic,
        "the parity of a stage changes whenever the ring of stages has been gone through: "
        "`parity=(k / STAGES) % 2`; `acquire_stage` and `wait_stage` of std/stages.tile count it");
    return false;
  }
  if (object.phase <= phase) {
    wait = GroupWait{site.object, phase, site.span};
    return true;
  }
  wait.reset();
  if (const Knowledge* learned = object.learned(phase)) state.parties.acquire(group, *learned);
  state.parties.begin_segment(group);
  const PhaseWait passed{group, phase, state.parties.segment(group), site.span};
  if (object.phase > phase + 1) note_overtaken(passed, site.object, context);
  object.note_wait(passed);
  state.parties.begin_segment(group);
  return true;
}

bool come_to_named(const BarrierUseSite& site, std::uint32_t warps, bool waits, Context& context) {
  BlockState& state = context.state;
  const std::uint16_t group = state.group;
  SyncObject& object = state.parties.object(site.object);
  auto& wait = state.groups[group].wait;
  if (wait) {  // it has come before
    if (const Knowledge* learned = object.learned(wait->phase)) {
      state.parties.acquire(group, *learned);
    }
    wait.reset();
    state.parties.begin_segment(group);
    return true;
  }
  const std::uint32_t threads = planned_group(context, group).threads.count;
  const bool is_first = object.arrivals.empty();
  if (is_first) object.expected = object.pending = warps * warp_threads;
  const std::string& name = planned(context, site.object).name;
  if (object.expected != warps * warp_threads) {
    context.fail(Code::named_barrier, site.span,
                 fmt::format("`{}` names {} warps for {}, where others name {}", site.mnemonic,
                             warps, name, object.expected / warp_threads));
    add_note(context.fault->diagnostic,
             fmt::format("{} came here", group_name(context, object.arrivals.front().group)),
             object.arrivals.front().span);
    add_note(context.fault->diagnostic,
             "all who come to a phase of a named barrier name the number "
             "of warps that come in all");
    return false;
  }
  const std::int64_t known = known_phases(object, context);
  if (known < object.phase) return ambiguous_arrival(site, known, context);
  if (threads > object.pending) {
    context.fail(
        Code::named_barrier, site.span,
        fmt::format("{} warps of {} come to {}, which takes {} more of {}", threads / warp_threads,
                    group_name(context, group), name, object.pending / warp_threads, warps));
    explain_arrivals(object, context);
    return false;
  }
  object.left.join(state.parties.released(group));
  object.arrivals.push_back({group, threads, site.span, state.parties.segment(group), false});
  state.parties.begin_segment(group);
  object.pending -= threads;
  const std::int64_t phase = object.phase;
  end_phase(site.object, context);
  if (!waits) return true;
  if (object.phase == phase) {
    wait = GroupWait{site.object, phase, site.span};
    return true;
  }
  if (const Knowledge* learned = object.learned(phase)) state.parties.acquire(group, *learned);
  state.parties.begin_segment(group);
  return true;
}

bool complete_bytes(std::size_t number, std::int64_t bytes, const Segment& segment,
                    Context& context) {
  SyncObject& object = context.state.parties.object(number);
  object.bytes += bytes;
  if (object.bytes >= max_bytes) {
    context.fail(
        Code::barrier_phase, planned(context, number).span,
        fmt::format("{} bytes have come to phase {} of {} that no `ArriveExpect` expects; a "
                    "barrier counts to {}",
                    object.bytes, object.phase, planned(context, number).name, max_bytes - 1));
    return false;
  }
  object.left.seen.raise(segment.party, segment.number + 1);
  object.left.fenced.raise(segment.party, segment.number + 1);
  end_phase(number, context);
  return true;
}

bool complete_operation(std::size_t position, Context& context) {
  auto& under_way = context.state.under_way;
  AsyncOperation operation = std::move(under_way[position]);
  under_way.erase(under_way.begin() + static_cast<std::ptrdiff_t>(position));
  if (!operation.plan->complete(operation, context)) return false;
  return !operation.object ||
         complete_bytes(*operation.object, operation.bytes, operation.segment, context);
}

bool report_overtaken(Context& context) {
  const OvertakenWait& found = *context.state.overtaken;
  context.fail(
      Code::barrier_phase, found.wait.span,
      fmt::format("this wait of {} for {} of {} may be overtaken: phase {} completes "
                  "whether the wait has passed or not, and then it waits for a later phase "
                  "of the same parity",
                  group_name(context, found.wait.group), phase_name(found.wait.phase),
                  planned(context, found.object).name, found.wait.phase + 1));
  if (found.completed != Span{}) {
    add_note(context.fault->diagnostic,
             fmt::format("phase {} is completed here", found.wait.phase + 1), found.completed);
  }
  add_note(context.fault->diagnostic,
           "whoever completes it must first wait for an arrival that follows this wait, by all "
           "threads of the group, or by one of them after a `Synchronize()` of the group");
  return false;
}

bool check_exit(Span span, bool is_last, Context& context) {
  const BlockState& state = context.state;
  if (is_last && state.overtaken) return report_overtaken(context);
  const auto& copies = state.shared.copies;
  const auto own = std::find_if(state.under_way.begin(), state.under_way.end(),
                                [&](const auto& each) { return each.block == state.rank; });
  const Span begun = own != state.under_way.end() ? own->span
                     : !copies.empty()            ? copies.front().plan->destination.span
                                                  : unread_store(state);
  if (begun == Span{}) return true;
  context.fail(Code::exit_in_flight, span,
               "the block ends while an asynchronous access is under way");
  add_note(
      context.fault->diagnostic,
      "it was begun here; wait for it before the end: for the phase of the barrier that counts "
      "its bytes, or for its commit group",
      begun);
  return false;
}

}  // namespace tilevm::sim
