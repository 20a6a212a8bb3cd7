#include "sim/order/sync_object.h"

#include <algorithm>
#include <utility>

namespace tilevm::sim {

bool SyncObject::end_phase() {
  if (!is_complete()) return false;
  ++phase;
  pending = expected;
  left.seen.raise(chain, static_cast<std::uint32_t>(phase));
  constexpr std::size_t most_phases = 4;
  if (completed.size() == most_phases) completed.erase(completed.begin());
  completed.push_back({left, std::exchange(arrivals, {})});
  return true;
}

const CompletePhase* SyncObject::complete_phase(std::int64_t number) const {
  const std::int64_t behind = phase - number;
  if (number < 0 || behind < 1 || behind > static_cast<std::int64_t>(completed.size())) {
    return nullptr;
  }
  return &completed[completed.size() - static_cast<std::size_t>(behind)];
}

const PhaseWait* SyncObject::last_wait(std::uint16_t group) const {
  const auto found = std::find_if(waits.begin(), waits.end(),
                                  [&](const PhaseWait& wait) { return wait.group == group; });
  return found == waits.end() ? nullptr : &*found;
}

void SyncObject::note_wait(const PhaseWait& wait) {
  const auto found = std::find_if(waits.begin(), waits.end(), [&](const PhaseWait& known) {
    return known.group == wait.group;
  });
  found == waits.end() ? waits.push_back(wait) : static_cast<void>(*found = wait);
}

}  // namespace tilevm::sim
