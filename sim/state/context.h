// What an instruction works on while it runs, and how it reports a fault.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/api/sim.h"
#include "sim/mma/dot_codes.h"
#include "sim/mma/mma_tile.h"
#include "sim/state/groups_plan.h"
#include "sim/state/scalar_code.h"
#include "sim/state/state.h"
#include "sim/tiles/indexed_table.h"
#include "sim/tiles/lane_tiles.h"
#include "sim/tiles/run_table.h"
#include "sim/tiles/tile_origin.h"
#include "sim/tiles/tile_table.h"

namespace tilevm::sim {

/// How often a StoreGlobal ran, and how often of these with its whole tile outside of the view.
struct StoreCount {
  std::uint64_t executed = 0, outside = 0;
};

/// How often a statement named elements outside of its view, and the first time.
struct OutsideCount {
  std::uint64_t count = 0;  ///< executions with a fixed index outside; of an index tile, elements
  std::uint64_t order = 0;  ///< rank in the launch order of the first one's block
  std::size_t dim = 0;      ///< dimension of the view in which the first one left it
  std::int64_t index = 0, extent = 0;  ///< index and extent of the first along `dim`
};
/// Adds `count` executions or elements, of which the first had that index.
inline void add_outside(OutsideCount& known, const OutsideCount& found) {
  if (found.count == 0) return;
  const bool is_first = known.count == 0 || found.order < known.order;
  const std::uint64_t count = known.count + found.count;
  if (is_first) known = found;
  known.count = count;
}
/// By MemoryStatement: fixed indices, and index tiles.
struct OutsideCounts {
  OutsideCount fixed, indexed;
};

/// The undefined mask that an instruction will give its result: found before the action, which may
/// overwrite the operands.
struct UndefinedResult {
  std::vector<std::uint8_t> bits;
  Origin origin;
  bool any = false;
};

/// The mask of a tile while another one takes its place.
struct KeptMask {
  Tile tile;
  Origin origin;
  std::vector<std::uint8_t> bits;
};

/// Working memory of one host thread: tables and buffers that are reused between instructions. They
/// are not part of the block's state.
struct Scratch {
  std::vector<TileTable> tables;         ///< tables by Preparation::new_table
  std::vector<RunTables> shared_tables;  ///< tables by Preparation::new_shared_table
  // By Preparation::new_indexed_table, and what the last executions found.
  std::vector<IndexedTables> indexed_tables;
  std::vector<std::vector<std::shared_ptr<IndexedPlaces>>> indexed_places;
  std::vector<std::uint32_t> codes_a, codes_b, codes_c, codes_places;
  std::array<LaneBuffer, 4> lanes;  ///< lanes of operands, and of a result
  std::vector<MmaOperandA> operands_a;
  std::vector<MmaOperandB> operands_b;
  DotBuffers dot;
  std::vector<std::uint8_t> product_a, product_b;  ///< operands of an asynchronous product
  /// Shadow values of a result and of a product's operands.
  ShadowPairs shadow, shadow_a, shadow_b, shadow_places;
  std::vector<StoreCount> stores;      ///< counts by MemoryStatement
  std::vector<OutsideCounts> outside;  ///< counts by MemoryStatement
  UndefinedResult undefined;
  std::vector<KeptMask> kept_masks;
};

/// A statement that touches memory, for messages.
struct MemoryStatement {
  std::string_view mnemonic;
  Span span{};
  std::string tensor{};  ///< the name of the view or the shared tensor
};

/// A Synchronize or a CopyAsyncWaitGroup.
struct Barrier {
  std::string_view mnemonic;
  Span span{};
  bool ends_life = false;  ///< shared memory is reused after it (isa/analysis/shared_plan.h)
};

class AccessObserver;
class HappensBeforeDetector;
class Replay;
class AccessSink;
class ProbeSink;
class TurnLog;

/// The observers of a launch. Each may be absent; each must outlive the run.
struct Observers {
  /// By barrier or wait: whether a block has shown that the run needs this one.
  std::atomic<bool>* needed = nullptr;
  AccessSink* block_races = nullptr;                ///< finds races between blocks
  HappensBeforeDetector* happens_before = nullptr;  ///< finds them if blocks order themselves
  Replay* replay = nullptr;                         ///< locates a race of two blocks
  const Trace* trace = nullptr;
  const ProbeSink* probes = nullptr;  ///< sums up what statements write
  AccessObserver* accesses = nullptr;
};

inline constexpr std::atomic<bool> never_stops{false};

/// What is the same for all blocks of a launch. Pointers must outlive it.
struct RunSettings {
  Checks checks{};
  Completion completion{};
  std::uint64_t max_steps = 0;
  const std::atomic<bool>* stop = &never_stops;  ///< Progress::stop; never null
  /// Memory statements by their number.
  const std::vector<MemoryStatement>* memory_statements = nullptr;
  unsigned granule_shift = 0;          ///< log2 of a granule's bytes in shared memory
  unsigned global_granule_shift = 0;   ///< log2 of a granule's bits in global memory
  std::int64_t threads = 1;            ///< threads of a block
  const GroupsPlan* groups = nullptr;  ///< groups of the plan; never null in a run
  GroupSchedule group_schedule{};
  /// By buffer; null if accesses to global memory are not tracked.
  const std::vector<BufferUse>* uses = nullptr;
  TurnLog* turns = nullptr;  ///< null unless blocks order themselves
  /// The CopyAsyncCommitGroup of the text that are in branches; of the plan, so never null in a
  /// run.
  const std::vector<Span>* conditional_commits = nullptr;
  Observers observers{};

  /// Whether a block is checked by what its parties know (GroupsPlan).
  [[nodiscard]] bool has_parties() const { return groups != nullptr && groups->active; }
  /// Whether accesses to a buffer are tracked.
  [[nodiscard]] bool tracks(int buffer) const {
    return uses != nullptr && (*uses)[static_cast<std::size_t>(buffer)].written;
  }
};

class Context {
 public:
  Context(BlockState& block_state, const Memory& global_memory, Scratch& working_memory,
          const RunSettings& run_settings)
      : state(block_state),
        memory(global_memory),
        scratch(working_memory),
        settings(run_settings) {}

  BlockState& state;
  const Memory& memory;
  Scratch& scratch;
  RunSettings settings;
  std::optional<Fault> fault;

  /// Evaluates a scalar; false after a fault.
  [[nodiscard]] bool evaluate(const ScalarCode& code, std::uint64_t& bits) {
    ScalarFault found;
    if (code.evaluate(state.scalars.data(), bits, found)) [[likely]]
      return true;
    return report_scalar_fault(found);
  }
  /// The value of an integer; u64 beyond 2^63 wraps.
  [[nodiscard]] bool evaluate(const ScalarCode& code, std::int64_t& value) {
    std::uint64_t bits = 0;
    if (!evaluate(code, bits)) return false;
    value = static_cast<std::int64_t>(bits);
    return true;
  }

  /// Records the fault of an expression; false.
  bool report_scalar_fault(const ScalarFault& found);

  /// Records the fault that stops the block; returns false for `return fail(..)`.
  bool fail(Code code, Span span, std::string message) {
    fault = Fault{Diagnostic{.code = code,
                             .severity = Severity::error,
                             .span = span,
                             .message = std::move(message),
                             .fix = {},
                             .notes = {}},
                  {},
                  std::nullopt};
    return false;
  }
};

/// A prepared instruction, which changes the state; false after a fault.
using Action = std::function<bool(Context&)>;

}  // namespace tilevm::sim
