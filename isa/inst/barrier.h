// Memory barriers (PTX ISA, mbarrier), named barriers (PTX ISA, barrier) and the fence between
// proxies: how groups of warps of a block wait for one another and for asynchronous accesses.
//
// A barrier has phases, numbered from 0. A phase is complete when all of its arrivals and all of
// its expected bytes have come; then the next one begins. A wait names the parity of a phase: 0 of
// phases 0, 2, 4 .., 1 of the others. It passes once the current phase has the other parity. What
// an arrival follows is seen by those who wait for its phase.
#pragma once

#include <optional>

#include "isa/inst/schema.h"
#include "isa/inst/slots.h"

namespace tilevm::isa {

struct AllocateBarrier {
  ScalarOperand arrivals;
  std::optional<ScalarOperand> stages;

  static constexpr auto schema = define<AllocateBarrier>(
      {.mnemonic = "AllocateBarrier",
       .category = Category::control,
       .sync = Sync::none,
       .result = ResultKind::barrier,
       .summary = "Makes a barrier in shared memory, or a barrier for each of several stages.",
       .detail = "Each phase of a stage completes after `arrivals` threads have arrived and all "
                 "expected bytes have come. One thread initialises the barrier "
                 "(`mbarrier.init`), so a `Synchronize` must come before the first use by any "
                 "other thread. Stands outside of loops, branches and groups of warps. Needs "
                 "sm_90 or later."},
      slot("arrivals", &AllocateBarrier::arrivals,
           "the arrivals that a phase takes, a constant from 1 to 2^20 - 1"),
      slot("stages", &AllocateBarrier::stages,
           "how many such barriers there are, a constant; 1 if left out"));
  friend bool operator==(const AllocateBarrier&, const AllocateBarrier&) = default;
};

struct Arrive {
  BarrierOperand barrier;
  std::optional<ScalarOperand> stage;
  std::optional<ScalarOperand> block;

  static constexpr auto schema = define<Arrive>(
      {.mnemonic = "Arrive",
       .category = Category::control,
       .sync = Sync::signal,
       .summary = "Every thread of the group arrives at the current phase of a barrier.",
       .detail = "Each thread releases what it did before (`mbarrier.arrive`, which is "
                 "`.release.cta`), and nothing that other threads of the group did unless a "
                 "`Synchronize` of the group came in between. In a `with single_thread():` block "
                 "one thread arrives. An arrival must know that all phases before its own are "
                 "complete: otherwise it may count for another phase, which is a fault. With "
                 "`block` the barrier is that of another block of the cluster "
                 "(`mapa`, `mbarrier.arrive.release.cluster.shared::cluster`): a "
                 "`SynchronizeCluster` must come between its `AllocateBarrier` and the arrival, "
                 "and something must order the arrival before the end of that block."},
      slot("barrier", &Arrive::barrier, "the barrier"),
      slot("stage", &Arrive::stage, "which of the barrier's stages; 0 if left out"),
      slot("block", &Arrive::block,
           "the rank in the cluster of the block whose barrier it is; the own one if left out"));
  friend bool operator==(const Arrive&, const Arrive&) = default;
};

struct ArriveExpect {
  BarrierOperand barrier;
  ScalarOperand bytes;
  std::optional<ScalarOperand> stage;
  std::optional<ScalarOperand> block;

  static constexpr auto schema = define<ArriveExpect>(
      {.mnemonic = "ArriveExpect",
       .category = Category::control,
       .sync = Sync::signal,
       .summary = "Every thread of the group arrives, and lets the phase wait for bytes as well.",
       .detail = "Each thread of the group adds `bytes` to what the current phase waits for and "
                 "arrives at it, in one step (`mbarrier.arrive.expect_tx`). Asynchronous copies "
                 "that name the barrier count their bytes as they complete; no copy expects its "
                 "bytes by itself."},
      slot("barrier", &ArriveExpect::barrier, "the barrier"),
      slot("bytes", &ArriveExpect::bytes, "the bytes that each thread adds, less than 2^20"),
      slot("stage", &ArriveExpect::stage, "which of the barrier's stages; 0 if left out"),
      slot("block", &ArriveExpect::block,
           "the rank in the cluster of the block whose barrier it is; the own one if left out"));
  friend bool operator==(const ArriveExpect&, const ArriveExpect&) = default;
};

struct WaitBarrier {
  BarrierOperand barrier;
  ScalarOperand parity;
  std::optional<ScalarOperand> stage;

