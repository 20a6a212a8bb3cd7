// The machine, part 2, in plain C++: operations on the ring of mbarriers that count a block's bulk
// copies. Which operations a kernel makes, and in which order, is its machine program
// (backend/machine/copy_ring.cc).

namespace tv {

/// The ring and its counts (backend/machine/machine_kernel.h). All counts are the same in all
/// threads, which keeps them in registers of the warp.
template <int stages>
struct CopyRing {
  u32 barriers;  ///< the shared address of the first mbarrier
  u32 warp;      ///< the number of this warp
  u32 made;      ///< copy groups that are closed
  u32 done;      ///< groups that have been waited for
  u32 known;     ///< `done` at the last barrier of the block
  u32 bytes;     ///< bytes of the copies since the last commit
  u32 split;     ///< `made` at the last barrier that may have been split

  TV_FN u32 barrier(u32 group) const { return barriers + group % stages * 8; }
  TV_FN u32 phase(u32 group) const { return group / stages; }
};

/// Initialises the mbarriers. A barrier of the block must follow.
template <int stages>
TV_FN CopyRing<stages> make_ring(u64* barriers) {
  const u32 warp = warp_number();
  const CopyRing<stages> result = {barrier_address(barriers), warp};
  if (thread() == 0) {
    TV_UNROLL for (int i = 0; i < stages; ++i) mbarrier_init(result.barrier(i));
    fence_proxy_async_shared();
  }
  return result;
}

/// Closes a group: one lane of this warp arrives, and expects the bytes of the group's copies.
template <int arriving_warp, int stages>
TV_FN void arrive_expect(CopyRing<stages>& ring) {
  if (ring.warp == arriving_warp && elect_sync()) {
    mbarrier_arrive_expect_tx(ring.barrier(ring.made), ring.bytes);
  }
  ++ring.made;
  ring.bytes = 0;
}

/// Waits until at most `pending` of the closed groups are unfinished: each warp for itself, or warp 0
/// alone.
template <int pending, bool each_warp, int stages>
TV_FN void wait_for_phases(CopyRing<stages>& ring) {
  const i32 upto = static_cast<i32>(ring.made - pending);
  if (each_warp || ring.warp == 0) {
    TV_UNROLL_BY(1) for (i32 group = static_cast<i32>(ring.done); group < upto; ++group) {
      mbarrier_wait_parity(ring.barrier(group), static_cast<u32>(group) / stages);
    }
  }
  ring.done = static_cast<u32>(larger(static_cast<i32>(ring.done), upto));
  TV_ASSUME(ring.made - ring.done <= pending);
}

/// Waits for the newest group, where all others are known to be complete.
template <int stages>
TV_FN void wait_for_newest_phase(CopyRing<stages>& ring) {
  if (ring.made != ring.done) mbarrier_wait_parity(ring.barrier(ring.done), ring.done / stages);
  ring.done = ring.made;
}

}  // namespace tv
