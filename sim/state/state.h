// The state of one thread block, as a value: a copy is a snapshot.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "isa/program/print.h"
#include "sim/state/async_operation.h"
#include "sim/state/global_history.h"
#include "sim/state/group_state.h"
#include "sim/state/product_state.h"
#include "sim/state/shadow_values.h"
#include "sim/state/shared_state.h"
#include "sim/state/undefined.h"
#include "sim/tiles/register_slab.h"

namespace tilevm::sim {

struct SemaphoreAccess;

/// An address in global memory.
struct MemoryAddress {
  std::size_t buffer = 0;
  std::uint64_t bit = 0;
  friend auto operator<=>(const MemoryAddress&, const MemoryAddress&) = default;
};

/// A block waits until a semaphore has the value `wanted`.
struct Wait {
  const SemaphoreAccess* access = nullptr;
  MemoryAddress address;
  Coordinates index{};
  std::uint32_t wanted = 0;
};

/// The record that a block is making for its probes (isa/program/probe.h).
struct RecordInProgress {
  std::uint32_t next = 0;  ///< number of the next PlanOp
  std::uint64_t sum = 0;
  bool undefined = false;
};

/// What each block of a cluster has for itself.
struct OwnState {
  std::array<std::int64_t, 3> block{};  ///< BlockIndices: x, y, z
  std::vector<GlobalView> views;        ///< views by the variable's index
  RegisterSlab registers;
  UndefinedRegisters undefined;
  ShadowValues shadow;
  SharedMemory shared;
  AsyncProducts products;
  /// By shared tensor: where its elements from outside of a view came from (Checks::padding).
  std::vector<Origin> padding;
  isa::PrintRecords prints;
  GlobalHistory global;  ///< empty if nothing is tracked
  bool traced = false;
  RecordInProgress probe;
  /// Copies to global memory by tensor maps, for each thread that began some.
  std::vector<TensorStores> tensor_stores;
};

/// The state of a block, or of a cluster of blocks, which run together: one of them is the current
/// one (sim/state/cluster.h).
struct BlockState : OwnState {
  std::uint64_t order = 0;             ///< rank of the block, or the cluster, in the launch order
  std::vector<std::uint64_t> scalars;  ///< isa::Scalar::bits by slot (plan.h)
  std::size_t next = 0;                ///< the PlanOp that runs next
  std::uint64_t steps = 0;             ///< PlanOps that ran
  std::uint64_t draws = 0;             ///< random numbers that were drawn
  std::optional<Wait> wait;            ///< wait for another block; the waiting PlanOp runs next
  std::uint32_t turns = 0;             ///< instructions that order blocks, counted as they run

  // State of kernels with groups of warps, barriers or clusters (GroupsPlan::active); else empty.
  std::uint16_t group = 0;  ///< group whose `next` and `scalars` the block has now
  /// States by group; `next` and `scalars` of the current one are above.
  std::vector<GroupState> groups;
  GroupOrder parties;                 ///< what the parties know of one another
  std::vector<GroupAccess> accesses;  ///< accesses to shared memory
  /// Number of accesses from which on the ones that all groups know are dropped.
  std::size_t accesses_to_prune = 0;
  std::vector<GroupGlobalAccess> global_accesses;
  std::size_t global_to_prune = 0;
  std::vector<AsyncOperation> under_way;  ///< asynchronous operations in the order they began
  /// Segment of the asynchronous access that the running instruction begins, if it is none of
  /// CopyAsync.
  std::optional<Segment> begun;
  /// The first wait that its barrier may overtake: reported unless a race is found that follows.
  std::optional<OvertakenWait> overtaken;

  // State of clusters.
  std::uint32_t rank = 0;  ///< rank in the cluster of the current block
  /// By rank, the blocks that are not the current one; empty without clusters.
  std::vector<OwnState> others;
  std::vector<RemoteUse> remote_uses;
};

/// A buffer of global memory while a kernel runs; shared by all blocks.
struct MemoryBuffer {
  std::string_view name;
  std::uint8_t* data = nullptr;
  std::size_t bytes = 0;
  /// The undefined mask. Null if all bits are defined, or if that is not checked.
  std::uint8_t* undefined = nullptr;
  /// Null if no kernel writes the buffer, or if the run keeps no shadow values.
  ShadowMemory* shadow = nullptr;
};
using Memory = std::vector<MemoryBuffer>;

}  // namespace tilevm::sim