  static constexpr auto schema = define<WaitBarrier>(
      {.mnemonic = "WaitBarrier",
       .category = Category::control,
       .sync = Sync::await,
       .summary = "Every thread of the group waits for a phase of a barrier, by its parity.",
       .detail = "Passes once the barrier's current phase has the other parity "
                 "(`mbarrier.try_wait.parity`, which is `.acquire.cta`), and then sees what all "
                 "arrivals at the phase before released and what copies that it counts wrote. So "
                 "a first wait for parity 1 passes at once, as producers want it. A wait that "
                 "passes for a phase for which the group has waited before is a fault, as is one "
                 "that the barrier may overtake. The rings of `std/stages.tile` count parities."},
      slot("barrier", &WaitBarrier::barrier, "the barrier"),
      slot("parity", &WaitBarrier::parity, "the parity of the phase; its last bit counts"),
      slot("stage", &WaitBarrier::stage, "which of the barrier's stages; 0 if left out"));
  friend bool operator==(const WaitBarrier&, const WaitBarrier&) = default;
};

struct FenceProxy {
  static constexpr auto schema = define<FenceProxy>(
      {.mnemonic = "FenceProxy",
       .category = Category::control,
       .sync = Sync::fence,
       .summary = "Lets asynchronous accesses see what was stored before.",
       .detail = "Every thread of the group makes what it has stored in memory, and what it has "
                 "seen of others, visible to accesses by the async proxy "
                 "(`fence.proxy.async`): products that read shared memory, tensor-map and bulk "
                 "copies. Who issues such an access must come after the fence by program order "
                 "or by a barrier."});
  friend bool operator==(const FenceProxy&, const FenceProxy&) = default;
};

struct SyncNamedBarrier {
  ScalarOperand id;
  ScalarOperand warps;

  static constexpr auto schema = define<SyncNamedBarrier>(
      {.mnemonic = "SyncNamedBarrier",
       .category = Category::control,
       .sync = Sync::signal | Sync::await,
       .summary = "Arrives at a named barrier and waits until all of its warps have arrived.",
       .detail = "`bar.sync id, 32 * warps`: the barrier's phase ends when as many warps have "
                 "come by `SyncNamedBarrier` or `ArriveNamedBarrier`, all of which must name the "
                 "same number. Waiting warps see what all that came did before. `Synchronize` of "
                 "a group of warps takes a barrier of its own, and barrier 0 is that of the whole "
                 "block: a block has 16 in all."},
      slot("id", &SyncNamedBarrier::id, "which barrier, a constant from 0 to 15"),
      slot("warps", &SyncNamedBarrier::warps, "how many warps come to it, a constant"));
  friend bool operator==(const SyncNamedBarrier&, const SyncNamedBarrier&) = default;
};

struct ArriveNamedBarrier {
  ScalarOperand id;
  ScalarOperand warps;

  static constexpr auto schema = define<ArriveNamedBarrier>(
      {.mnemonic = "ArriveNamedBarrier",
       .category = Category::control,
       .sync = Sync::signal,
       .summary = "Arrives at a named barrier and goes on.",
       .detail = "`bar.arrive id, 32 * warps`: counts as one of the warps for which "
                 "`SyncNamedBarrier` waits. A warp that comes to a barrier again must know that "
                 "the phase before is over, for instance by a wait; otherwise hardware "
                 "miscounts, which is a fault."},
      slot("id", &ArriveNamedBarrier::id, "which barrier, a constant from 0 to 15"),
      slot("warps", &ArriveNamedBarrier::warps, "how many warps come to it, a constant"));
  friend bool operator==(const ArriveNamedBarrier&, const ArriveNamedBarrier&) = default;
};

/// Its instructions, in the order of the reference.
using BarrierInstructions = InstructionList<AllocateBarrier, Arrive, ArriveExpect, WaitBarrier,
                                            FenceProxy, SyncNamedBarrier, ArriveNamedBarrier>;

}  // namespace tilevm::isa
