#include "sim/checks/shared_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/checks/granules.h"
#include "sim/checks/group_races.h"
#include "sim/checks/product_checks.h"
#include "sim/checks/redundancy.h"
#include "sim/checks/shared_races.h"
#include "sim/state/access_observer.h"

namespace tilevm::sim {
namespace {

/// Bits of a vector are set by words, where a loop would set each.
void fill_granules(std::vector<bool>& granules, std::uint64_t begin, std::uint64_t end,
                   bool value) {
  const auto first = granules.begin();
  std::fill(first + static_cast<std::ptrdiff_t>(begin), first + static_cast<std::ptrdiff_t>(end),
            value);
}

/// Whether a pending copy writes a granule.
bool fills(const PendingCopy& copy, std::uint64_t granule, Context& context) {
  return !for_each_granules(
      resolve_at(copy.plan->destination, copy.shared_origin, context), 0,
      context.settings.granule_shift,
      [&](std::uint64_t begin, std::uint64_t end) { return granule < begin || granule >= end; });
}

bool report_in_flight(const ResolvedAccess& resolved, std::string_view verb, Context& context) {
  const SharedAccess& access = *resolved.access;
  SharedMemory& shared = context.state.shared;
  const auto found =
      find_elements(resolved, context.settings.granule_shift,
                    [&](std::size_t, std::uint64_t granule) { return shared.in_flight[granule]; });
  context.fail(Code::in_flight_access, access.span,
               fmt::format("`{}` {} {} while a copy to them is in flight, first {}",
                           access.mnemonic, verb, elements_text(found.count, access.tensor),
                           element_text(access.tensor, found.first)));
  if (access.parts->threads > 1) context.fault->thread = static_cast<std::int64_t>(found.thread);
  explain_shared_address(access, found.first, context);
  const auto copy = std::find_if(
      shared.copies.begin(), shared.copies.end(),
      [&](const PendingCopy& pending) { return fills(pending, found.detail, context); });
  if (copy != shared.copies.end()) explain_copy(*copy, context);
  return false;
}

bool is_in_flight(const ResolvedAccess& resolved, Context& context) {
  const SharedMemory& shared = context.state.shared;
  if (shared.in_flight.empty()) return false;
  const GranuleRange range = granules_of(resolved, context);
  const bool is_near = std::any_of(
      shared.copies.begin(), shared.copies.end(),
      [&](const PendingCopy& copy) { return range.begin < copy.high && copy.low < range.end; });
  if (!is_near) return false;
  for (std::size_t t = 0; t < resolved.access->tile.threads; ++t) {
    const bool clear = for_each_granules(resolved, t, context.settings.granule_shift,
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

}  // namespace

bool check_shared_access(const ResolvedAccess& resolved, SharedUse use, Context& context) {
  AccessObserver* const observer = context.settings.observers.accesses;
  if (observer != nullptr)
    observer->shared(*resolved.access, resolved.origin, writes(use), context);
  if (context.settings.has_parties()) return check_group_access(resolved, use, context);
  if (is_in_flight(resolved, context)) {
    return report_in_flight(resolved, writes(use) ? "writes" : "reads", context);
  }
  if (writes(use) && !check_overwrites(resolved, context)) return false;
  if (!check_race(resolved, use, context)) return false;
  if (use == SharedUse::product && !check_operand(resolved, context)) return false;
  check_without_barrier(resolved, use, context);
  switch (use) {
    case SharedUse::read:
    case SharedUse::product:
      break;
    case SharedUse::write:
    case SharedUse::combine:
      note_generic_store(resolved, context);
      break;
    case SharedUse::copy:
      note_async_store(resolved, context);
      break;
  }
  return true;
}

bool check_copy(const ResolvedAccess& destination, Context& context) {
  if (!check_shared_access(destination, SharedUse::copy, context)) return false;
  SharedMemory& shared = context.state.shared;
  if (shared.in_flight.empty()) return true;
  return for_each_granules(destination, 0, context.settings.granule_shift,
                           [&](std::uint64_t begin, std::uint64_t end) {
                             fill_granules(shared.in_flight, begin, end, true);
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
      add_note(diagnostic, "it is retired here, but no `Synchronize()` follows", wait.span);
      return;
    case PendingCopy::Stage::committed:
      break;
  }
  if (wait.groups >= copy.group && !context.settings.conditional_commits->empty()) {
    add_note(diagnostic,
             fmt::format("`CopyAsyncWaitGroup({})` leaves its group in flight", wait.pending),
             wait.span);
    add_note(
        diagnostic,
        "this `CopyAsyncCommitGroup()` is in a branch: where the branch is not taken there is "
        "one group less, and the wait counts an older one; commit outside of the branch, since "
        "a group may be empty",
        context.settings.conditional_commits->front());
  } else if (wait.groups >= copy.group) {
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

void end_flight(const PendingCopy& copy, Context& context) {
  SharedMemory& shared = context.state.shared;
  if (shared.in_flight.empty()) return;
  const ResolvedAccess destination =
      resolve_at(copy.plan->destination, copy.shared_origin, context);
  static_cast<void>(for_each_granules(destination, 0, context.settings.granule_shift,
                                      [&](std::uint64_t begin, std::uint64_t end) {
                                        fill_granules(shared.in_flight, begin, end, false);
                                        return true;
                                      }));
}

}  // namespace tilevm::sim
