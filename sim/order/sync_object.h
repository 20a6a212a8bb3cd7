// Objects of a block through which its groups of warps and its asynchronous accesses are put in
// order: stages of memory barriers and named barriers, phase after phase.
//
// A phase takes a number of arrivals, and of a memory barrier bytes as well. Each arrival leaves
// what its threads know; whoever waits for the phase takes over what all of its arrivals left.
// Which phase an arrival counts for and which phase a wait means must not depend on timing: an
// arrival knows that all phases before its own are complete (group_order.h checks that), and the
// phase of a wait follows from its parity and from the phases that it knows to be complete.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "isa/base/source.h"
#include "sim/order/party_clock.h"

namespace tilevm::sim {

/// Arrivals of a phase: all threads of a group.
struct PhaseArrival {
  std::uint16_t group = 0;
  std::uint32_t threads = 0;
  Span span{};
  Segment segment;          ///< segment of the group, which the arrivals end
  bool is_counted = false;  ///< the phase also waits for bytes
};

/// A wait that has passed, or an attempt to pass.
struct PhaseWait {
  std::uint16_t group = 0;
  std::int64_t phase = -1;  ///< phase for which it passes; -1: the one before the first
  Segment segment;          ///< segment of the waiting group, at the wait
  Span span{};
};

/// A phase that is complete.
struct CompletePhase {
  Knowledge learned;  ///< knowledge that its waits give: SyncObject::left when it completed
  std::vector<PhaseArrival> arrivals;
};

struct SyncObject {
  /// Its phases as a chain of a clock: segment k is that phase k completes.
  Party chain;
  /// What initialised it, by one thread of the block; nothing for named barriers.
  std::optional<Segment> made;
  std::uint32_t maker = 0;     ///< thread that initialised it
  std::uint32_t expected = 0;  ///< arrivals that a phase takes
  std::uint32_t pending = 0;   ///< arrivals that the current phase still takes
  std::int64_t bytes = 0;      ///< bytes that came less those expected (PTX ISA, tx-count)
  std::int64_t phase = 0;      ///< number of the current phase
  Knowledge left;  ///< knowledge that all arrivals and counted copies have left, up to now
  std::uint32_t copies = 0;              ///< copies that it counts and that have begun
  std::vector<CompletePhase> completed;  ///< the last ones, the latest last
  std::vector<PhaseArrival> arrivals;    ///< arrivals at the current phase
  std::vector<PhaseWait> waits;          ///< the last one of each group

  [[nodiscard]] bool is_complete() const { return pending == 0 && bytes == 0; }
  /// Ends the phase if it is complete; whether it did.
  bool end_phase();
  /// A phase that is complete; null of one that is long over or has not ended.
  [[nodiscard]] const CompletePhase* complete_phase(std::int64_t number) const;
  /// What those who wait for it learn.
  [[nodiscard]] const Knowledge* learned(std::int64_t number) const {
    const CompletePhase* const found = complete_phase(number);
    return found == nullptr ? nullptr : &found->learned;
  }
  /// The last wait of a group that has passed; null if there is none.
  [[nodiscard]] const PhaseWait* last_wait(std::uint16_t group) const;
  void note_wait(const PhaseWait& wait);
};

}  // namespace tilevm::sim
