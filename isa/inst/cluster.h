// Clusters: blocks that run at the same time, each on a multiprocessor of its own, and reach one
// another's shared memory (PTX ISA, Cluster of Cooperative Thread Arrays). `@cluster(2)` gives a
// kernel its shape.
#pragma once

#include "isa/inst/schema.h"
#include "isa/inst/slots.h"

namespace tilevm::isa {

struct BlockRank {
  static constexpr auto schema = define<BlockRank>(
      {.mnemonic = "BlockRank",
       .category = Category::control,
       .sync = Sync::none,
       .result = ResultKind::scalar,
       .summary = "Gives the rank of the block in its cluster.",
       .detail = "An `i32` from 0 on (`%cluster_ctarank`): x counts first, then y, then z. With "
                 "`@cluster(2)` blocks 2k and 2k + 1 along x have ranks 0 and 1. It is what "
                 "`block=` and the bits of `multicast=` mean. Stands in a kernel with a "
                 "`@cluster(..)`."});
  friend bool operator==(const BlockRank&, const BlockRank&) = default;
};

struct SynchronizeCluster {
  static constexpr auto schema = define<SynchronizeCluster>(
      {.mnemonic = "SynchronizeCluster",
       .category = Category::control,
       .sync = Sync::signal | Sync::await,
       .summary = "All threads of all blocks of the cluster wait for one another.",
       .detail = "`barrier.cluster.arrive.release` and `barrier.cluster.wait.acquire`: what any "
                 "thread did before is seen by every thread afterwards, barriers that were made "
                 "included. One stands after the `AllocateBarrier` instructions and before the "
                 "first access to another block, and one at the end of a kernel whose blocks "
                 "access one another, since the shared memory of a block that has ended is gone. "
                 "Stands outside of groups of warps. Threads that have ended count as having "
                 "arrived."});
  friend bool operator==(const SynchronizeCluster&, const SynchronizeCluster&) = default;
};

struct ArriveCluster {
  static constexpr auto schema = define<ArriveCluster>(
      {.mnemonic = "ArriveCluster",
       .category = Category::control,
       .sync = Sync::signal,
       .summary = "All threads of the block arrive at the barrier of the cluster, and go on.",
       .detail = "The first half of `SynchronizeCluster` (`barrier.cluster.arrive.release`): "
                 "what comes between it and `WaitCluster` overlaps with the wait. A block arrives "
                 "once before it waits. Stands outside of groups of warps."});
  friend bool operator==(const ArriveCluster&, const ArriveCluster&) = default;
};

struct WaitCluster {
  static constexpr auto schema = define<WaitCluster>(
      {.mnemonic = "WaitCluster",
       .category = Category::control,
       .sync = Sync::await,
       .summary = "Waits until all blocks of the cluster have arrived by `ArriveCluster`.",
       .detail = "The second half of `SynchronizeCluster` (`barrier.cluster.wait.acquire`). "
                 "Stands outside of groups of warps."});
  friend bool operator==(const WaitCluster&, const WaitCluster&) = default;
};

/// Its instructions, in the order of the reference.
using ClusterInstructions =
    InstructionList<BlockRank, SynchronizeCluster, ArriveCluster, WaitCluster>;

}  // namespace tilevm::isa
