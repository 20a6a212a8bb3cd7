// Vector clocks of blocks that order themselves.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace tilevm::sim {

/// A part of a block's work between two instructions that order blocks.
struct Segment {
  std::uint64_t block = 0;   ///< its rank in the launch order
  std::uint32_t number = 0;  ///< the block's turns before it
};

/// A vector clock: for each block, the number of its segments that have happened before.
class BlockClock {
 public:
  [[nodiscard]] std::uint32_t operator[](std::uint64_t block) const;
  [[nodiscard]] bool is_after(const Segment& segment) const {
    return (*this)[segment.block] > segment.number;
  }
  void set(std::uint64_t block, std::uint32_t segments);
  /// The element-wise maximum of both clocks.
  void join(const BlockClock& other);
  /// The element-wise minimum of both clocks: what has happened before in either case.
  void meet(const BlockClock& other);

 private:
  using Entry = std::pair<std::uint64_t, std::uint32_t>;
  std::vector<Entry> entries_;  // ascending; others are 0
};

}  // namespace tilevm::sim
