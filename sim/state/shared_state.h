// The shared memory of a block, as a value: its bytes, the copies in flight, and the access history
// since the last barrier.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "isa/base/source.h"
#include "isa/layout/memory_layout.h"
#include "isa/layout/register_layout.h"
#include "sim/api/shadow_memory.h"
#include "sim/state/access_record.h"
#include "sim/tiles/coordinates.h"
#include "sim/tiles/intervals.h"
#include "sim/tiles/tile_origin.h"

namespace tilevm::sim {

struct CopyPlan;
struct SharedAccess;

/// An asynchronous copy between its issue and the barrier after its retirement. The source elements
/// are read at issue and must not be written while the copy is pending. They reach shared memory at
/// retirement at the latest (Completion).
struct PendingCopy {
  enum class Stage : std::uint8_t { issued, committed, retired };
  const CopyPlan* plan = nullptr;
  Stage stage = Stage::issued;
  bool arrived = false;     ///< the data has reached shared memory, visible or not
  std::uint64_t group = 0;  ///< number of the commit group from 1 on, once committed
  GlobalView source;
  TileOrigin source_origin{}, shared_origin{};
  std::uint64_t low = 0, high = 0;  ///< the granules that it fills are in [low, high)
  std::vector<std::uint8_t> data;   ///< the tile as a dense bit stream
  /// The mask of elements outside of the source's view; empty unless Checks::padding.
  std::vector<std::uint8_t> padding;
  std::vector<ShadowSlot> shadow;  ///< shadow values by element; empty unless the run keeps them
};

/// An access since the last barrier that is not marked in SharedHistory::records yet. Marks are
/// needed only once another access comes near.
struct RecentAccess {
  const SharedAccess* access = nullptr;
  TileOrigin origin{};
  AccessKind kind = AccessKind::read;
  std::uint64_t low = 0, high = 0;  ///< bounds [low, high) of its granules
};

/// The accesses since a barrier.
struct SharedHistory {
  std::uint32_t epoch = 1;            ///< counts barriers
  std::vector<AccessRecord> records;  ///< records by granule (Plan::granule_shift)
  std::vector<RecentAccess> recent;
  bool marking = false;  ///< whether `recent` did not suffice since the last barrier
  /// Writes since the last barrier in which several threads write a granule: as replicas, or
  /// elements narrower than it. Each of them may read what it wrote itself.
  std::vector<RecentAccess> joint_writes;
};

/// A copy that would still be in flight if one barrier or wait of the text did not exist.
struct CounterfactualCopy {
  const CopyPlan* plan = nullptr;
  GlobalView source;
  TileOrigin source_origin{};
  std::uint64_t group = 0;
  std::uint32_t statement = 0;  ///< index in Plan::barriers
  bool covered = false;         ///< another wait has retired its group too
  std::vector<Interval> granules;
};

/// The history as if a barrier or wait of the text did not exist, until the run has shown that the
/// barrier or wait is needed (redundancy.h).
struct Without {
  static constexpr std::uint32_t none = 0xffffffff;
  std::uint32_t barrier = none;              ///< the last barrier, in Plan::barriers
  SharedHistory history;                     ///< accesses since the barrier before `barrier`
  std::vector<CounterfactualCopy> unseen;    ///< copies that only `barrier` made visible
  std::vector<CounterfactualCopy> unwaited;  ///< copies that only one wait has retired
};

/// The last CopyAsyncWaitGroup that ran.
struct LastWait {
  Span span{};
  std::uint64_t pending = 0;
  std::uint64_t groups = 0;  ///< number of commit groups then; 0 also if none ran
};

/// The copies of a group of warps (CopyAsync) while another one is the block's current group.
struct GroupCopies {
  std::vector<PendingCopy> copies;
  std::size_t pending_bytes = 0;
  std::uint64_t groups = 0;
  LastWait last_wait;
};

/// A shared tensor's bytes in the block's shared memory.
struct SharedRange {
  std::size_t begin = 0, end = 0;
};

/// The undefined mask of shared memory when a block begins: the bits of all elements are set.
struct SharedContents {
  std::vector<std::uint8_t> undefined;  ///< undefined bits
  std::vector<SharedRange> unwritten;   ///< the tensors
};

struct SharedMemory {
  std::vector<std::uint8_t> bytes;
  std::vector<std::uint8_t> undefined;  ///< the undefined mask, by bit; empty if not checked
  /// By tensor: the bytes that may hold undefined elements. Empty ranges once all are written.
  std::vector<SharedRange> unwritten;
  std::vector<PendingCopy> copies;  ///< copies in the order of issue
  std::size_t pending_bytes = 0;    ///< bytes of the pending copies' data
  std::uint64_t groups = 0;         ///< number of commit groups
  LastWait last_wait;
  SharedHistory since_barrier;  ///< `records` is empty if races are not checked
  Without without;
  /// By granule: whether a pending copy writes it. Empty if that is not checked.
  std::vector<bool> in_flight;

  /// Exchanges the copies of the current group with those of another one.
  void exchange(GroupCopies& other) {
    std::swap(copies, other.copies);
    std::swap(pending_bytes, other.pending_bytes);
    std::swap(groups, other.groups);
    std::swap(last_wait, other.last_wait);
  }
};

}  // namespace tilevm::sim
