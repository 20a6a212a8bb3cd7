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

#include "sim/state/context.h"
#include "sim/state/global_history.h"
#include "sim/state/owner_map.h"
#include "sim/state/state.h"

namespace tilevm::sim {

/// Granules of 2^shift bits that a buffer has, the last one perhaps not in full.
[[nodiscard]] inline std::uint64_t granules_in(const MemoryBuffer& buffer, unsigned shift) {
  return (static_cast<std::uint64_t>(buffer.bytes) * 8 >> shift) + 1;
}

/// Calls update(first granule, one behind the last) for every interval of bits.
template <class F>
void for_each_range(const IntervalSet& set, unsigned shift, F&& update) {
  set.for_each([&](const Interval& interval) {
    update(interval.begin >> shift, ((interval.end - 1) >> shift) + 1);
  });
}

/// Two blocks that race, by their place in the order.
struct BlockPair {
  std::uint64_t first = 0, second = 0;
};

class BlockRaceDetector final : public AccessSink {
 public:
  static constexpr std::uint64_t nobody = std::numeric_limits<std::uint64_t>::max();
  /// Blocks beyond this number are not told apart.
  static constexpr std::uint64_t max_blocks = std::numeric_limits<std::uint32_t>::max() - 1;

  /// `uses` by buffer; elements are made of granules of 2^granule_shift bits.
  BlockRaceDetector(const Memory& memory, const std::vector<BufferUse>& uses,
                    unsigned granule_shift);

  /// Takes note of what a block touched; any host thread.
  void note(std::size_t buffer, std::uint64_t block, const IntervalSet& read,
            const IntervalSet& written) override;

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

/// A side of a race between blocks that order themselves: what a block did after some of its turns
/// until the next one, or that turn itself.
struct OrderedParty {
  std::uint64_t block = 0;
  std::uint32_t turns = 0;
  bool is_turn = false;
};

/// Finds the place of a race again: one block runs and is recorded, then the other one is compared
/// with it, access by access.
class Replay {
 public:
  Replay(const Memory& memory, const std::vector<BufferUse>& uses, unsigned granule_shift);

  /// Looks only at what this party does. Otherwise at all loads, stores and copies.
  void watch(const OrderedParty& party) { party_ = party; }
  /// From now on the second block runs. The index of the first is for the message.
  void compare(std::vector<std::int64_t> first_block);
  /// Records an access, or reports a race: false after a fault.
  bool touch(const GlobalFootprint& footprint, const TouchedIntervals& pieces, Context& context);

 private:
  struct Buffer {
    OwnerMap<std::uint32_t> writers, readers;  ///< the statement that did last, counted from 1
  };
  [[nodiscard]] bool is_watched(const GlobalFootprint& footprint, const Context& context) const;
  void record(const GlobalFootprint& footprint, const TouchedIntervals& pieces);
  bool report(const GlobalFootprint& footprint, Context& context);

  unsigned shift_;
  std::vector<Buffer> buffers_;
  bool comparing_ = false;
  std::vector<std::int64_t> first_block_;
  std::optional<OrderedParty> party_;
};

/// The settings of a run, for two blocks that run again to find where they race: nobody but the
/// replay looks on, and what a check would find first does not stop them.
[[nodiscard]] RunSettings replay_settings(RunSettings settings, Replay& replay);

}  // namespace tilevm::sim
