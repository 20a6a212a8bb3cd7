// Which blocks touched which elements of global memory during a launch: two blocks that touch one,
// one of them writing, race, whatever the order in which they run.
//
// Blocks are known by their place in the order in which they run. Which race is found first does
// not depend on how many host threads run the blocks: for each element the two earliest parties are
// kept, so the earliest block that races with an earlier one is found once all blocks up to it have
// run.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

#include "sim/global_touches.h"
#include "sim/owner_map.h"
#include "sim/state.h"

namespace tilevm::sim {

/// Two blocks that race, by their place in the order.
struct BlockPair {
  std::uint64_t first = 0, second = 0;
};

class LaunchShadow {
 public:
  static constexpr std::uint64_t nobody = std::numeric_limits<std::uint64_t>::max();
  /// Blocks beyond this number are not told apart.
  static constexpr std::uint64_t max_blocks = std::numeric_limits<std::uint32_t>::max() - 1;

  /// `uses` by buffer; elements are made of granules of 2^granule_shift bits.
  LaunchShadow(const Memory& memory, const std::vector<BufferUse>& uses, unsigned granule_shift);

  /// Takes note of what a block touched; any host thread.
  void note(std::size_t buffer, std::uint64_t block, const IntervalSet& read,
            const IntervalSet& written);

  /// The second block of the earliest race so far, or nobody.
  [[nodiscard]] std::uint64_t earliest() const { return earliest_; }
  [[nodiscard]] std::optional<BlockPair> race() const;

 private:
  struct Buffer {
    std::mutex mutex;
    OwnerMap<std::uint32_t> writers;  ///< the earliest block, counted from 1
    OwnerMap<std::uint64_t> readers;  ///< the two earliest, the first in the low half
    bool is_read = false;
  };
  void conflict(std::uint64_t a, std::uint64_t b);

  unsigned shift_;
  std::vector<std::unique_ptr<Buffer>> buffers_;  // empty where nothing is tracked
  std::atomic<std::uint64_t> earliest_{nobody};
  std::mutex mutex_;  // guards race_
  BlockPair race_{nobody, nobody};
};

/// Finds the place of a race again: one block runs and is recorded, then the other one is compared
/// with it, access by access.
class Replay {
 public:
  Replay(const Memory& memory, const std::vector<BufferUse>& uses, unsigned granule_shift);

  /// From now on the second block runs. The index of the first is for the message.
  void compare(std::vector<std::int64_t> first_block);
  /// Records an access, or reports a race: false after a fault.
  bool touch(const GlobalFootprint& footprint, const Pieces& pieces, Context& context);

 private:
  struct Buffer {
    OwnerMap<std::uint32_t> writers, readers;  ///< the statement that did last, counted from 1
  };
  void record(const GlobalFootprint& footprint, const Pieces& pieces);
  bool report(const GlobalFootprint& footprint, Context& context);

  unsigned shift_;
  std::vector<Buffer> buffers_;
  bool comparing_ = false;
  std::vector<std::int64_t> first_block_;
};

}  // namespace tilevm::sim
