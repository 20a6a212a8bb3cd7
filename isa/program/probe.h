// Probes: sums over what each statement of a block wrote, from which the first statement that two
// engines execute differently is found.
//
// A block makes a sequence of records, one for each execution of a statement that has a probe, and
// one for each sum that is put together where its loop ends. A record's sum does not depend on the
// order of threads:
//
//   a register tile   each element of each thread adds weight(thread * locals + place) * code
//   a scalar          each thread adds weight(thread) * bits
//   memory            each thread adds, for each aligned word of 32 bits of which it writes the
//   bits
//                     of `mask`, address_weight(place) * mask + weight(place) * (value & mask)
//
// What an update adds to a word of memory counts as its value.
//
// All sums are modulo 2^64 and all weights of values are odd, so one wrong value always shows.
// Memory counts bits, not accesses: how wide an engine's stores are does not matter. Replicas of an
// element count as often as threads write them.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "isa/inst/slot_table.h"
#include "isa/program/program.h"
#include "isa/program/stmt_map.h"

namespace tilevm::isa {

/// What a statement adds to the records of its block.
enum class ProbeMode : std::uint8_t {
  none,    ///< no probe
  joins,   ///< what it writes is in the record of a later statement
  records  ///< record's last statement
};

/// A record that a loop ends with: an engine may put what a statement of the loop adds up into the
/// statement's result only then.
struct AfterLoop {
  StmtId loop, statement;
};

/// The probes of a kernel's statements; empty if the kernel has none.
class ProbePlan {
 public:
  ProbePlan() = default;
  explicit ProbePlan(std::size_t statements) : modes_(statements, ProbeMode::none) {}

  [[nodiscard]] bool empty() const { return modes_.size() == 0; }
  /// What each execution of a statement adds; of a loop, each iteration.
  [[nodiscard]] ProbeMode& operator[](StmtId id) { return modes_[id]; }
  [[nodiscard]] ProbeMode operator[](StmtId id) const { return modes_[id]; }

  /// The statement makes no record, but the end of the loop makes one of the statement's results. A
  /// block that ends inside of the loop makes none.
  void record_after(const AfterLoop& record) {
    modes_[record.statement] = ProbeMode::none;
    after_loops_.push_back(record);
  }
  /// Calls f(statement) for each record that the end of a loop makes, in their order.
  template <class F>
  void for_each_after(StmtId loop, F&& f) const {
    for (const AfterLoop& record : after_loops_) {
      if (record.loop == loop) f(record.statement);
    }
  }
  /// The loop whose end makes the record of a statement; invalid if the statement makes its own.
  [[nodiscard]] StmtId loop_of(StmtId statement) const {
    for (const AfterLoop& record : after_loops_) {
      if (record.statement == statement) return record.loop;
    }
    return {};
  }

 private:
  StmtMap<ProbeMode> modes_;
  std::vector<AfterLoop> after_loops_;
};

/// The variables whose values the record of an instruction contains. An instruction that updates
/// memory has none: which value it finds there is left to the order of the blocks. Its record has
/// what it adds, and where.
[[nodiscard]] inline std::span<const VarId> probed_results(const InstStmt& stmt) {
  if (updates_memory(stmt.inst)) return {};
  return stmt.results;
}

/// A number that hardly any other number gives (the finaliser of SplitMix64).
constexpr std::uint64_t probe_mix(std::uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9U;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

// Where a value lies. Numbers of different kinds are different.
inline constexpr std::uint64_t probe_tile_base = std::uint64_t{1} << 60;
inline constexpr std::uint64_t probe_scalar_base = std::uint64_t{2} << 60;
/// A byte of memory: of shared memory from 0 on, of buffer i from (i + 1) << 48 on. Buffers are the
/// tensors of the run, then the kernel's workspaces.
constexpr std::uint64_t probe_address(std::uint64_t buffer, std::uint64_t byte) {
  return (buffer + 1) << 48 | byte;
}

constexpr std::uint64_t probe_weight(std::uint64_t number) { return probe_mix(~number) | 1; }
constexpr std::uint64_t probe_address_weight(std::uint64_t address) {
  return probe_mix(address + 1);
}

/// The share of an element of a tile.
constexpr std::uint64_t probe_element(std::uint64_t number, std::uint64_t code) {
  return probe_weight(probe_tile_base + number) * code;
}
constexpr std::uint64_t probe_scalar(std::uint64_t thread, std::uint64_t bits) {
  return probe_weight(probe_scalar_base + thread) * bits;
}
/// The share of bits of a word of memory.
constexpr std::uint64_t probe_word(std::uint64_t address, std::uint32_t mask, std::uint32_t value) {
  return probe_address_weight(address) * mask + probe_weight(address) * (value & mask);
}

/// Which blocks of a launch are recorded, and how much of each.
struct ProbeWindow {
  std::uint64_t first_block = 0;  ///< first block by linear index, x fastest
  std::uint64_t blocks = 0;
  std::uint32_t records = 0;  ///< number of records of a block; what comes later is one sum
  /// A record of which all values are kept, too.
  struct Target {
    std::uint64_t block = 0;
    std::uint32_t record = 0;
    friend bool operator==(const Target&, const Target&) = default;
  };
  std::optional<Target> target{};
};

struct ProbeRecord {
  std::uint64_t sum = 0;
  std::uint32_t statement = 0;
  /// The simulator only: the values include some that are not defined, which differ without harm.
  bool undefined = false;
};

/// The records of one block.
struct BlockProbes {
  std::vector<ProbeRecord> records;
  std::uint64_t count = 0;  ///< how many were made
  std::uint64_t rest = 0;   ///< the sum of those beyond the window
  bool rest_undefined = false;
};

/// A word of memory that a thread wrote bits of.
struct ProbeWrite {
  std::uint64_t address = 0;
  std::uint32_t mask = 0, value = 0;
  friend auto operator<=>(const ProbeWrite&, const ProbeWrite&) = default;
};

/// Everything that the statement of a target wrote, thread by thread.
struct ProbeDump {
  /// The words of each thread's share of the result's tiles, one after another; then those of
  /// scalars, two words each.
  std::vector<std::vector<std::uint32_t>> words;
  std::vector<std::vector<ProbeWrite>> writes;
  /// The simulator only, before the statement ran: the words of each thread's share of the tiles
  /// that it reads (isa/analysis/operands.h), one after another; and the bits of all scalar
  /// variables.
  std::vector<std::vector<std::uint32_t>> operands;
  std::vector<std::uint64_t> scalars;
  bool cut = false;  ///< not all found room
};

/// What the probes of one launch recorded.
struct ProbeLog {
  int kernel = 0;
  std::array<std::int64_t, 3> grid{1, 1, 1};
  ProbeWindow window{};
  std::vector<BlockProbes> blocks;  ///< blocks of the window
  ProbeDump dump{};
};

}  // namespace tilevm::isa
