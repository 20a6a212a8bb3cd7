// Races between blocks in global memory. Two accesses of different blocks to an element race if
// their kinds conflict (access_record.h), whatever the order in which the blocks run.
//
// Blocks are named by their rank in the launch order. The reported race does not depend on the
// number of host threads. For each element the earliest writer, the two earliest readers and the
// two earliest blocks that combine are kept, so the earliest block that races with an earlier one
// is found once all blocks up to that block have run.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/state/context.h"
#include "sim/state/global_history.h"
#include "sim/state/owner_map.h"
#include "sim/state/state.h"

namespace tilevm::sim {

/// The number of granules of 2^shift bits in a buffer; the last one may be partial.
[[nodiscard]] inline std::uint64_t granules_in(const MemoryBuffer& buffer, unsigned shift) {
  return (static_cast<std::uint64_t>(buffer.bytes) * 8 >> shift) + 1;
}

/// The bits of the granules that have an owner, as ascending intervals.
template <class Owner>
[[nodiscard]] std::vector<Interval> owned_bits(const OwnerMap<Owner>& owners, unsigned shift) {
  std::vector<Interval> found;
  owners.for_each_owned([&](std::uint64_t begin, std::uint64_t end) {
    if (!found.empty() && found.back().end == begin << shift) {
      found.back().end = end << shift;
    } else {
      found.push_back({begin << shift, end << shift});
    }
  });
  return found;
}

/// Calls update(first granule, one past the last) for every interval of bits.
template <class F>
void for_each_range(const IntervalSet& set, unsigned shift, F&& update) {
  set.for_each([&](const Interval& interval) {
    update(interval.begin >> shift, ((interval.end - 1) >> shift) + 1);
  });
}

/// Calls f(bits, combination) for what a block combined in each way.
template <class F>
void for_each_combined(const TouchedBits& touched, F&& f) {
  for (const CombinedBits& each : touched.combined) f(each.bits, each.combination);
}

/// Two blocks that race, by their rank in the launch order.
struct BlockPair {
  std::uint64_t first = 0, second = 0;
};

class BlockRaceDetector final : public AccessSink {
 public:
  static constexpr std::uint64_t nobody = std::numeric_limits<std::uint64_t>::max();
  /// At most this many blocks are distinguished.
  static constexpr std::uint64_t max_blocks = std::numeric_limits<std::uint32_t>::max() - 1;

  /// `uses` by buffer; elements are made of granules of 2^granule_shift bits.
  BlockRaceDetector(const Memory& memory, const std::vector<BufferUse>& uses,
                    unsigned granule_shift);

  /// Records what a block touched. Any host thread may call this.
  void note(std::size_t buffer, std::uint64_t block, const TouchedBits& touched) override;

  [[nodiscard]] std::vector<Interval> written(std::size_t buffer) const override;

  /// The second block of the earliest race so far, or nobody.
  [[nodiscard]] std::uint64_t earliest() const { return earliest_; }
  [[nodiscard]] std::optional<BlockPair> race() const;

 private:
  struct Buffer {
    std::mutex mutex;
    OwnerMap<std::uint32_t> writers;  ///< the earliest block, counted from 1
    /// The two earliest blocks, the first in the low half.
    OwnerMap<std::uint64_t> readers;
    /// The blocks that combined in one way, for each way that blocks have combined in so far.
    std::vector<std::pair<Combination, OwnerMap<std::uint64_t>>> combiners;
    std::uint64_t granules = 0;
    bool is_read = false;

    [[nodiscard]] OwnerMap<std::uint64_t>& combiners_by(Combination combination);
  };
  void conflict(std::uint64_t a, std::uint64_t b);

  unsigned shift_;
  std::vector<std::unique_ptr<Buffer>> buffers_;  // empty where nothing is tracked
  std::atomic<std::uint64_t> earliest_{nobody};
  std::mutex mutex_;  // guards race_
  BlockPair race_{nobody, nobody};
};

/// One side of a race between blocks that order themselves: a block's accesses after `turns` turns
/// and before the next turn, or that next turn itself.
struct OrderedParty {
  std::uint64_t block = 0;
  std::uint32_t turns = 0;
  bool is_turn = false;
};

/// Locates a known race. The first block runs again and its accesses are recorded. Then the second
/// block runs, and each access is compared with the record.
class Replay {
 public:
  Replay(const Memory& memory, const std::vector<BufferUse>& uses, unsigned granule_shift);

  /// Considers only accesses of this party. Without a party: all loads, stores and copies.
  void watch(const OrderedParty& party) { party_ = party; }
  /// From now on the second block runs. The index of the first is for the message.
  void compare(std::vector<std::int64_t> first_block);
  /// Records an access, or reports a race: false after a fault.
  bool check(const GlobalFootprint& footprint, const TouchedIntervals& pieces, Context& context);

 private:
  /// The last access's statement, counted from 1.
  struct Buffer {
    std::uint64_t granules = 0;
    std::vector<std::pair<AccessType, OwnerMap<std::uint32_t>>> owners;

    [[nodiscard]] OwnerMap<std::uint32_t>& of(const AccessType& type);
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

/// Settings for a replay of two blocks that race: the replay is the only observer, and checks that
/// could stop a block earlier are off.
[[nodiscard]] RunSettings replay_settings(RunSettings settings, Replay& replay);

}  // namespace tilevm::sim
