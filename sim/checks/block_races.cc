#include "sim/checks/block_races.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "sim/access/tile_in_view.h"
#include "sim/checks/shared_races.h"
#include "sim/state/context.h"
#include "sim/tiles/offenders.h"

namespace tilevm::sim {
namespace {

/// Adds a block to the two earliest; 0 is none.
std::uint64_t add_block(std::uint64_t blocks, std::uint32_t block) {
  auto first = static_cast<std::uint32_t>(blocks);
  auto second = static_cast<std::uint32_t>(blocks >> 32);
  if (first == block || second == block) return blocks;
  if (first == 0 || block < first) {
    second = first;
    first = block;
  } else if (second == 0 || block < second) {
    second = block;
  }
  return (std::uint64_t{second} << 32) | first;
}

}  // namespace

BlockRaceDetector::BlockRaceDetector(const Memory& memory, const std::vector<BufferUse>& uses,
                                     unsigned granule_shift)
    : shift_(granule_shift) {
  for (std::size_t b = 0; b < memory.size(); ++b) {
    buffers_.emplace_back();
    if (!uses[b].written) continue;
    const std::uint64_t granules = granules_in(memory[b], shift_);
    auto buffer = std::make_unique<Buffer>();
    buffer->writers = OwnerMap<std::uint32_t>(granules);
    buffer->granules = granules;
    buffer->is_read = uses[b].read;
    if (uses[b].read) buffer->readers = OwnerMap<std::uint64_t>(granules);
    buffers_.back() = std::move(buffer);
  }
}

OwnerMap<std::uint64_t>& BlockRaceDetector::Buffer::combiners_by(Combination combination) {
  for (auto& [known, blocks] : combiners) {
    if (known == combination) return blocks;
  }
  return combiners.emplace_back(combination, OwnerMap<std::uint64_t>(granules)).second;
}

void BlockRaceDetector::note(std::size_t buffer, std::uint64_t block, const TouchedBits& touched) {
  Buffer& tracked = *buffers_[buffer];
  const auto me = static_cast<std::uint32_t>(std::min(block, max_blocks - 1) + 1);
  const auto note_other = [&](std::uint32_t other) {
    if (other != 0 && other != me) conflict(block, other - 1);
  };
  const auto look_at_writers = [&](std::uint64_t begin, std::uint64_t end) {
    tracked.writers.update(begin, end, [&](std::uint32_t writer) {
      note_other(writer);
      return writer;
    });
  };
  const auto look_at_pairs = [&](OwnerMap<std::uint64_t>& blocks, std::uint64_t begin,
                                 std::uint64_t end) {
    blocks.update(begin, end, [&](std::uint64_t pair) {
      note_other(static_cast<std::uint32_t>(pair));
      note_other(static_cast<std::uint32_t>(pair >> 32));
      return pair;
    });
  };
  const auto look_at_combiners = [&](std::uint64_t begin, std::uint64_t end, Combination alike) {
    for (auto& [combination, blocks] : tracked.combiners) {
      if (combination != alike) look_at_pairs(blocks, begin, end);
    }
  };
  const auto add_me = [&](OwnerMap<std::uint64_t>& blocks, std::uint64_t begin, std::uint64_t end) {
    blocks.update(begin, end, [&](std::uint64_t pair) { return add_block(pair, me); });
  };
  const std::lock_guard lock(tracked.mutex);
  for_each_range(touched.written, shift_, [&](std::uint64_t begin, std::uint64_t end) {
    tracked.writers.update(begin, end, [&](std::uint32_t writer) {
      note_other(writer);
      return writer == 0 ? me : std::min(writer, me);
    });
    if (tracked.is_read) look_at_pairs(tracked.readers, begin, end);
    look_at_combiners(begin, end, 0);
  });
  for_each_combined(touched, [&](const IntervalSet& bits, Combination combination) {
    OwnerMap<std::uint64_t>& alike = tracked.combiners_by(combination);
    for_each_range(bits, shift_, [&](std::uint64_t begin, std::uint64_t end) {
      look_at_writers(begin, end);
      if (tracked.is_read) look_at_pairs(tracked.readers, begin, end);
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

std::vector<Interval> BlockRaceDetector::written(std::size_t buffer) const {
  if (!buffers_[buffer]) return {};
  std::vector<Interval> found = owned_bits(buffers_[buffer]->writers, shift_);
  for (const auto& [combination, blocks] : buffers_[buffer]->combiners) {
    const std::vector<Interval> combined = owned_bits(blocks, shift_);
    found.insert(found.end(), combined.begin(), combined.end());
  }
  merge_intervals(found);
  return found;
}

void BlockRaceDetector::conflict(std::uint64_t a, std::uint64_t b) {
  const BlockPair pair{std::min(a, b), std::max(a, b)};
  if (pair.second > earliest_) return;
  const std::lock_guard lock(mutex_);
  const bool earlier =
      pair.second < race_.second || (pair.second == race_.second && pair.first < race_.first);
  if (!earlier) return;
  race_ = pair;
  earliest_ = pair.second;
}

std::optional<BlockPair> BlockRaceDetector::race() const {
  if (earliest_ == nobody) return std::nullopt;
  return race_;
}

Replay::Replay(const Memory& memory, const std::vector<BufferUse>& uses, unsigned granule_shift)
    : shift_(granule_shift), buffers_(memory.size()) {
  for (std::size_t b = 0; b < memory.size(); ++b) {
    if (!uses[b].written) continue;
    buffers_[b].granules = granules_in(memory[b], shift_);
  }
}

OwnerMap<std::uint32_t>& Replay::Buffer::of(const AccessType& type) {
  for (auto& [known, statements] : owners) {
    if (known == type) return statements;
  }
  // Writers come last: a report names them first.
  const auto at = type.kind == AccessKind::write ? owners.end() : owners.begin();
  return owners.insert(at, {type, OwnerMap<std::uint32_t>(granules)})->second;
}

void Replay::compare(std::vector<std::int64_t> first_block) {
  comparing_ = true;
  first_block_ = std::move(first_block);
}

void Replay::record(const GlobalFootprint& footprint, const TouchedIntervals& pieces) {
  Buffer& buffer = buffers_[static_cast<std::size_t>(footprint.view.buffer)];
  auto& owners = buffer.of(type_of(footprint));
  const std::uint32_t statement = footprint.access->statement + 1;
  for (const Interval& piece : pieces.bits) {
    owners.update(piece.begin >> shift_, ((piece.end - 1) >> shift_) + 1,
                  [&](std::uint32_t) { return statement; });
  }
}

bool Replay::is_watched(const GlobalFootprint& footprint, const Context& context) const {
  const bool is_turn = orders_blocks(footprint.use);
  if (!party_) return !is_turn;
  return is_turn == party_->is_turn && context.state.turns == party_->turns;
}

bool Replay::check(const GlobalFootprint& footprint, const TouchedIntervals& pieces,
                   Context& context) {
  if (!is_watched(footprint, context)) return true;
  if (!comparing_) {
    record(footprint, pieces);
    return true;
  }
  Buffer& buffer = buffers_[static_cast<std::size_t>(footprint.view.buffer)];
  bool races = false;
  const auto look = [&](std::uint32_t statement) {
    races = races || statement != 0;
    return statement;
  };
  for (const Interval& piece : pieces.bits) {
    const std::uint64_t begin = piece.begin >> shift_, end = ((piece.end - 1) >> shift_) + 1;
    for (auto& [type, statements] : buffer.owners) {
      if (conflict(type, type_of(footprint))) statements.update(begin, end, look);
    }
  }
  return !races || report(footprint, context);
}

bool Replay::report(const GlobalFootprint& footprint, Context& context) {
  const GlobalAccess& access = *footprint.access;
  Buffer& buffer = buffers_[static_cast<std::size_t>(footprint.view.buffer)];
  const AccessType mine = type_of(footprint);
  TileInView cursor(access, footprint.view, context, footprint.origin);
  const auto racing = find_offenders(
      access.parts->first_threads, access.tile.locals,
      [&](std::size_t t, std::size_t i) -> std::optional<Offender<ConflictingAccess>> {
        if (!cursor.locate(t, i) || !cursor.in_buffer()) return std::nullopt;
        ConflictingAccess here;
        const std::uint64_t begin = cursor.bit() >> shift_,
                            end = ((cursor.bit() + access.tile.bits - 1) >> shift_) + 1;
        for (auto& owner : buffer.owners) {
          const auto& type = owner.first;
          if (!conflict(type, mine)) continue;
          owner.second.update(begin, end, [&here, &type](std::uint32_t statement) {
            if (statement != 0) here = {0, statement, type.kind, type.combination};
            return statement;
          });
        }
        if (here.statement == 0) return std::nullopt;
        return Offender<ConflictingAccess>{cursor.index(), here};
      });
  const ConflictingAccess& other = racing.detail;
  context.fail(
      Code::race, access.span,
      fmt::format("`{}` races with another block for {}, first {}: it {} what block [{}] {}, and "
                  "{}",
                  access.mnemonic, elements_text(racing.count, access.view_name),
                  element_text(access.view_name, racing.first), verb(mine.kind),
                  fmt::join(first_block_, ", "), verb(other.kind),
                  party_ ? "no semaphore orders the two" : "blocks run in any order"));
  context.fault->thread = static_cast<std::int64_t>(racing.thread);
  const MemoryStatement& partner = (*context.settings.memory_statements)[other.statement - 1];
  add_note(context.fault->diagnostic,
           fmt::format("`{}` {} them here", partner.mnemonic, verb(other.kind)), partner.span);
  explain_combinations(mine, {other.kind, other.combination}, context);
  add_note(context.fault->diagnostic,
           party_ ? "let the block that comes first release a semaphore after its access, and the "
                    "other one lock it before its own"
                  : "no barrier holds between blocks: let each block write elements of its own, or "
                    "split the work over two kernels");
  return false;
}

RunSettings replay_settings(RunSettings settings, Replay& replay) {
  settings.checks = {.in_flight = false, .uninitialized = false, .replicas = false};
  settings.observers = {.replay = &replay};
  settings.stop = &never_stops;  // what was found once is found again
  return settings;
}

}  // namespace tilevm::sim
