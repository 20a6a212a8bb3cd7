// Vector clocks of parties.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "sim/order/party.h"

namespace tilevm::sim {

/// A vector clock: for each party, the number of its segments that have happened before.
class PartyClock {
 public:
  [[nodiscard]] std::uint32_t operator[](const Party& party) const;
  [[nodiscard]] bool is_after(const Segment& segment) const {
    return (*this)[segment.party] > segment.number;
  }
  /// Whether what one thread of the segment's party did in the segment has happened before. The
  /// segment is of a party with all of its threads.
  [[nodiscard]] bool is_after(const Segment& segment, std::uint32_t thread) const;
  void set(const Party& party, std::uint32_t segments);
  /// Sets the number of a party unless it is larger.
  void raise(const Party& party, std::uint32_t segments);
  /// The element-wise maximum of both clocks.
  void join(const PartyClock& other);
  /// The element-wise minimum of both clocks: what has happened before in either case.
  void meet(const PartyClock& other);
  [[nodiscard]] bool empty() const { return entries_.empty(); }
  friend bool operator==(const PartyClock&, const PartyClock&) = default;

 private:
  using Entry = std::pair<Party, std::uint32_t>;
  std::vector<Entry> entries_;  // ascending; others are 0
};

/// What is known at a point of a program of a block. An access by the generic proxy that has
/// happened before one by the async proxy need not be visible to it: only a proxy fence makes it
/// so.
struct Knowledge {
  PartyClock seen;    ///< accesses that have happened before
  PartyClock fenced;  ///< generic ones that accesses by the async proxy see, too

  void join(const Knowledge& other) {
    seen.join(other.seen);
    fenced.join(other.fenced);
  }
  /// A proxy fence: what has happened before becomes visible to the async proxy.
  void fence() { fenced.join(seen); }
  friend bool operator==(const Knowledge&, const Knowledge&) = default;
};

}  // namespace tilevm::sim
