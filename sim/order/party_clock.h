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
  void set(const Party& party, std::uint32_t segments);
  /// The element-wise maximum of both clocks.
  void join(const PartyClock& other);
  /// The element-wise minimum of both clocks: what has happened before in either case.
  void meet(const PartyClock& other);

 private:
  using Entry = std::pair<Party, std::uint32_t>;
  std::vector<Entry> entries_;  // ascending; others are 0
};

}  // namespace tilevm::sim
