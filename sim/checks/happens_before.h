// Races between blocks that order themselves by semaphores: two accesses to an element whose kinds
// conflict (access_record.h) race unless one happens before the other.
//
// A block is one party (sim/order/party.h). Its turns, the instructions that order blocks, divide
// its work into segments. A vector clock gives for each party the number of its segments that have
// happened before. A release stores the party's clock in the semaphore; an acquire joins what every
// store that it may have found has in common (sim/order/semaphore_history.h).
//
// For each element two things are kept: the last segment that wrote it, and the later readers, and
// segments that combined it, that do not happen before one another. An access that races with any
// earlier access races with one of these.
//
// All functions are called between turns, in an order that does not depend on host threads.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "sim/checks/block_races.h"
#include "sim/order/party_clock.h"
#include "sim/order/semaphore_history.h"
#include "sim/state/global_history.h"
#include "sim/state/owner_map.h"
#include "sim/state/state.h"

namespace tilevm::sim {

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
  /// A party runs an instruction on a semaphore, which ends its segment. An acquire joins the
  /// semaphore's clock, a release stores the party's.
  void take_turn(const Party& party, const MemoryAddress& address, isa::Sync sync,
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
  struct State {
    PartyClock clock;
    SegmentId segment = 0;  // the present one, once it has touched something
  };
  /// A turn on a semaphore, at the end of a segment.
  struct Turn {
    Segment segment;
    bool wrote;
  };
  struct Semaphore {
    PartyClock left;
    SemaphoreHistory history;
    std::vector<Turn> turns;  // that do not happen before one another
  };

  /// The present segment of a party, which earlier ones are compared with.
  struct Present {
    Party party;
    State& state;
    bool is_turn;
  };
  SegmentId segment_of(const Party& party, State& state);
  void check_ordered(const Segment& other, bool other_is_turn, const Present& present);
  void check_readers_ordered(std::uint32_t set, const Present& present);
  void check_turns_ordered(std::size_t buffer, const IntervalSet& touched, bool wrote,
                           const Present& present);
  [[nodiscard]] std::uint32_t add_reader(std::uint32_t set, SegmentId reader,
                                         const PartyClock& clock);

  unsigned shift_;
  std::vector<std::unique_ptr<Buffer>> buffers_;  // empty where nothing is tracked
  std::vector<Segment> segments_{Segment{}};      // by SegmentId
  std::vector<ReaderSet> reader_sets_{{}};
  std::map<ReaderSet, std::uint32_t> set_numbers_{{{}, 0}};
  std::map<Party, State> parties_;
  std::map<MemoryAddress, Semaphore> semaphores_;
  std::optional<OrderedRace> race_;
  bool listens_ = true;
};

}  // namespace tilevm::sim
