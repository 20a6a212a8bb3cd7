#include "sim/checks/happens_before.h"

#include <algorithm>
#include <iterator>

namespace tilevm::sim {

HappensBeforeDetector::HappensBeforeDetector(const Memory& memory,
                                             const std::vector<BufferUse>& uses,
                                             unsigned granule_shift)
    : shift_(granule_shift) {
  for (std::size_t b = 0; b < memory.size(); ++b) {
    buffers_.emplace_back();
    if (!uses[b].written) continue;
    const std::uint64_t granules = granules_in(memory[b], shift_);
    buffers_.back() = std::make_unique<Buffer>(
        Buffer{OwnerMap<SegmentId>(granules), OwnerMap<std::uint32_t>(granules), {}, granules});
  }
}

OwnerMap<std::uint32_t>& HappensBeforeDetector::Buffer::combiners_by(Combination combination) {
  for (auto& [known, sets] : combiners) {
    if (known == combination) return sets;
  }
  return combiners.emplace_back(combination, OwnerMap<std::uint32_t>(granules)).second;
}

HappensBeforeDetector::SegmentId HappensBeforeDetector::segment_of(const Party& party,
                                                                   State& state) {
  if (state.segment == 0) {
    segments_.push_back({party, state.clock[party]});
    state.segment = static_cast<SegmentId>(segments_.size() - 1);
  }
  return state.segment;
}

/// Records a race with an earlier access, unless that access happens before the present one.
void HappensBeforeDetector::check_ordered(const Segment& other, bool other_is_turn,
                                          const Present& present) {
  const PartyClock& clock = present.state.clock;
  if (race_ || other.party == present.party || clock.is_after(other)) return;
  race_ = {{other.party.block, other.number, other_is_turn},
           {present.party.block, clock[present.party], present.is_turn}};
}

void HappensBeforeDetector::check_readers_ordered(std::uint32_t set, const Present& present) {
  for (const SegmentId reader : reader_sets_[set]) check_ordered(segments_[reader], false, present);
}

/// Ordinary loads and stores of a semaphore race with its turns unless they are ordered too.
void HappensBeforeDetector::check_turns_ordered(std::size_t buffer, const IntervalSet& touched,
                                                bool wrote, const Present& present) {
  touched.for_each([&](const Interval& interval) {
    // A semaphore that begins before the interval may reach into it.
    const std::uint64_t begin = interval.begin < 32 ? 0 : interval.begin - 31;
    for (auto at = semaphores_.lower_bound({buffer, begin});
         at != semaphores_.end() && at->first < MemoryAddress{buffer, interval.end}; ++at) {
      for (const Turn& turn : at->second.turns) {
        if (wrote || turn.wrote) check_ordered(turn.segment, true, present);
      }
    }
  });
}

/// Readers that happen before the new reader are dropped: an access ordered after the new reader is
/// ordered after them too.
std::uint32_t HappensBeforeDetector::add_reader(std::uint32_t set, SegmentId reader,
                                                const PartyClock& clock) {
  const ReaderSet& old = reader_sets_[set];
  if (std::binary_search(old.begin(), old.end(), reader)) return set;
  ReaderSet readers;
  std::copy_if(old.begin(), old.end(), std::back_inserter(readers),
               [&](SegmentId other) { return !clock.is_after(segments_[other]); });
  readers.push_back(reader);  // the latest segment has the largest number
  std::sort(readers.begin(), readers.end());
  const auto [known, fresh] =
      set_numbers_.emplace(readers, static_cast<std::uint32_t>(reader_sets_.size()));
  if (fresh) reader_sets_.push_back(std::move(readers));
  return known->second;
}

void HappensBeforeDetector::note(std::size_t buffer, std::uint64_t block,
                                 const TouchedBits& touched) {
  if (!listens_) return;
  const Party party{block};
  State& now = parties_[party];
  const Present present{party, now, false};
  const SegmentId me = segment_of(party, now);
  Buffer& tracked = *buffers_[buffer];
  check_turns_ordered(buffer, touched.written, true, present);
  for_each_combined(touched, [&](const IntervalSet& bits, Combination) {
    check_turns_ordered(buffer, bits, true, present);
  });
  check_turns_ordered(buffer, touched.read, false, present);
  const auto look_at_writers = [&](std::uint64_t begin, std::uint64_t end) {
    tracked.writers.update(begin, end, [&](SegmentId writer) {
      if (writer != 0) check_ordered(segments_[writer], false, present);
      return writer;
    });
  };
  const auto look_at_set = [&](OwnerMap<std::uint32_t>& sets, std::uint64_t begin,
                               std::uint64_t end) {
    sets.update(begin, end, [&](std::uint32_t set) {
      check_readers_ordered(set, present);
      return set;
    });
  };
  const auto add_me = [&](OwnerMap<std::uint32_t>& sets, std::uint64_t begin, std::uint64_t end) {
    sets.update(begin, end, [&](std::uint32_t set) { return add_reader(set, me, now.clock); });
  };
  for_each_range(touched.written, shift_, [&](std::uint64_t begin, std::uint64_t end) {
    tracked.writers.update(begin, end, [&](SegmentId writer) {
      if (writer != 0) check_ordered(segments_[writer], false, present);
      return me;
    });
    const auto forget = [&](OwnerMap<std::uint32_t>& sets) {
      sets.update(begin, end, [&](std::uint32_t set) {
        check_readers_ordered(set, present);
        return 0U;
      });
    };
    forget(tracked.readers);
    for (auto& [combination, sets] : tracked.combiners) forget(sets);
  });
  const auto look_at_combiners = [&](std::uint64_t begin, std::uint64_t end, Combination alike) {
    for (auto& [combination, sets] : tracked.combiners) {
      if (combination != alike) look_at_set(sets, begin, end);
    }
  };
  for_each_combined(touched, [&](const IntervalSet& bits, Combination combination) {
    OwnerMap<std::uint32_t>& alike = tracked.combiners_by(combination);
    for_each_range(bits, shift_, [&](std::uint64_t begin, std::uint64_t end) {
      look_at_writers(begin, end);
      look_at_set(tracked.readers, begin, end);
      look_at_combiners(begin, end, combination);
      add_me(alike, begin, end);
    });
  });
  for_each_range(touched.read, shift_, [&](std::uint64_t begin, std::uint64_t end) {
    look_at_writers(begin, end);
    look_at_combiners(begin, end, 0);
    add_me(tracked.readers, begin, end);
  });
}

std::vector<Interval> HappensBeforeDetector::written(std::size_t buffer) const {
  if (!buffers_[buffer]) return {};
  std::vector<Interval> found = owned_bits(buffers_[buffer]->writers, shift_);
  for (const auto& [combination, sets] : buffers_[buffer]->combiners) {
    const std::vector<Interval> combined = owned_bits(sets, shift_);
    found.insert(found.end(), combined.begin(), combined.end());
  }
  merge_intervals(found);
  return found;
}

void HappensBeforeDetector::take_turn(const Party& party, const MemoryAddress& address,
                                      isa::Sync sync, const SemaphoreUse& use) {
  if (!listens_) return;
  State& now = parties_[party];
  const bool wrote = has(sync, isa::Sync::release);
  const Segment segment{party, now.clock[party]};
  const Present present{party, now, true};
  if (const auto& tracked = buffers_[address.buffer]) {
    const std::uint64_t begin = address.bit >> shift_, end = ((address.bit + 31) >> shift_) + 1;
    tracked->writers.update(begin, end, [&](SegmentId writer) {
      if (writer != 0) check_ordered(segments_[writer], false, present);
      return writer;
    });
    tracked->readers.update(begin, end, [&](std::uint32_t set) {
      if (wrote) check_readers_ordered(set, present);
      return set;
    });
    for (auto& [combination, sets] : tracked->combiners) {
      sets.update(begin, end, [&](std::uint32_t set) {
        check_readers_ordered(set, present);
        return set;
      });
    }
  }
  Semaphore& semaphore = semaphores_[address];
  now.segment = 0;
  now.clock.set(party, segment.number + 1);
  semaphore.history.found(use.before);
  if (has(sync, isa::Sync::acquire)) {
    if (wrote) {  // one step, whose order is that of all turns on the semaphore
      now.clock.join(semaphore.left);
    } else {
      now.clock.join(semaphore.history.guaranteed(use.before, now.clock));
      semaphore.history.passed(segment, use);
    }
  }
  if (wrote) {
    semaphore.left = now.clock;
    semaphore.history.stored(segment, use, now.clock);
  }
  std::erase_if(semaphore.turns, [&](const Turn& turn) {
    return now.clock.is_after(turn.segment) && (wrote || !turn.wrote);
  });
  semaphore.turns.push_back({segment, wrote});
}

std::optional<LostWait> HappensBeforeDetector::lost_wait() const {
  for (const auto& [address, semaphore] : semaphores_) {
    if (auto lost = semaphore.history.lost_wait()) return lost;
  }
  return std::nullopt;
}

}  // namespace tilevm::sim
