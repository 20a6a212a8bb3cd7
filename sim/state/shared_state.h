// The shared memory of a block, as a value: its bytes, the copies in flight, and who touched what
// since the last barrier.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "isa/base/source.h"
#include "isa/layout/memory_layout.h"
#include "isa/layout/register_layout.h"
#include "sim/api/shadow_memory.h"
#include "sim/state/access_record.h"
#include "sim/tiles/coordinates.h"
#include "sim/tiles/intervals.h"

namespace tilevm::sim {

struct CopyPlan;
struct SharedAccess;

/// An asynchronous copy between its issue and the barrier after its retirement. Its elements were
/// read when it was issued (nobody may write them since) and reach shared memory when it retires at
/// the latest (Completion).
struct PendingCopy {
  enum class Stage : std::uint8_t { issued, committed, retired };
  const CopyPlan* plan = nullptr;
  Stage stage = Stage::issued;
  bool arrived = false;     ///< the data has reached shared memory, seen or not
  std::uint64_t group = 0;  ///< from 1 on, once committed
  GlobalView source;
  Coordinates source_origin{}, shared_origin{};
  std::uint64_t low = 0, high = 0;  ///< granules that it fills lie in [low, high)
  std::vector<std::uint8_t> data;   ///< the tile as a dense bit stream
  std::vector<ShadowSlot> shadow;   ///< by element; empty if nobody asks
};

/// A tile that was touched since the last barrier and is not marked in SharedHistory::touches yet:
/// as long as nothing else comes near it, that is not needed.
struct RecentAccess {
  const SharedAccess* access = nullptr;
  Coordinates origin{};
  bool writes = false;
  std::uint64_t low = 0, high = 0;  ///< its granules lie in [low, high)
};

/// Who touched what since a barrier.
struct SharedHistory {
  std::uint32_t epoch = 1;            ///< counts barriers
  std::vector<AccessRecord> touches;  ///< by granule (Plan::granule_shift)
  std::vector<RecentAccess> recent;
  bool marks_touches = false;  ///< since the last barrier: `recent` was not enough
};

/// A copy that would still be in flight if one barrier or wait of the text did not exist.
struct CounterfactualCopy {
  const CopyPlan* plan = nullptr;
  GlobalView source;
  Coordinates source_origin{};
  std::uint64_t group = 0;
  std::uint32_t statement = 0;  ///< in Plan::barriers
  bool covered = false;         ///< another wait has retired its group too
  std::vector<Interval> granules;
};

/// What would be seen if a barrier or a wait of the text did not exist, as long as the run has not
/// shown that it needs it (redundancy.h).
struct Without {
  static constexpr std::uint32_t none = 0xffffffff;
  std::uint32_t barrier = none;              ///< the last barrier, in Plan::barriers
  SharedHistory touches;                     ///< since the one before it
  std::vector<CounterfactualCopy> unseen;    ///< copies that only `barrier` made visible
  std::vector<CounterfactualCopy> unwaited;  ///< copies that only one wait has retired
};

/// The last CopyAsyncWaitGroup that ran.
struct LastWait {
  Span span{};
  std::uint64_t pending = 0;
  std::uint64_t groups = 0;  ///< that were committed then; 0 also if none ran
};

/// A shared tensor's bytes in the block's shared memory.
struct SharedRange {
  std::size_t begin = 0, end = 0;
};

/// Which bits of shared memory have no defined value, as a block finds it: those of all elements.
struct SharedContents {
  std::vector<std::uint8_t> undefined;  ///< by bit
  std::vector<SharedRange> unwritten;   ///< the tensors
};

struct SharedMemory {
  std::vector<std::uint8_t> bytes;
  std::vector<std::uint8_t> undefined;  ///< by bit; empty if it is not checked
  /// By tensor: where it may hold undefined elements. Empty once all are written.
  std::vector<SharedRange> unwritten;
  std::vector<PendingCopy> copies;  ///< in the order of issue
  std::size_t pending_bytes = 0;    ///< of their data
  std::uint64_t groups = 0;         ///< that were committed
  LastWait last_wait;
  SharedHistory since_barrier;  ///< without touches if races are not checked
  Without without;
  /// By granule: whether a copy to it is pending. Empty if that is not checked.
  std::vector<bool> in_flight;
};

}  // namespace tilevm::sim
