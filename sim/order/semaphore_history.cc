#include "sim/order/semaphore_history.h"

#include <algorithm>
#include <utility>

namespace tilevm::sim {
namespace {

/// Stores and waits that are kept of each semaphore. Older ones could only show more.
constexpr std::size_t most_kept = 64;

}  // namespace

PartyClock SemaphoreHistory::guaranteed(std::uint32_t value, const PartyClock& waiter) const {
  const auto is_overwritten = [&](const Store* store) {
    return std::any_of(stores_.begin(), stores_.end(), [&](const Store& later) {
      return &later != store && waiter.is_after(later.segment) &&
             (store == nullptr || later.left.is_after(store->segment));
    });
  };
  if (!forgot_ && initial_ == value && !is_overwritten(nullptr)) return {};
  std::optional<PartyClock> common;
  for (const Store& store : stores_) {
    if (store.value != value || is_overwritten(&store)) continue;
    common ? common->meet(store.left) : static_cast<void>(common = store.left);
  }
  return common.value_or(PartyClock{});
}

void SemaphoreHistory::found(std::uint32_t value) {
  if (!initial_) initial_ = last_ = value;
}

void SemaphoreHistory::stored(const Segment& segment, const SemaphoreUse& use,
                              const PartyClock& left) {
  last_ = use.after;
  for (const Passed& wait : passed_) {
    if (wait.segment.party == segment.party || left.is_after(wait.segment)) continue;
    if (use.after != wait.use.before && lost_.size() < most_kept) {
      lost_.push_back({wait.segment, segment, wait.use, use});
    }
  }
  if (stores_.size() == most_kept) {
    stores_.erase(stores_.begin());
    forgot_ = true;
  }
  stores_.push_back({segment, use.after, left});
}

void SemaphoreHistory::passed(const Segment& segment, const SemaphoreUse& use) {
  if (passed_.size() == most_kept) passed_.erase(passed_.begin());
  passed_.push_back({segment, use});
}

std::optional<LostWait> SemaphoreHistory::lost_wait() const {
  const auto lost = std::find_if(lost_.begin(), lost_.end(),
                                 [&](const LostWait& each) { return each.wait.before != last_; });
  return lost == lost_.end() ? std::nullopt : std::optional(*lost);
}

}  // namespace tilevm::sim
