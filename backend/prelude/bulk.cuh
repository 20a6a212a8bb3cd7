// The machine, part 1, continued: copies from global to shared memory in bulk (PTX ISA,
// cp.async.bulk; from sm_90 on), and the groups that a block makes of them.

namespace tv {

/// Waits for a memory barrier's phase. Phases have numbers, of which the instruction compares the
/// last bit.
TV_FN void wait_for_phase(u32 barrier, u32 phase) {
  asm volatile(
      "{\n"
      ".reg .pred done;\n"
      "again: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@!done bra again;\n"
      "}"
      :: "r"(barrier), "r"(phase % 2) : "memory");
}

/// The last groups of a block's bulk copies, each with a memory barrier in shared memory that
/// completes when the group is committed and all of its bytes have come. Warp `copiers` commits.
/// Where it is warp 0, it alone waits. Else each warp waits for itself, and warps from `copiers` on
/// are all that copy. All counts are the same in all threads, which keeps them in registers of the
/// warp.
template <int groups, int copiers>
struct BulkGroups {
  u32 barriers;  ///< where they lie
  u32 warp;      ///< the number of this one
  u32 made;      ///< groups that have been committed
  u32 done;      ///< of these, those that have been waited for ..
  u32 known;     ///< .. and of these, those of which the last barrier of the block told all warps
  u32 bytes;     ///< of the copies since the last commit
  u32 at_gate;   ///< groups that had been committed at the last gate

  TV_FN u32 barrier(u32 group) const { return barriers + group % groups * 8; }
};

template <int groups, int copiers>
TV_FN BulkGroups<groups, copiers> make_bulk_groups(u64* barriers) {
  const u32 warp = __shfl_sync(0xffffffffu, threadIdx.x / 32, 0);
  const BulkGroups<groups, copiers> result = {static_cast<u32>(__cvta_generic_to_shared(barriers)),
                                              warp};
  if (threadIdx.x == 0) {
    TV_UNROLL for (int i = 0; i < groups; ++i) {
      asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(result.barrier(i)) : "memory");
    }
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  }
  __syncthreads();
  return result;
}

/// True in one thread of the warp. All of its threads must come here together.
TV_FN bool leads_warp() {
  u32 leads;
  asm volatile("{\n.reg .pred leads;\nelect.sync _|leads, 0xffffffff;\nselp.u32 %0, 1, 0, leads;\n}"
               : "=r"(leads));
  return leads != 0;
}

/// Copies n bytes, a multiple of 16, to places that are multiples of 16. The caller counts them.
template <int n, int groups, int copiers>
TV_FN void copy_bulk(const BulkGroups<groups, copiers>& bulk, u8* to, const u8* from) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
      :: "r"(static_cast<u32>(__cvta_generic_to_shared(to))),
         "l"(__cvta_generic_to_global(from)), "r"(n), "r"(bulk.barrier(bulk.made))
      : "memory");
}

/// A barrier of the block.
template <int groups, int copiers>
TV_FN void synchronize_bulk(BulkGroups<groups, copiers>& bulk) {
  synchronize();
  bulk.known = bulk.done;
}

/// Waits until at most `pending` of the latest groups are under way: warp 0 does, and the others learn
/// of it at the next barrier of the block, or each for itself.
template <int pending, int groups, int copiers>
TV_FN void wait_for_bulk(BulkGroups<groups, copiers>& bulk) {
  const i32 upto = static_cast<i32>(bulk.made - pending);
  if (copiers > 0 && groups == 2 && pending == 0) {  // commit_bulk leaves one under way at most
    if (bulk.made != bulk.done) wait_for_phase(bulk.barrier(bulk.done), bulk.done / groups);
    bulk.done = bulk.made;
    return;
  }
  if (copiers > 0 || bulk.warp == 0) {
#pragma unroll 1
    for (i32 group = static_cast<i32>(bulk.done); group < upto; ++group) {
      wait_for_phase(bulk.barrier(group), static_cast<u32>(group) / groups);
    }
  }
  bulk.done = static_cast<u32>(max(static_cast<i32>(bulk.done), upto));
  __builtin_assume(bulk.made - bulk.done <= pending);
}

/// A barrier of the block behind which warps only read what was copied, and copy. Those that copy
/// wait for all warps; the others go on, unless they could be at the next gate before all have been
/// at this one. They cannot where they must wait for a group that was committed behind this gate.
template <int threads, int groups, int copiers>
TV_FN void pass_gate(BulkGroups<groups, copiers>& bulk) {
  if (static_cast<i32>(bulk.done - bulk.at_gate) <= 0) {
    synchronize();
  } else if (bulk.warp >= copiers) {
    asm volatile("barrier.cta.sync.aligned 1, %0;" :: "n"(threads) : "memory");
  } else {
    asm volatile("barrier.cta.arrive.aligned 1, %0;" :: "n"(threads) : "memory");
  }
  bulk.at_gate = bulk.made;
  bulk.known = bulk.done;
}

/// A barrier serves one group at a time: no warp may copy for the next group before it knows that
/// the one whose barrier that is has come. Programs that wait as they go make this sure themselves.
template <int groups, int copiers>
TV_FN void commit_bulk(BulkGroups<groups, copiers>& bulk) {
  if (bulk.warp == copiers && leads_warp()) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                 :: "r"(bulk.barrier(bulk.made)), "r"(bulk.bytes) : "memory");
  }
  ++bulk.made;
  bulk.bytes = 0;
  if (bulk.made - bulk.known < groups) return;
  wait_for_bulk<groups - 1>(bulk);
  synchronize_bulk(bulk);
}

/// A block must not end while copies into its memory are under way.
template <int groups, int copiers>
TV_FN void end_bulk(BulkGroups<groups, copiers>& bulk) {
  if (bulk.bytes != 0) commit_bulk(bulk);
  wait_for_bulk<0>(bulk);
}

/// What this thread stored before, and tells others by a barrier, is there for their bulk copies.
TV_FN void fence_for_bulk() { asm volatile("fence.proxy.async;" ::: "memory"); }

}  // namespace tv
