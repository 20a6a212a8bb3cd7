// What was stored in a semaphore and who waited for it: what may happen in another order.
//
// A run shows one order. A wait that found its value may in another order find the same value of
// another store, or the value with which the launch began: then it orders only what all of these
// stores order. And a store that nothing orders after the wait may come first, so that the waiting
// block never sees its value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/order/party_clock.h"
#include "sim/tiles/coordinates.h"

namespace tilevm::sim {

struct GlobalAccess;

/// How a turn uses the semaphore's value.
struct SemaphoreUse {
  const GlobalAccess* access = nullptr;
  Coordinates index{};
  std::uint32_t before = 0;  ///< the value that the turn found
  std::uint32_t after = 0;   ///< the value that it left
};

/// A wait whose value another block may overwrite before the waiting block sees it.
struct LostWait {
  Segment waiter, writer;
  SemaphoreUse wait, store;
};

class SemaphoreHistory {
 public:
  /// What has happened before a wait that found `value`, in every order: the waiting party's own
  /// clock says what it knows so far.
  [[nodiscard]] PartyClock guaranteed(std::uint32_t value, const PartyClock& waiter) const;

  /// A turn found a value; the first one gives the value with which the launch began.
  void found(std::uint32_t value);
  /// A turn stored a value; `left` is its party's clock, which the turn leaves in the semaphore.
  void stored(const Segment& segment, const SemaphoreUse& use, const PartyClock& left);
  /// A wait found its value.
  void passed(const Segment& segment, const SemaphoreUse& use);

  /// The first wait that may never see its value. A value that is there at the end is seen at last.
  [[nodiscard]] std::optional<LostWait> lost_wait() const;

 private:
  struct Store {
    Segment segment;
    std::uint32_t value = 0;
    PartyClock left;
  };
  struct Passed {
    Segment segment;
    SemaphoreUse use;
  };

  std::optional<std::uint32_t> initial_;
  std::uint32_t last_ = 0;
  bool forgot_ = false;        // stores before the ones that are kept
  std::vector<Store> stores_;  // the latest
  std::vector<Passed> passed_;
  std::vector<LostWait> lost_;
};

}  // namespace tilevm::sim
