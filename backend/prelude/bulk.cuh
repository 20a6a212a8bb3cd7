// The machine, part 2, in plain C++: the groups that a block makes of its bulk copies from global to
// shared memory.

namespace tv {

/// The last groups of a block's bulk copies, each with a memory barrier in shared memory that
/// completes when the group is committed and all of its bytes have come. Producer warps copy: those
/// from `first_producer` on, which commits. If that is warp 0, every warp may copy, and warp 0 alone
/// waits for copies. Otherwise each warp waits for itself. All counts are the same in all threads,
/// which keeps them in registers of the warp.
template <int groups, int first_producer>
struct BulkGroups {
  u32 barriers;  ///< where they lie
  u32 warp;      ///< the number of this one
  u32 made;      ///< groups that have been committed
  u32 done;      ///< of these, those that have been waited for ..
  u32 known;     ///< .. and of these, those of which the last barrier of the block told all warps
  u32 bytes;     ///< of the copies since the last commit
  u32 at_split;   ///< groups that had been committed at the last split barrier

  TV_FN u32 barrier(u32 group) const { return barriers + group % groups * 8; }
};

template <int groups, int first_producer>
TV_FN BulkGroups<groups, first_producer> make_bulk_groups(u64* barriers) {
  const u32 warp = warp_number();
  const BulkGroups<groups, first_producer> result = {barrier_address(barriers), warp};
  if (thread() == 0) {
    TV_UNROLL for (int i = 0; i < groups; ++i) make_phases(result.barrier(i));
    fence_phases();
  }
  synchronize();
  return result;
}

/// A barrier of the block.
template <int groups, int first_producer>
TV_FN void synchronize_bulk(BulkGroups<groups, first_producer>& bulk) {
  synchronize();
  bulk.known = bulk.done;
}

/// Waits until at most `pending` of the latest groups are under way: warp 0 does, and the others learn
/// of it at the next barrier of the block, or each for itself.
template <int pending, int groups, int first_producer>
TV_FN void wait_for_bulk(BulkGroups<groups, first_producer>& bulk) {
  const i32 upto = static_cast<i32>(bulk.made - pending);
  if (first_producer > 0 && groups == 2 && pending == 0) {  // commit_bulk leaves one under way at most
    if (bulk.made != bulk.done) wait_for_phase(bulk.barrier(bulk.done), bulk.done / groups);
    bulk.done = bulk.made;
    return;
  }
  if (first_producer > 0 || bulk.warp == 0) {
    TV_UNROLL_BY(1) for (i32 group = static_cast<i32>(bulk.done); group < upto; ++group) {
      wait_for_phase(bulk.barrier(group), static_cast<u32>(group) / groups);
    }
  }
  bulk.done = static_cast<u32>(larger(static_cast<i32>(bulk.done), upto));
  TV_ASSUME(bulk.made - bulk.done <= pending);
}

/// A barrier of the block after which, up to the next one, warps only copy and read what was copied.
/// Producer warps wait for all warps. The other warps only arrive and go on, unless one of them could
/// arrive at the next barrier before all have arrived at this one. None can if a warp must first wait
/// for a group that was committed after this barrier.
template <int threads, int groups, int first_producer>
TV_FN void pass_split_barrier(BulkGroups<groups, first_producer>& bulk) {
  if (static_cast<i32>(bulk.done - bulk.at_split) <= 0) {
    synchronize();
  } else if (bulk.warp >= first_producer) {
    wait_at_split_barrier<threads>();
  } else {
    arrive_at_split_barrier<threads>();
  }
  bulk.at_split = bulk.made;
  bulk.known = bulk.done;
}

/// A barrier serves one group at a time: no warp may copy for the next group before it knows that
/// the one whose barrier that is has come. Programs that wait as they go make this sure themselves.
template <int groups, int first_producer>
TV_FN void commit_bulk(BulkGroups<groups, first_producer>& bulk) {
  if (bulk.warp == first_producer && leads_warp()) {
    expect_bytes(bulk.barrier(bulk.made), bulk.bytes);
  }
  ++bulk.made;
  bulk.bytes = 0;
  if (bulk.made - bulk.known < groups) return;
  wait_for_bulk<groups - 1>(bulk);
  synchronize_bulk(bulk);
}

/// A block must not end while copies into its memory are under way.
template <int groups, int first_producer>
TV_FN void end_bulk(BulkGroups<groups, first_producer>& bulk) {
  if (bulk.bytes != 0) commit_bulk(bulk);
  wait_for_bulk<0>(bulk);
}

}  // namespace tv
