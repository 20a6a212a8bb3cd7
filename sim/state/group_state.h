// Where the groups of warps of a block are, as values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "isa/base/source.h"
#include "sim/order/group_order.h"
#include "sim/state/access_record.h"
#include "sim/state/global_history.h"
#include "sim/state/product_state.h"
#include "sim/state/shared_state.h"
#include "sim/tiles/tile_origin.h"

namespace tilevm::sim {

struct SharedAccess;

/// What a group waits for: that a phase of an object completes.
struct GroupWait {
  std::size_t object = 0;  ///< index in GroupsPlan::objects
  std::int64_t phase = 0;
  Span span{};  ///< place of the waiting instruction
};

/// An arrival at the barrier of the cluster for which the block has not waited.
struct ClusterArrival {
  std::int64_t phase = 0;
  Span span{};
};

/// A group of warps while another one is the block's current one; of the current one, what the
/// block itself has no member for.
struct GroupState {
  enum class Status : std::uint8_t {
    absent,   ///< not begun by any fork, or ended
    running,  ///< able to run, or waiting
    forked,   ///< waiting until its own groups have ended
  };
  Status status = Status::absent;
  std::size_t next = 0;
  std::vector<std::uint64_t> scalars;
  std::optional<GroupWait> wait;
  /// Arrival of a block at the barrier of its cluster.
  std::optional<ClusterArrival> at_cluster;
  std::uint32_t children = 0;  ///< groups inside that have not ended
  GroupCopies copies;          ///< copies by CopyAsync
  GroupProducts products;      ///< products by DotAsync
};

/// A wait whose barrier may be a phase further before it looks.
struct OvertakenWait {
  std::size_t object = 0;  ///< index in GroupsPlan::objects
  PhaseWait wait;
  Span completed{};  ///< what completes the phase after the one that it waits for
};

/// The copies to global memory that a thread began by tensor maps, in commit groups.
struct TensorStores {
  std::uint32_t thread = 0;   ///< number of the thread in the block
  std::uint32_t groups = 0;   ///< number of commit groups
  bool is_open = false;       ///< copies have begun since the last commit
  std::uint32_t read = 0;     ///< so many groups have read their sources
  std::uint32_t written = 0;  ///< so many have written global memory
  Span last{};                ///< place of the last copy
};

/// An access to the shared memory of another block of the cluster, or an arrival at its barrier.
struct RemoteUse {
  std::uint32_t block = 0;  ///< rank of the block whose memory it is
  Segment segment;          ///< segment of the group, or of the copy's chain
  std::string_view mnemonic;
  Span span{};
};

/// An access to shared memory that later ones are compared with.
struct GroupAccess {
  const SharedAccess* access = nullptr;
  TileOrigin origin{};
  AccessKind kind = AccessKind::read;
  std::uint64_t low = 0, high = 0;  ///< bounds of its granules: [low, high)
  std::uint16_t group = 0;          ///< group that executes the instruction
  std::uint32_t block = 0;          ///< rank in the cluster of the block whose memory it is
  Segment segment;  ///< segment of the group, or of a chain of asynchronous accesses
  /// The threads that must have waited, if a chain completes warp by warp.
  ThreadRange completes_in{0, 0};

  [[nodiscard]] bool is_chain() const { return segment.party.chain != 0; }
};

/// An access to global memory that later ones of the block are compared with.
struct GroupGlobalAccess {
  GlobalFootprint footprint;
  std::vector<Interval> bits;
  std::uint16_t group = 0;
  Segment segment;
};

}  // namespace tilevm::sim
