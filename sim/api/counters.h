// What a run counts: instructions, and what their accesses cost the memory system.
//
// Accesses are counted as the emitted code makes them (isa/access/access_plan.h), warp by warp: 32
// consecutive threads make one request together. docs/reference/counters.md defines every number
// and names the counter of NVIDIA's profiler that it equals.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "isa/base/check.h"
#include "isa/base/enumerators.h"
#include "isa/base/source.h"
#include "isa/inst/instruction_set.h"

namespace tilevm::sim {

/// Where an access goes. An asynchronous copy (cp.async) counts its reads only; its writes to
/// shared memory depend on when the data arrives.
enum class Traffic : std::uint8_t {
  global_load,
  global_copy,
  global_store,
  shared_load,
  shared_store
};
/// As reports name it: "global_load".
[[nodiscard]] constexpr std::string_view to_string(Traffic traffic) {
  switch (traffic) {
    case Traffic::global_load:
      return "global_load";
    case Traffic::global_copy:
      return "global_copy";
    case Traffic::global_store:
      return "global_store";
    case Traffic::shared_load:
      return "shared_load";
    case Traffic::shared_store:
      return "shared_store";
  }
  return "";
}
inline constexpr std::size_t traffic_count = enumerator_count<Traffic>();

/// Whether the traffic is counted in sectors; otherwise it is counted in wavefronts.
[[nodiscard]] constexpr bool is_global(Traffic traffic) {
  switch (traffic) {
    case Traffic::global_load:
    case Traffic::global_copy:
    case Traffic::global_store:
      return true;
    case Traffic::shared_load:
    case Traffic::shared_store:
      return false;
  }
  TILEVM_NO_ENUMERATOR();
}

/// Sums over the requests of some accesses.
struct AccessCount {
  std::uint64_t requests = 0;  ///< accesses of a warp with at least one active thread
  std::uint64_t bytes = 0;     ///< bytes that the active threads request
  /// Global: distinct sectors of 32 bytes. Shared: wavefronts, the passes that the 32 banks need.
  std::uint64_t transfers = 0;
  /// Global: sectors that the L1 cache looks up. They differ from `transfers` only for 16-byte
  /// copies, which bypass L1.
  std::uint64_t lookups = 0;
  std::uint64_t ideal = 0;  ///< least possible transfers: full sectors, no bank conflict
  /// Words changed one by one by two atomic operations, for elements narrower than a byte. These
  /// words are in no other number.
  std::uint64_t atomics = 0;

  AccessCount& operator+=(const AccessCount& other);
  friend bool operator==(const AccessCount&, const AccessCount&) = default;
};

/// By Traffic.
using AccessCounts = std::array<AccessCount, traffic_count>;
AccessCounts& operator+=(AccessCounts& counts, const AccessCounts& other);

/// An instruction of the text, over all blocks.
struct StatementCount {
  Span span{};
  std::size_t instruction = 0;   ///< index in isa::Instruction
  std::uint64_t executions = 0;  ///< number of executions by blocks
  AccessCounts accesses{};
  std::string mma{};                    ///< a Dot: "m16n8k16 f32.f16.f16.f32" (D, A, B, C)
  std::uint64_t mma_instructions = 0;   ///< executed by warps
  std::uint64_t special_functions = 0;  ///< instructions of that unit, executed by warps

  friend bool operator==(const StatementCount&, const StatementCount&) = default;
};

/// What was executed; sums over all blocks. Meaningless after a fault.
struct Counters {
  std::uint64_t blocks = 0;
  std::uint64_t steps = 0;  ///< statements of any kind, loop iterations included
  /// Instructions executed, by their index in isa::Instruction.
  std::array<std::uint64_t, isa::instruction_count> instructions{};
  /// Every instruction of the kernel's text, in its order; empty unless Options::count_accesses.
  std::vector<StatementCount> statements;

  /// Adds another launch of the same kernel.
  Counters& operator+=(const Counters& other);
  friend bool operator==(const Counters&, const Counters&) = default;
};

}  // namespace tilevm::sim
