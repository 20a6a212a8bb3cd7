#include "backend/emu/named_barriers.h"

#include <utility>

#include <fmt/format.h>

namespace tilevm::backend {

std::optional<std::string> NamedBarriers::refuse(unsigned barrier, unsigned thread,
                                                 unsigned expected) const {
  if (barrier >= count) {
    return fmt::format("there is no barrier {}: a block has {}", barrier, count);
  }
  if (expected == 0 || expected % 32 != 0 || expected > (threads_ + 31) / 32 * 32) {
    return fmt::format("barrier {} for {} threads: whole warps of the block, which has {} threads",
                       barrier, expected, threads_);
  }
  const Barrier& at = all_[barrier];
  if (at.arrived > 0 && at.expected != expected) {
    return fmt::format("barrier {} is for {} threads here and for {} where other threads came",
                       barrier, expected, at.expected);
  }
  if (at.arrived > 0 && at.came[thread]) {
    return fmt::format("thread {} comes to barrier {} again before all {} threads have come",
                       thread, barrier, expected);
  }
  return std::nullopt;
}

NamedBarriers::Passing NamedBarriers::come(unsigned barrier, unsigned thread, unsigned expected,
                                           bool waits) {
  Barrier& at = all_[barrier];
  if (at.arrived == 0) at.came.assign(threads_, false);
  at.expected = expected;
  at.came[thread] = true;
  if (++at.arrived < expected) {
    if (waits) at.waiting.push_back(thread);
    return {};
  }
  at.arrived = 0;
  return {std::exchange(at.waiting, {}), true};
}

}  // namespace tilevm::backend
