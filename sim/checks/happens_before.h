// Races between blocks that order themselves by semaphores: two accesses to an element whose kinds
// conflict (access_record.h) race unless one happens before the other.
//
// A block's turns, the instructions that order blocks, divide its work into segments. A vector
// clock gives for each block the number of its segments that have happened before. A release stores
// the block's clock in the semaphore; an acquire joins what every store that it may have found has
// in common (semaphore_history.h). For each element two
// things are kept: the last segment that wrote it, and the later readers, and segments that
// combined it, that do not happen before one another. An access that races with any earlier access
// races with one of these.
//
// All functions are called between turns, in an order that does not depend on host threads.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "sim/checks/block_clock.h"
#include "sim/checks/block_races.h"
#include "sim/checks/semaphore_history.h"
#include "sim/state/global_history.h"
#include "sim/state/owner_map.h"
#include "sim/state/state.h"

namespace tilevm::sim {

/// How a turn orders blocks: an acquire joins the semaphore's clock, a release stores the block's.
enum class Ordering : std::uint8_t { acquire, release, both };
[[nodiscard]] constexpr bool releases(Ordering ordering) {
  switch (ordering) {
    case Ordering::release:
    case Ordering::both:
      return true;
    case Ordering::acquire:
      return false;
  }
  TILEVM_NO_ENUMERATOR();
}

/// Two parties that race.
struct OrderedRace {
  OrderedParty first, second;
};

class HappensBeforeDetector final : public AccessSink {
 public:
  /// `uses` by buffer; elements are made of granules of 2^granule_shift bits.
  HappensBeforeDetector(const Memory& memory, const std::vector<BufferUse>& uses,
                        unsigned granule_shift);

  /// Records what a block touched in its present segment.
  void note(std::size_t buffer, std::uint64_t block, const TouchedBits& touched) override;
  [[nodiscard]] std::vector<Interval> written(std::size_t buffer) const override;
  /// A block runs an instruction on a semaphore, which ends its segment.
  void take_turn(std::uint64_t block, const MemoryAddress& address, Ordering ordering,
                 const SemaphoreUse& use);

  /// While false, nothing that blocks do is recorded: they do again what was recorded before.
  void listen(bool listens) { listens_ = listens; }

  /// The first race that was found.
  [[nodiscard]] const std::optional<OrderedRace>& race() const { return race_; }
  /// After all blocks have ended: a wait that may never see its value.
  [[nodiscard]] std::optional<LostWait> lost_wait() const;

 private:
  using SegmentId = std::uint32_t;  // from 1 on
  using ReaderSet = std::vector<SegmentId>;
  struct Buffer {
    OwnerMap<SegmentId> writers;
    OwnerMap<std::uint32_t> readers;  // by position in reader_sets_
    std::vector<std::pair<Combination, OwnerMap<std::uint32_t>>> combiners;  // as readers
    std::uint64_t granules = 0;

    [[nodiscard]] OwnerMap<std::uint32_t>& combiners_by(Combination combination);
  };
  struct Block {
    BlockClock clock;
    SegmentId segment = 0;  // the present one, once it has touched something
  };
  /// A turn on a semaphore, at the end of a segment.
  struct Turn {
    Segment segment;
    bool wrote;
  };
  struct Semaphore {
    BlockClock left;
    SemaphoreHistory history;
    std::vector<Turn> turns;  // that do not happen before one another
  };

  /// What the present segment of a block is compared with.
  struct Present {
    std::uint64_t number;
    Block& block;
    bool is_turn;
  };
  [[nodiscard]] bool is_over(const Segment& segment, const Block& block) const {
    return block.clock[segment.block] > segment.number;
  }
  SegmentId segment_of(std::uint64_t number, Block& block);
  void check_ordered(const Segment& other, bool other_is_turn, const Present& present);
  void check_readers_ordered(std::uint32_t set, const Present& present);
  void check_turns_ordered(std::size_t buffer, const IntervalSet& touched, bool wrote,
                           const Present& present);
  [[nodiscard]] std::uint32_t add_reader(std::uint32_t set, SegmentId reader, const Block& block);

  unsigned shift_;
  std::vector<std::unique_ptr<Buffer>> buffers_;  // empty where nothing is tracked
  std::vector<Segment> segments_{{0, 0}};         // by SegmentId
  std::vector<ReaderSet> reader_sets_{{}};
  std::map<ReaderSet, std::uint32_t> set_numbers_{{{}, 0}};
  std::map<std::uint64_t, Block> blocks_;
  std::map<MemoryAddress, Semaphore> semaphores_;
  std::optional<OrderedRace> race_;
  bool listens_ = true;
};

}  // namespace tilevm::sim
