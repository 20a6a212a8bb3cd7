// What compiled kernels and the emulated machine share: a CUDA thread, and what it asks the machine
// for. The prelude of emulated kernels contains this text (backend/prelude/emulated.cuh), so it
// includes nothing and uses only types of the language.
#pragma once

namespace tilevm::emu {

/// Bytes of a thread's stack, a power of two, at a multiple of itself. A Lane is at its end, where
/// code of the thread finds it by the address of its own frame.
constexpr unsigned long long stack_bytes = 1ULL << 20;
/// Bytes, in lines of a cache, by which the ends of neighbouring stacks differ from that distance:
/// one place of all stacks would else be in one set of each cache, which holds a few of them.
constexpr unsigned long long stack_skew = 64, stack_skews = 64;

struct Lane;

/// The operands of an instruction of a warp group, as a thread brings them: a in registers, or both
/// by descriptors of matrices in shared memory, whose addresses count from its begin.
struct DotOperands {
  const unsigned* a_words;  ///< null if a is in shared memory
  unsigned long long a, b;  ///< descriptors
  bool accumulate, negate_a, negate_b, a_mn_major, b_mn_major;
};
/// A tensor map of the emulated GPU. Dimension 0 is the innermost one.
struct TensorMap {
  unsigned char* address;
  unsigned rank, element_bytes, swizzle_bytes;
  bool fill_nan;
  unsigned long long extents[5];
  unsigned long long strides[5];  ///< bytes
  unsigned box[5];
};
/// What an access does; an update is atomic.
enum class Touch { read, write, update };

/// The instructions that a thread cannot do alone. `line` is the line of the program's text. All
/// may switch to another thread and return later.
struct Operations {
  /// Ends the launch: the thread executed `trap`.
  void (*trap)(Lane* lane);
  /// Ends the launch: it used up its budget of loop iterations.
  void (*out_of_steps)(Lane* lane);
  /// An access of `bytes` bytes that lies in no range that the lane knows: finds its range or ends
  /// the launch.
  void (*check)(Lane* lane, const void* address, unsigned bytes, bool writes);
  /// An access to shared memory of a block whose events are checked for their order.
  void (*touched)(Lane* lane, const unsigned char* address, unsigned bytes, Touch touch);
  void (*synchronize)(Lane* lane, unsigned line);
  void (*synchronize_warp)(Lane* lane, unsigned line);
  /// A named barrier for `threads` threads; without `waits` the thread only arrives.
  void (*named_barrier)(Lane* lane, unsigned number, unsigned threads, bool waits, unsigned line);
  /// The value of lane 0 of the warp.
  unsigned (*from_first)(Lane* lane, unsigned value, unsigned line);
  /// The value of another lane of the warp.
  unsigned (*shfl_idx_warp)(Lane* lane, unsigned value, unsigned source, unsigned line);
  bool (*elect)(Lane* lane, unsigned line);
  void (*ldmatrix)(Lane* lane, unsigned* words, const unsigned char* row, int count,
                   bool transposed, unsigned line);
  void (*stmatrix)(Lane* lane, unsigned char* row, const unsigned* words, int count,
                   bool transposed, unsigned line);
  /// c = a * b + c on fragments of the unit's tensor-core instruction `shape`: registers of 32
  /// bits, or of 64 where the type has 64.
  void (*mma)(Lane* lane, unsigned shape, void* c, const void* a, const void* b, unsigned line);
  /// Multiplies the stored elements of a sparse a, whose places are in the registers that the
  /// selector names.
  void (*mma_sparse)(Lane* lane, unsigned shape, void* c, const void* a, const void* b,
                     const unsigned* places, int selector, unsigned line);
  /// Multiplies with block scales: the scales of a and of b are in the low bytes of a register.
  void (*mma_scaled)(Lane* lane, unsigned shape, void* c, const void* a, const void* b,
                     const unsigned* a_scales, const unsigned* b_scales, unsigned line);
  /// An asynchronous product by the unit's instruction `shape` of warp groups. The words of d are
  /// written before dot_wait returns to the warp.
  void (*dot_async)(Lane* lane, unsigned shape, unsigned* const* d, const DotOperands& operands,
                    unsigned line);
  void (*dot_commit)(Lane* lane, unsigned line);
  void (*dot_wait)(Lane* lane, unsigned pending, unsigned line);
  void (*cp_async)(Lane* lane, unsigned char* to, const unsigned char* from, unsigned bytes,
                   unsigned valid);
  void (*cp_async_commit_group)(Lane* lane);
  void (*cp_async_wait_group)(Lane* lane, unsigned pending);
  void (*mbarrier_init)(Lane* lane, unsigned barrier, unsigned arrivals);
  void (*mbarrier_arrive)(Lane* lane, unsigned barrier, unsigned line);
  void (*mbarrier_arrive_expect_tx)(Lane* lane, unsigned barrier, unsigned bytes);
  void (*mbarrier_wait_parity)(Lane* lane, unsigned barrier, unsigned phase, unsigned line);
  /// Arrivals at the barrier of a block of the cluster, which is given by its rank.
  void (*mbarrier_arrive_at)(Lane* lane, unsigned barrier, unsigned rank, unsigned line);
  void (*mbarrier_arrive_expect_tx_at)(Lane* lane, unsigned barrier, unsigned bytes, unsigned rank,
                                       unsigned line);
  /// The barrier of all threads of a cluster: an arrival, and the wait for the others.
  void (*cluster_arrive)(Lane* lane, unsigned line);
  void (*cluster_wait)(Lane* lane, unsigned line);
  void (*cp_async_bulk)(Lane* lane, unsigned char* to, const unsigned char* from, unsigned bytes,
                        unsigned barrier, unsigned phase);
  /// Copies a box between global memory and byte `at` of shared memory (cp.async.bulk.tensor): to
  /// shared memory, where a barrier counts it, or to global memory, in groups of the thread.
  void (*tensor_load)(Lane* lane, unsigned at, const TensorMap* map, unsigned barrier,
                      const int* begin, unsigned line);
  /// A load to the blocks of the cluster whose bits are set in the mask.
  void (*tensor_load_multicast)(Lane* lane, unsigned at, const TensorMap* map, unsigned barrier,
                                unsigned mask, const int* begin, unsigned line);
  void (*tensor_store)(Lane* lane, unsigned at, const TensorMap* map, const int* begin,
                       unsigned line);
  void (*tensor_commit)(Lane* lane);
  void (*tensor_wait)(Lane* lane, unsigned pending);
  /// fence.proxy.async
  void (*fence_proxy)(Lane* lane);
  /// A thread stores `count` bytes, or the bits of them that are set in `masks`. Ends the launch if
  /// another thread stored other bits there since the last barrier of the block.
  void (*stored)(Lane* lane, const unsigned char* address, const void* bytes, const void* masks,
                 unsigned count);
  /// The function of an instruction that PTX calls approximate, by its name here ("Ex2Approx") and
  /// the type of elements ("f16"): of one code, or of two.
  unsigned long long (*(*approximation)(const char* mnemonic,
                                        const char* type))(unsigned long long a,
                                                           unsigned long long b);
  /// Waits until 32 bits of global memory have a value.
  void (*wait_for_value)(Lane* lane, const unsigned char* address, unsigned value, unsigned line);
};

/// A range of bytes that a thread may touch.
struct Range {
  const unsigned char* begin;
  unsigned long long size;
};

/// A CUDA thread, as its code sees it.
struct Lane {
  const Operations* operations;
  void* block;                    ///< block of the machine
  unsigned thread;                ///< index of the thread in the block
  unsigned index[3];              ///< index of the block
  unsigned grid[3];               ///< blocks
  Range shared;                   ///< dynamic shared memory, then memory barriers
  unsigned long long barriers;    ///< where these begin
  Range global;                   ///< the buffer that was touched last
  unsigned long long* for_block;  ///< a word that the threads of the block share
  unsigned long long steps;       ///< iterations of loops that it may still make
  bool compares_stores;           ///< some elements are stored by all threads that hold them
  bool checks_order;              ///< whether the machine sees each access to shared memory
  unsigned rank;                  ///< rank of the block in its cluster
};

/// The lane of the stack that contains an address.
inline Lane* lane_of_stack(unsigned long long address) {
  const unsigned long long number = address / stack_bytes;
  const unsigned long long end = (number + 1) * stack_bytes - number % stack_skews * stack_skew;
  return reinterpret_cast<Lane*>(end) - 1;
}

/// The thread whose code runs.
inline Lane* this_lane() {
  return lane_of_stack(reinterpret_cast<unsigned long long>(__builtin_frame_address(0)));
}

}  // namespace tilevm::emu
