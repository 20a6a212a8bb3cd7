// The machine, part 1: what only the GPU can do, wrapped in functions. All inline PTX of an emitted
// program is here and in the mma functions that are added to it. Another file with the same
// functions makes the rest plain C++ for another machine.
//
// Floats travel as bit patterns: f16 and bf16 in 16 bits, f32 in 32, f64 in 64. Every rounding is
// spelled out, nothing is contracted. A NaN result of f32 arithmetic is 0x7fffffff.

// Programs may leave values unused, and the prelude's templates serve signed and unsigned types.
#pragma nv_diag_suppress 111, 128, 177, 186, 550

#define TV_FN __device__ __forceinline__
#define TV_LONG_FN __device__ __noinline__
#define TV_UNROLL _Pragma("unroll")
#define TV_PRAGMA(text) _Pragma(#text)
#define TV_UNROLL_BY(n) TV_PRAGMA(unroll n)
// Unrolls a loop of n iterations wholly, unless compilers would take minutes for it.
#define TV_UNROLL_UP_TO(n) TV_PRAGMA(unroll(n) <= 1024 ? (n) : 8)
#define TV_ASSUME(...) __builtin_assume(__VA_ARGS__)
#define TV_SHARED(name, alignment) extern __shared__ __align__(alignment) tv::u8 name[]
#define TV_BARRIERS(name, n) __shared__ tv::u64 name[n]
// The map is read where the launch put it, not from a copy of the thread's.
#define TV_MAP_PARAMETER const __grid_constant__ tv::TensorMap
#define TV_KERNEL(...) extern "C" __global__ void __launch_bounds__(__VA_ARGS__)
// Blocks of a cluster along x, y and z; the launch need not say it again.
#define TV_CLUSTER(...) __cluster_dims__(__VA_ARGS__)

namespace tv {

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int i32;
typedef long long i64;
static_assert(sizeof(u16) == 2 && sizeof(u32) == 4 && sizeof(u64) == 8, "widths of integers");

// Where this thread stands.
TV_FN u32 thread() { return threadIdx.x; }
TV_FN i32 block_x() { return static_cast<i32>(blockIdx.x); }
TV_FN i32 block_y() { return static_cast<i32>(blockIdx.y); }
TV_FN i32 block_z() { return static_cast<i32>(blockIdx.z); }

/// The number of this block in the grid, x fastest.
TV_FN u64 block_number() {
  const u64 row = blockIdx.y + static_cast<u64>(gridDim.y) * blockIdx.z;
  return blockIdx.x + row * gridDim.x;
}

/// Ends the launch with an error.
TV_FN void fault() { asm volatile("trap;"); }
/// What this thread stored before is there for the host.
TV_FN void fence_for_host() { __threadfence_system(); }

// Memory. Addresses are multiples of the access; accesses of any width may overlap.
template <class T>
struct Aliasing {
  typedef T __attribute__((may_alias)) type;
};
template <class T>
TV_FN T load_as(const u8* address) {
  return *reinterpret_cast<const typename Aliasing<T>::type*>(address);
}
template <class T>
TV_FN void store_as(u8* address, T value) {
  *reinterpret_cast<typename Aliasing<T>::type*>(address) = value;
}
template <int n>
struct __align__(4 * n) Words {
  Aliasing<u32>::type word[n];
};
/// Loads or stores 4, 8 or 16 bytes at once.
template <int bytes>
TV_FN void load_words(u32* words, const u8* address) {
  const auto all = *reinterpret_cast<const Words<bytes / 4>*>(address);
  TV_UNROLL for (int i = 0; i < bytes / 4; ++i) words[i] = all.word[i];
}
template <int bytes>
TV_FN void store_words(u8* address, const u32* words) {
  Words<bytes / 4> all;
  TV_UNROLL for (int i = 0; i < bytes / 4; ++i) all.word[i] = words[i];
  *reinterpret_cast<Words<bytes / 4>*>(address) = all;
}
/// Changes the bits of `mask` in the word to those of `value`, which has no others. Neighbours keep
/// theirs, whoever changes them meanwhile. There is no loop around a compare-and-swap: threads of a
/// warp may leave such a loop apart, and ptxas 13.0 does not always make them meet again before a
/// tensor-core instruction.
TV_FN void store_bits(u8* address, u32 mask, u32 value) {
  u32* const word = reinterpret_cast<u32*>(address);
  atomicAnd(word, ~mask);
  atomicOr(word, value);
}

/// How an element is combined with the one in memory.
enum class Combination { add, max, min, bit_and, bit_or, bit_xor };
/// Combines the code of a T (i32, u32, i64, u64, float or double) with the element at an address,
/// as one step.
template <Combination op, class T, class Word>
TV_FN void combine(u8* address, Word code) {
  constexpr bool is_float = T(0.5) != T(0);
  Word* const word = reinterpret_cast<Word*>(address);
  T* const number = reinterpret_cast<T*>(address);
  if constexpr (op == Combination::add && is_float && sizeof(T) == 4) {
    atomicAdd(number, __uint_as_float(code));
  } else if constexpr (op == Combination::add && is_float) {
    atomicAdd(number, __longlong_as_double(static_cast<i64>(code)));
  } else if constexpr (op == Combination::add) {
    atomicAdd(word, code);
  } else if constexpr (op == Combination::max) {
    atomicMax(number, static_cast<T>(code));
  } else if constexpr (op == Combination::min) {
    atomicMin(number, static_cast<T>(code));
  } else if constexpr (op == Combination::bit_and) {
    atomicAnd(word, code);
  } else if constexpr (op == Combination::bit_or) {
    atomicOr(word, code);
  } else {
    atomicXor(word, code);
  }
}

/// Adds the code of an f16 to the element at an address, as one step.
TV_FN void add_f16(u8* address, u32 code) {
  asm volatile("red.add.noftz.f16 [%0], %1;" ::"l"(address), "h"(static_cast<u16>(code))
               : "memory");
}
/// Adds the code of a bf16, in the same way; from sm_90 on.
TV_FN void add_bf16(u8* address, u32 code) {
  asm volatile("red.add.noftz.bf16 [%0], %1;" ::"l"(address), "h"(static_cast<u16>(code))
               : "memory");
}

/// Adds 1 to 64 bits that all blocks share.
TV_FN void count(u8* address) { atomicAdd(reinterpret_cast<u64*>(address), u64{1}); }

/// Adds n to 64 bits.
TV_FN void add_to(u8* address, u64 n) { atomicAdd(reinterpret_cast<u64*>(address), n); }
/// The value of another thread of the warp. All of its threads must come here together.
TV_FN u32 shfl_idx_warp(u32 value, u32 lane) { return __shfl_sync(0xffffffffu, value, lane); }

// Values of other threads of the warp. Its threads are the bits of `lanes`, and all come here
// together.

/// The value of the thread whose number differs by a bit.
TV_FN u32 shfl_bfly(u32 value, u32 distance, u32 lanes) {
  return __shfl_xor_sync(lanes, value, distance);
}
/// The value of the thread so many lanes before; the own value where there is none.
TV_FN u32 shfl_up(u32 value, u32 distance, u32 lanes) {
  return __shfl_up_sync(lanes, value, distance);
}
/// The value of one thread.
TV_FN u32 shfl_idx(u32 value, u32 lane, u32 lanes) { return __shfl_sync(lanes, value, lane); }

/// A lane's part of the transposed matrix: lane 4 r + c has the 16-bit elements 2 c and 2 c + 1 of
/// row r. All lanes of the warp must come here together.
TV_FN u32 transposed(u32 halves) {
  u32 result;
  asm("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(result) : "r"(halves));
  return result;
}

/// What all lanes of a full warp have, combined.
template <Combination op, bool is_signed>
TV_FN u32 redux_sync(u32 value) {
  u32 d;
  if constexpr (op == Combination::add) {
    asm volatile("redux.sync.add.u32 %0, %1, 0xffffffff;" : "=r"(d) : "r"(value));
  } else if constexpr (op == Combination::max && is_signed) {
    asm volatile("redux.sync.max.s32 %0, %1, 0xffffffff;" : "=r"(d) : "r"(value));
  } else if constexpr (op == Combination::max) {
    asm volatile("redux.sync.max.u32 %0, %1, 0xffffffff;" : "=r"(d) : "r"(value));
  } else if constexpr (op == Combination::min && is_signed) {
    asm volatile("redux.sync.min.s32 %0, %1, 0xffffffff;" : "=r"(d) : "r"(value));
  } else if constexpr (op == Combination::min) {
    asm volatile("redux.sync.min.u32 %0, %1, 0xffffffff;" : "=r"(d) : "r"(value));
  } else if constexpr (op == Combination::bit_and) {
    asm volatile("redux.sync.and.b32 %0, %1, 0xffffffff;" : "=r"(d) : "r"(value));
  } else if constexpr (op == Combination::bit_or) {
    asm volatile("redux.sync.or.b32 %0, %1, 0xffffffff;" : "=r"(d) : "r"(value));
  } else {
    asm volatile("redux.sync.xor.b32 %0, %1, 0xffffffff;" : "=r"(d) : "r"(value));
  }
  return d;
}

/// Adds n to 64 bits that all blocks share, once for this block; gives what was there before to all
/// its threads, for which it waits.
TV_FN u64 add_for_block(u8* address, u64 n) {
  __shared__ u64 before;
  __syncthreads();
  if (threadIdx.x == 0) before = atomicAdd(reinterpret_cast<u64*>(address), n);
  __syncthreads();
  return before;
}

// Semaphores: elements of 32 bits in global memory through which blocks wait for one another. All
// threads of a block call together; what they did before a release is seen behind the acquire that
// found its value (PTX ISA, Memory Consistency Model; the barriers carry it to all threads).
/// Waits until the element has the value.
TV_FN void lock_semaphore(const u8* address, u32 value) {
  if (threadIdx.x == 0) {
    u32 seen;
    do {
      asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(seen) : "l"(address) : "memory");
    } while (seen != value);
  }
  __syncthreads();
}
TV_FN void release_semaphore(u8* address, u32 value) {
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("st.release.gpu.u32 [%0], %1;" ::"l"(address), "r"(value) : "memory");
  }
  __syncthreads();
}
/// Adds once for the block; gives all its threads what was there before.
TV_FN u32 atomic_add(u8* address, u32 value) {
  __shared__ u32 before;
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("atom.add.acq_rel.gpu.u32 %0, [%1], %2;"
                 : "=r"(before)
                 : "l"(address), "r"(value)
                 : "memory");
  }
  __syncthreads();
  return before;
}
TV_FN u32 atomic_exchange(u8* address, u32 value) {
  __shared__ u32 before;
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("atom.exch.acq_rel.gpu.b32 %0, [%1], %2;"
                 : "=r"(before)
                 : "l"(address), "r"(value)
                 : "memory");
  }
  __syncthreads();
  return before;
}
TV_FN u32 atomic_compare_exchange(u8* address, u32 value, u32 compare) {
  __shared__ u32 before;
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("atom.cas.acq_rel.gpu.b32 %0, [%1], %2, %3;"
                 : "=r"(before)
                 : "l"(address), "r"(compare), "r"(value)
                 : "memory");
  }
  __syncthreads();
  return before;
}
/// Combines once for the block; T is i32 or u32.
template <Combination op, class T>
TV_FN u32 atomic_combine(u8* address, u32 value) {
  __shared__ u32 before;
  T* const number = reinterpret_cast<T*>(address);
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    if constexpr (op == Combination::add) before = atomicAdd(number, static_cast<T>(value));
    if constexpr (op == Combination::max) before = atomicMax(number, static_cast<T>(value));
    if constexpr (op == Combination::min) before = atomicMin(number, static_cast<T>(value));
    if constexpr (op == Combination::bit_and) before = atomicAnd(number, static_cast<T>(value));
    if constexpr (op == Combination::bit_or) before = atomicOr(number, static_cast<T>(value));
    if constexpr (op == Combination::bit_xor) before = atomicXor(number, static_cast<T>(value));
    __threadfence();
  }
  __syncthreads();
  return before;
}

// Shared memory.
/// The shared address `from + distance`. A shuffle hides from the compiler how it was computed, so
/// that it stays in a register of the loop instead of being computed again. All threads of a warp
/// must come here together.
TV_FN u32 hoisted_address(const u8* from, u32 distance) {
  const u32 place = static_cast<u32>(__cvta_generic_to_shared(from)) + distance;
  return __shfl_sync(0xffffffffu, place, threadIdx.x % 32);
}
TV_FN u8* shared_to_generic(u32 place) { return static_cast<u8*>(__cvta_shared_to_generic(place)); }
/// Waits for all threads of the block.
TV_FN void synchronize() { __syncthreads(); }
/// Waits for all threads of the warp, and lets them see what they stored.
TV_FN void synchronize_warp() { __syncwarp(); }
/// Loads or stores 1, 2 or 4 matrices of eight rows of 16 bytes, by a whole warp: thread i gives
/// the address of row i, and has a word of each matrix (PTX ISA, ldmatrix, stmatrix).
template <int count, bool transposed>
TV_FN void ldmatrix(u32* words, const u8* row) {
  const u32 at = static_cast<u32>(__cvta_generic_to_shared(row));
  if constexpr (count == 4 && transposed) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                 : "r"(at)
                 : "memory");
  } else if constexpr (count == 4) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                 : "r"(at)
                 : "memory");
  } else if constexpr (count == 2 && transposed) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                 : "=r"(words[0]), "=r"(words[1])
                 : "r"(at)
                 : "memory");
  } else if constexpr (count == 2) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                 : "=r"(words[0]), "=r"(words[1])
                 : "r"(at)
                 : "memory");
  } else {
    static_assert(transposed, "one matrix as it is needs no such instruction");
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];"
                 : "=r"(words[0])
                 : "r"(at)
                 : "memory");
  }
}
template <int count, bool transposed>
TV_FN void stmatrix(u8* row, const u32* words) {
  const u32 at = static_cast<u32>(__cvta_generic_to_shared(row));
  if constexpr (count == 4 && transposed) {
    asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(at),
                 "r"(words[0]), "r"(words[1]), "r"(words[2]), "r"(words[3])
                 : "memory");
  } else if constexpr (count == 4) {
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(at),
                 "r"(words[0]), "r"(words[1]), "r"(words[2]), "r"(words[3])
                 : "memory");
  } else if constexpr (count == 2 && transposed) {
    asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1, %2};" ::"r"(at),
                 "r"(words[0]), "r"(words[1])
                 : "memory");
  } else if constexpr (count == 2) {
    asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};" ::"r"(at),
                 "r"(words[0]), "r"(words[1])
                 : "memory");
  } else {
    static_assert(transposed, "one matrix as it is needs no such instruction");
    asm volatile("stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%0], {%1};" ::"r"(at),
                 "r"(words[0])
                 : "memory");
  }
}
/// Begins to copy 16, 8 or 4 bytes from global to shared memory, both at multiples of that; behind
/// the first `valid` bytes, zeros.
template <int bytes>
TV_FN void cp_async(u8* to, const u8* from, u32 valid) {
  const u32 shared = static_cast<u32>(__cvta_generic_to_shared(to));
  const u64 global = __cvta_generic_to_global(from);
  if constexpr (bytes == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared), "l"(global),
                 "r"(valid)
                 : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(shared), "l"(global),
                 "n"(bytes), "r"(valid)
                 : "memory");
  }
}
/// 0, which the compiler does not see. What it is added to stays in registers of each thread:
/// values that a warp has in common go to uniform registers, and a byte permute cannot read two of
/// those.
TV_FN u32 unseen_zero() {
  u32 below;
  asm("mov.u32 %0, %%lanemask_lt;" : "=r"(below));
  return below >> 31;
}
/// How long a GPU's L2 cache keeps what a copy reads: a policy for all of its lines (PTX ISA,
/// createpolicy). The assembly is not volatile, so a kernel makes each policy once.
TV_FN u64 evict_first() {
  u64 policy;
  asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  return policy;
}
TV_FN u64 evict_last() {
  u64 policy;
  asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
  return policy;
}
/// The shared address must not be found to be a sum with a uniform register: ptxas 13.0 then takes
/// the uniform registers of the policy for it, and makes an illegal instruction.
template <int bytes>
TV_FN void cp_async(u8* to, const u8* from, u32 valid, u64 policy) {
  const u32 shared = static_cast<u32>(__cvta_generic_to_shared(to)) | unseen_zero();
  const u64 global = __cvta_generic_to_global(from);
  if constexpr (bytes == 16) {
    asm volatile("cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %2, %3;" ::"r"(shared),
                 "l"(global), "r"(valid), "l"(policy)
                 : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global.L2::cache_hint [%0], [%1], %2, %3, %4;" ::"r"(shared),
                 "l"(global), "n"(bytes), "r"(valid), "l"(policy)
                 : "memory");
  }
}
/// Loads and stores of global memory with such a policy.
template <int bytes>
TV_FN void load_words(u32* words, const u8* address, u64 policy) {
  const u64 global = __cvta_generic_to_global(address);
  if constexpr (bytes == 16) {
    asm volatile("ld.global.L2::cache_hint.v4.b32 {%0, %1, %2, %3}, [%4], %5;"
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                 : "l"(global), "l"(policy)
                 : "memory");
  } else if constexpr (bytes == 8) {
    asm volatile("ld.global.L2::cache_hint.v2.b32 {%0, %1}, [%2], %3;"
                 : "=r"(words[0]), "=r"(words[1])
                 : "l"(global), "l"(policy)
                 : "memory");
  } else {
    asm volatile("ld.global.L2::cache_hint.b32 %0, [%1], %2;"
                 : "=r"(words[0])
                 : "l"(global), "l"(policy)
                 : "memory");
  }
}
template <int bytes>
TV_FN void store_words(u8* address, const u32* words, u64 policy) {
  const u64 global = __cvta_generic_to_global(address);
  if constexpr (bytes == 16) {
    asm volatile("st.global.L2::cache_hint.v4.b32 [%0], {%1, %2, %3, %4}, %5;" ::"l"(global),
                 "r"(words[0]), "r"(words[1]), "r"(words[2]), "r"(words[3]), "l"(policy)
                 : "memory");
  } else if constexpr (bytes == 8) {
    asm volatile("st.global.L2::cache_hint.v2.b32 [%0], {%1, %2}, %3;" ::"l"(global), "r"(words[0]),
                 "r"(words[1]), "l"(policy)
                 : "memory");
  } else {
    asm volatile("st.global.L2::cache_hint.b32 [%0], %1, %2;" ::"l"(global), "r"(words[0]),
                 "l"(policy)
                 : "memory");
  }
}
/// Lets the L2 cache fetch what is around an address of global memory.
TV_FN void prefetch(const u8* at) {
  asm volatile("prefetch.global.L2 [%0];" ::"l"(__cvta_generic_to_global(at)));
}
TV_FN void cp_async_commit_group() { asm volatile("cp.async.commit_group;" ::: "memory"); }
/// Waits until at most `pending` of the latest groups of this thread are under way.
template <int pending>
TV_FN void cp_async_wait_group() {
  asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
}

// Copies in bulk (PTX ISA, cp.async.bulk; from sm_90 on), and barriers between warps.
/// The number of this warp, the same register for all of its threads, which must come here
/// together.
TV_FN u32 warp_number() { return __shfl_sync(0xffffffffu, threadIdx.x / 32, 0); }
/// True in one thread of the warp. All of its threads must come here together.
TV_FN bool elect_sync() {
#if __CUDA_ARCH__ < 900
  return threadIdx.x % 32 == 0;
#else
  u32 leads;
  asm volatile("{\n.reg .pred leads;\nelect.sync _|leads, 0xffffffff;\nselp.u32 %0, 1, 0, leads;\n}"
               : "=r"(leads));
  return leads != 0;
#endif
}
/// Where memory barriers lie.
TV_FN u32 barrier_address(const u64* barriers) {
  return static_cast<u32>(__cvta_generic_to_shared(barriers));
}
/// Makes a memory barrier whose phases each wait for so many arrivals and the bytes that these expect.
TV_FN void mbarrier_init(u32 barrier, u32 arrivals = 1) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}
/// Lets copies see the memory barriers that this thread made.
TV_FN void fence_proxy_async_shared() {
#if __CUDA_ARCH__ >= 900
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}
/// The one arrival at a barrier's phase, which from then on also waits for so many bytes.
TV_FN void mbarrier_arrive_expect_tx(u32 barrier, u32 bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
}
/// An arrival at a memory barrier's phase.
TV_FN void mbarrier_arrive(u32 barrier) {
  u64 state;
  asm volatile("mbarrier.arrive.shared::cta.b64 %0, [%1];" : "=l"(state) : "r"(barrier) : "memory");
}
/// Arrivals of all threads of a warp, by one instruction: they meet first, so that it releases what each
/// of them did before.
TV_FN void mbarrier_arrive_warp(u32 barrier) {
  __syncwarp();
  if (!elect_sync()) return;
  u64 state;
  asm volatile("mbarrier.arrive.shared::cta.b64 %0, [%1], 32;"
               : "=l"(state)
               : "r"(barrier)
               : "memory");
}
/// Waits for a memory barrier's phase. Phases have numbers, of which the instruction compares the
/// last bit.
TV_FN void mbarrier_wait_parity(u32 barrier, u32 phase) {
#if __CUDA_ARCH__ >= 900
  asm volatile(
      "{\n"
      ".reg .pred done;\n"
      "again: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@!done bra again;\n"
      "}" ::"r"(barrier),
      "r"(phase % 2)
      : "memory");
#else
  asm volatile(
      "{\n"
      ".reg .pred done;\n"
      "again: mbarrier.test_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@!done bra again;\n"
      "}" ::"r"(barrier),
      "r"(phase % 2)
      : "memory");
#endif
}
#if __CUDA_ARCH__ >= 900
// Clusters (PTX ISA, barrier.cluster, mapa, mbarrier): blocks that reach one another's shared memory.
/// The rank of this block in its cluster.
TV_FN i32 block_rank() {
  i32 rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
/// Lets threads of other blocks, and copies that they begin, see the memory barriers that this thread
/// made: of a barrier of the cluster that follows, or of another release.
TV_FN void fence_mbarrier_init() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
TV_FN void cluster_arrive() {
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}
TV_FN void cluster_wait() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }
/// An arrival at the memory barrier of another block of the cluster, which has the address that the own
/// one has here.
TV_FN void mbarrier_arrive_at(u32 barrier, i32 rank) {
  asm volatile(
      "{\n"
      ".reg .b32 remote;\n"
      "mapa.shared::cluster.u32 remote, %0, %1;\n"
      "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [remote];\n"
      "}" ::"r"(barrier),
      "r"(rank)
      : "memory");
}
TV_FN void mbarrier_arrive_expect_tx_at(u32 barrier, u32 bytes, i32 rank) {
  asm volatile(
      "{\n"
      ".reg .b32 remote;\n"
      "mapa.shared::cluster.u32 remote, %0, %2;\n"
      "mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64 _, [remote], %1;\n"
      "}" ::"r"(barrier),
      "r"(bytes), "r"(rank)
      : "memory");
}
/// mbarrier_wait_parity, which also sees what arrivals of other blocks of the cluster follow.
TV_FN void mbarrier_wait_parity_cluster(u32 barrier, u32 phase) {
  asm volatile(
      "{\n"
      ".reg .pred done;\n"
      "again: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%0], %1;\n"
      "@!done bra again;\n"
      "}" ::"r"(barrier),
      "r"(phase % 2)
      : "memory");
}
#endif
/// Copies n bytes, a multiple of 16, to places that are multiples of 16, for the group that is
/// being made (bulk.cuh). The phase of its barrier counts them as they come; the caller does, too.
template <int n, class Groups>
TV_FN void cp_async_bulk(const Groups& bulk, u8* to, const u8* from) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
          "r"(static_cast<u32>(__cvta_generic_to_shared(to))),
      "l"(__cvta_generic_to_global(from)), "r"(n), "r"(bulk.barrier(bulk.made))
      : "memory");
}
template <int n, class Groups>
TV_FN void cp_async_bulk(const Groups& bulk, u8* to, const u8* from, u64 policy) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], "
      "[%1], "
      "%2, [%3], %4;" ::"r"(static_cast<u32>(__cvta_generic_to_shared(to))),
      "l"(__cvta_generic_to_global(from)), "r"(n), "r"(bulk.barrier(bulk.made)), "l"(policy)
      : "memory");
}
// Copies of boxes by tensor maps (PTX ISA, cp.async.bulk.tensor; from sm_90 on). Coordinates begin with
// the innermost dimension. The phase of the barrier counts the bytes of a load as they come; stores
// are in groups of the thread.
/// A parameter that the driver encodes (CUDA Driver API, CUtensorMap).
struct alignas(64) TensorMap {
  u64 words[16];
};
#if __CUDA_ARCH__ >= 900
/// Fetches a map that copies will take, before the first of them waits for it.
TV_FN void prefetch_map(const TensorMap& map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}
TV_FN void tensor_load(const u8* to, const TensorMap& map, u32 barrier, i32 c0) {
  asm volatile(
      "cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3}], [%2];" ::
          "r"(static_cast<u32>(__cvta_generic_to_shared(to))),
      "l"(&map), "r"(barrier), "r"(c0)
      : "memory");
}
TV_FN void tensor_load(const u8* to, const TensorMap& map, u32 barrier, i32 c0, i32 c1) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::
          "r"(static_cast<u32>(__cvta_generic_to_shared(to))),
      "l"(&map), "r"(barrier), "r"(c0), "r"(c1)
      : "memory");
}
TV_FN void tensor_load(const u8* to, const TensorMap& map, u32 barrier, i32 c0, i32 c1, i32 c2) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5}], [%2];" ::
          "r"(static_cast<u32>(__cvta_generic_to_shared(to))),
      "l"(&map), "r"(barrier), "r"(c0), "r"(c1), "r"(c2)
      : "memory");
}
TV_FN void tensor_load(const u8* to, const TensorMap& map, u32 barrier, i32 c0, i32 c1, i32 c2, i32 c3) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6}], [%2];" ::
          "r"(static_cast<u32>(__cvta_generic_to_shared(to))),
      "l"(&map), "r"(barrier), "r"(c0), "r"(c1), "r"(c2), "r"(c3)
      : "memory");
}
TV_FN void tensor_load(const u8* to, const TensorMap& map, u32 barrier, i32 c0, i32 c1, i32 c2, i32 c3, i32 c4) {
  asm volatile(
      "cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6, %7}], [%2];" ::
          "r"(static_cast<u32>(__cvta_generic_to_shared(to))),
      "l"(&map), "r"(barrier), "r"(c0), "r"(c1), "r"(c2), "r"(c3), "r"(c4)
      : "memory");
}
/// A load to the same place of each block of the cluster whose bit is set in the mask, where the same
/// barrier counts the bytes.
TV_FN void tensor_load_multicast(const u8* to, const TensorMap& map, u32 barrier, u16 mask, i32 c0) {
  asm volatile(
      "cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%4}], [%2], %3;" ::
          "r"(static_cast<u32>(__cvta_generic_to_shared(to))),
      "l"(&map), "r"(barrier), "h"(mask), "r"(c0)
      : "memory");
}
TV_FN void tensor_load_multicast(const u8* to, const TensorMap& map, u32 barrier, u16 mask, i32 c0, i32 c1) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%4, %5}], [%2], %3;" ::
          "r"(static_cast<u32>(__cvta_generic_to_shared(to))),
      "l"(&map), "r"(barrier), "h"(mask), "r"(c0), "r"(c1)
      : "memory");
}
TV_FN void tensor_load_multicast(const u8* to, const TensorMap& map, u32 barrier, u16 mask, i32 c0, i32 c1, i32 c2) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%4, %5, %6}], [%2], %3;" ::
          "r"(static_cast<u32>(__cvta_generic_to_shared(to))),
      "l"(&map), "r"(barrier), "h"(mask), "r"(c0), "r"(c1), "r"(c2)
      : "memory");
}
TV_FN void tensor_load_multicast(const u8* to, const TensorMap& map, u32 barrier, u16 mask, i32 c0, i32 c1, i32 c2, i32 c3) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%4, %5, %6, %7}], [%2], %3;" ::
          "r"(static_cast<u32>(__cvta_generic_to_shared(to))),
      "l"(&map), "r"(barrier), "h"(mask), "r"(c0), "r"(c1), "r"(c2), "r"(c3)
      : "memory");
}
TV_FN void tensor_load_multicast(const u8* to, const TensorMap& map, u32 barrier, u16 mask, i32 c0, i32 c1, i32 c2, i32 c3, i32 c4) {
  asm volatile(
      "cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%4, %5, %6, %7, %8}], [%2], %3;" ::
          "r"(static_cast<u32>(__cvta_generic_to_shared(to))),
      "l"(&map), "r"(barrier), "h"(mask), "r"(c0), "r"(c1), "r"(c2), "r"(c3), "r"(c4)
      : "memory");
}
TV_FN void tensor_store(const u8* from, const TensorMap& map, i32 c0) {
  asm volatile("cp.async.bulk.tensor.1d.global.shared::cta.tile.bulk_group [%0, {%2}], [%1];" ::"l"(&map),
               "r"(static_cast<u32>(__cvta_generic_to_shared(from))), "r"(c0)
               : "memory");
}
TV_FN void tensor_store(const u8* from, const TensorMap& map, i32 c0, i32 c1) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%2, %3}], [%1];" ::"l"(&map),
               "r"(static_cast<u32>(__cvta_generic_to_shared(from))), "r"(c0), "r"(c1)
               : "memory");
}
TV_FN void tensor_store(const u8* from, const TensorMap& map, i32 c0, i32 c1, i32 c2) {
  asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [%0, {%2, %3, %4}], [%1];" ::"l"(&map),
               "r"(static_cast<u32>(__cvta_generic_to_shared(from))), "r"(c0), "r"(c1), "r"(c2)
               : "memory");
}
TV_FN void tensor_store(const u8* from, const TensorMap& map, i32 c0, i32 c1, i32 c2, i32 c3) {
  asm volatile("cp.async.bulk.tensor.4d.global.shared::cta.tile.bulk_group [%0, {%2, %3, %4, %5}], [%1];" ::"l"(&map),
               "r"(static_cast<u32>(__cvta_generic_to_shared(from))), "r"(c0), "r"(c1), "r"(c2), "r"(c3)
               : "memory");
}
TV_FN void tensor_store(const u8* from, const TensorMap& map, i32 c0, i32 c1, i32 c2, i32 c3, i32 c4) {
  asm volatile("cp.async.bulk.tensor.5d.global.shared::cta.tile.bulk_group [%0, {%2, %3, %4, %5, %6}], [%1];" ::"l"(&map),
               "r"(static_cast<u32>(__cvta_generic_to_shared(from))), "r"(c0), "r"(c1), "r"(c2), "r"(c3), "r"(c4)
               : "memory");
}
TV_FN void tensor_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
/// Waits until the thread's groups but the latest `pending` have read their sources.
template <int pending>
TV_FN void tensor_wait_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(pending) : "memory");
}
/// Waits until these groups have written global memory, too.
template <int pending>
TV_FN void tensor_wait() {
  asm volatile("cp.async.bulk.wait_group %0;" ::"n"(pending) : "memory");
}
#endif
/// Whether this warp is one of [first, end): the same in all of its threads, which come here together.
template <int first, int end>
TV_FN bool is_warp_in() {
  const u32 warp = warp_number();
  return (first == 0 || warp >= static_cast<u32>(first)) && warp < static_cast<u32>(end);
}
/// A named barrier of the block (PTX ISA, barrier), for so many threads in whole warps: some wait,
/// others only arrive.
template <int number, int threads>
TV_FN void named_barrier_sync() {
  asm volatile("barrier.cta.sync.aligned %0, %1;" ::"n"(number), "n"(threads) : "memory");
}
template <int number, int threads>
TV_FN void named_barrier_arrive() {
  asm volatile("barrier.cta.arrive.aligned %0, %1;" ::"n"(number), "n"(threads) : "memory");
}
/// Barrier 1, at which producer warps wait and the others arrive.
template <int threads>
TV_FN void barrier_sync() {
  named_barrier_sync<1, threads>();
}
template <int threads>
TV_FN void barrier_arrive() {
  named_barrier_arrive<1, threads>();
}
/// The threads of a warp group have so many registers from now on (PTX ISA, setmaxnreg).
template <int count, bool grows>
TV_FN void setmaxnreg() {
  if constexpr (grows) {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(count));
  } else {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(count));
  }
}
/// What this thread stored before, and tells others by a barrier, is there for their bulk copies and
/// for products of warp groups.
TV_FN void fence_proxy_async() { asm volatile("fence.proxy.async;" ::: "memory"); }

// Products of warp groups (PTX ISA, "wgmma"). The functions of the instructions are added to these.
TV_FN u32 warp_group() { return __shfl_sync(0xffffffffu, threadIdx.x / 128, 0); }
/// The descriptor of a matrix in shared memory: `fields` has all but its start.
TV_FN u64 matrix_descriptor(const u8* start, u64 fields) {
  const u32 address = static_cast<u32>(__cvta_generic_to_shared(start));
  return fields | (address & 0x3ffffu) >> 4;
}
/// Registers that were written before are there for the products that follow.
TV_FN void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
TV_FN void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int pending>
TV_FN void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(pending) : "memory");
}
/// The compiler keeps no copy of these words from before, and reads none of them earlier.
template <int n>
TV_FN void hold_words(u32* words) {
  TV_UNROLL for (int i = 0; i < n; ++i) asm volatile("" : "+r"(words[i])::"memory");
}

// f32 arithmetic.
TV_FN u32 f32_add(u32 a, u32 b) {
  u32 d;
  asm("add.rn.f32 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
  return d;
}
TV_FN u32 f32_sub(u32 a, u32 b) {
  u32 d;
  asm("sub.rn.f32 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
  return d;
}
TV_FN u32 f32_mul(u32 a, u32 b) {
  u32 d;
  asm("mul.rn.f32 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
  return d;
}
TV_FN u32 f32_div(u32 a, u32 b) {
  u32 d;
  asm("div.rn.f32 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
  return d;
}

TV_FN u32 f32_fma(u32 a, u32 b, u32 c) {
  u32 d;
  asm("fma.rn.f32 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
  return d;
}
TV_FN u32 f32_sqrt(u32 a) {
  u32 d;
  asm("sqrt.rn.f32 %0, %1;" : "=r"(d) : "r"(a));
  return d;
}
// Approximate instructions (docs/reference/approximations.md). The assembler folds one whose operand it knows to
// the correctly rounded value, which the instruction does not give, be the text volatile or not: an
// operand that may be known passes through hidden() before.
//
/// 0, which the compilers do not know, since the host may write to it.
static __constant__ u32 hidden_zero = 0;
TV_FN u32 hidden(u32 a) { return a | hidden_zero; }
TV_FN u64 hidden(u64 a) { return a | static_cast<u64>(hidden_zero) << 32; }

#define TV_APPROXIMATION(name, Word, bits, instruction)     \
  TV_FN Word name(Word a) {                                 \
    Word d;                                                 \
    asm(instruction " %0, %1;" : "=" bits(d) : bits(a));    \
    return d;                                               \
  }
#define TV_QUOTIENT(name, instruction)                               \
  TV_FN u32 name(u32 a, u32 b) {                                     \
    u32 d;                                                           \
    asm(instruction " %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));      \
    return d;                                                        \
  }
TV_APPROXIMATION(ex2_approx_f32, u32, "r", "ex2.approx.f32")
TV_APPROXIMATION(ex2_approx_ftz_f32, u32, "r", "ex2.approx.ftz.f32")
TV_APPROXIMATION(lg2_approx_f32, u32, "r", "lg2.approx.f32")
TV_APPROXIMATION(lg2_approx_ftz_f32, u32, "r", "lg2.approx.ftz.f32")
TV_APPROXIMATION(rcp_approx_f32, u32, "r", "rcp.approx.f32")
TV_APPROXIMATION(rcp_approx_ftz_f32, u32, "r", "rcp.approx.ftz.f32")
TV_APPROXIMATION(rsqrt_approx_f32, u32, "r", "rsqrt.approx.f32")
TV_APPROXIMATION(rsqrt_approx_ftz_f32, u32, "r", "rsqrt.approx.ftz.f32")
TV_APPROXIMATION(sqrt_approx_f32, u32, "r", "sqrt.approx.f32")
TV_APPROXIMATION(sqrt_approx_ftz_f32, u32, "r", "sqrt.approx.ftz.f32")
TV_APPROXIMATION(sin_approx_f32, u32, "r", "sin.approx.f32")
TV_APPROXIMATION(sin_approx_ftz_f32, u32, "r", "sin.approx.ftz.f32")
TV_APPROXIMATION(cos_approx_f32, u32, "r", "cos.approx.f32")
TV_APPROXIMATION(cos_approx_ftz_f32, u32, "r", "cos.approx.ftz.f32")
TV_APPROXIMATION(tanh_approx_f32, u32, "r", "tanh.approx.f32")
TV_APPROXIMATION(rcp_approx_ftz_f64, u64, "l", "rcp.approx.ftz.f64")
TV_APPROXIMATION(rsqrt_approx_ftz_f64, u64, "l", "rsqrt.approx.ftz.f64")
TV_APPROXIMATION(ex2_approx_f16x2, u32, "r", "ex2.approx.f16x2")
TV_APPROXIMATION(tanh_approx_f16x2, u32, "r", "tanh.approx.f16x2")
#if __CUDA_ARCH__ >= 900
TV_APPROXIMATION(ex2_approx_ftz_bf16x2, u32, "r", "ex2.approx.ftz.bf16x2")
TV_APPROXIMATION(tanh_approx_bf16x2, u32, "r", "tanh.approx.bf16x2")
#else
// The results of f32, truncated, which is what the instructions give that came with sm_90.
TV_FN u32 ex2_approx_ftz_bf16x2(u32 a) {
  const u32 low = ex2_approx_ftz_f32(a << 16), high = ex2_approx_ftz_f32(a & 0xffff0000u);
  return low >> 16 | (high & 0xffff0000u);
}
TV_FN u32 tanh_approx_bf16x2(u32 a) {
  const u32 low = tanh_approx_f32(a << 16), high = tanh_approx_f32(a & 0xffff0000u);
  return low >> 16 | (high & 0xffff0000u);
}
#endif
TV_QUOTIENT(div_full_f32, "div.full.f32")
TV_QUOTIENT(div_full_ftz_f32, "div.full.ftz.f32")
TV_QUOTIENT(div_approx_f32, "div.approx.f32")
TV_QUOTIENT(div_approx_ftz_f32, "div.approx.ftz.f32")

// A NaN loses against a number; -0 is less than +0. The assembler makes a move of two equal
// operands, so NaN results are made canonical by the caller.
TV_FN u32 f32_min(u32 a, u32 b) {
  u32 d;
  asm("min.f32 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
  return d;
}
TV_FN u32 f32_max(u32 a, u32 b) {
  u32 d;
  asm("max.f32 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
  return d;
}

// The integers near a float: below, above, the nearest (ties to even), towards zero. NaN results
// are made canonical by the caller.
TV_FN u32 f32_floor(u32 a) {
  u32 d;
  asm("cvt.rmi.f32.f32 %0, %1;" : "=r"(d) : "r"(a));
  return d;
}
TV_FN u64 f64_floor(u64 a) {
  u64 d;
  asm("cvt.rmi.f64.f64 %0, %1;" : "=l"(d) : "l"(a));
  return d;
}
TV_FN u32 f32_ceil(u32 a) {
  u32 d;
  asm("cvt.rpi.f32.f32 %0, %1;" : "=r"(d) : "r"(a));
  return d;
}
TV_FN u64 f64_ceil(u64 a) {
  u64 d;
  asm("cvt.rpi.f64.f64 %0, %1;" : "=l"(d) : "l"(a));
  return d;
}
TV_FN u32 f32_round(u32 a) {
  u32 d;
  asm("cvt.rni.f32.f32 %0, %1;" : "=r"(d) : "r"(a));
  return d;
}
TV_FN u64 f64_round(u64 a) {
  u64 d;
  asm("cvt.rni.f64.f64 %0, %1;" : "=l"(d) : "l"(a));
  return d;
}
TV_FN u32 f32_trunc(u32 a) {
  u32 d;
  asm("cvt.rzi.f32.f32 %0, %1;" : "=r"(d) : "r"(a));
  return d;
}
TV_FN u64 f64_trunc(u64 a) {
  u64 d;
  asm("cvt.rzi.f64.f64 %0, %1;" : "=l"(d) : "l"(a));
  return d;
}

// f16 and bf16: one rounding of a * b + c; NaN becomes 0x7fff. The result is made a word: where
// the low byte of a 16-bit result is stored, ptxas 13.0 stores the number as an integer (F2I.U8.F16).
TV_FN u32 f16_fma(u32 a, u32 b, u32 c) {
  u32 d;
  asm("{.reg .b16 half; fma.rn.f16 half, %1, %2, %3; cvt.u32.u16 %0, half;}"
      : "=r"(d)
      : "h"(static_cast<u16>(a)), "h"(static_cast<u16>(b)), "h"(static_cast<u16>(c)));
  return d;
}
TV_FN u32 bf16_fma(u32 a, u32 b, u32 c) {
  u32 d;
  asm("{.reg .b16 half; fma.rn.bf16 half, %1, %2, %3; cvt.u32.u16 %0, half;}"
      : "=r"(d)
      : "h"(static_cast<u16>(a)), "h"(static_cast<u16>(b)), "h"(static_cast<u16>(c)));
  return d;
}

// A fused multiply-add in both halves of a word.
TV_FN u32 f16x2_fma(u32 a, u32 b, u32 c) {
  u32 d;
  asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
  return d;
}
TV_FN u32 f16x2_add(u32 a, u32 b) {
  u32 d;
  asm("add.rn.f16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
  return d;
}
TV_FN u32 f16x2_sub(u32 a, u32 b) {
  u32 d;
  asm("sub.rn.f16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
  return d;
}
TV_FN u32 f16x2_mul(u32 a, u32 b) {
  u32 d;
  asm("mul.rn.f16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
  return d;
}
TV_FN u32 bf16x2_fma(u32 a, u32 b, u32 c) {
  u32 d;
  asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
  return d;
}

// Words as bits. The first is written as one instruction, so that shifts of a word stay shared.
/// (a & mask) ^ b.
TV_FN u32 and_xor(u32 a, u32 mask, u32 b) {
  u32 d;
  asm("lop3.b32 %0, %1, %2, %3, 0x6a;" : "=r"(d) : "r"(a), "r"(mask), "r"(b));
  return d;
}
/// The bits of a where the mask has them, of b elsewhere; the compiler would make two of it.
TV_FN u32 choose_bits(u32 a, u32 b, u32 mask) {
  u32 d;
  asm("lop3.b32 %0, %1, %2, %3, 0xe4;" : "=r"(d) : "r"(a), "r"(b), "r"(mask));
  return d;
}
TV_FN u32 rotate_left(u32 a, u32 n) { return __funnelshift_l(a, a, n); }
/// The low word of (high : low) >> n.
TV_FN u32 funnel_right(u32 low, u32 high, u32 n) { return __funnelshift_r(low, high, n); }
/// Byte i is byte (selector >> 4i & 7) of (high : low).
TV_FN u32 permute_bytes(u32 low, u32 high, u32 selector) {
  return __byte_perm(low, high, selector);
}
/// Picks bytes where bits 3, 7, 11 and 15 of the selector are clear; __byte_perm clears them again.
TV_FN u32 pick_bytes(u32 low, u32 high, u32 selector) {
  u32 d;
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(d) : "r"(low), "r"(high), "r"(selector));
  return d;
}
/// A word of four f8, an operand of a tensor-core instruction, as a value that ptxas does not find
/// to be constant. GPUs without that instruction have it from ptxas as instructions for f16, and
/// ptxas 13.0 takes a wrong upper half of a word that is constant.
TV_FN u32 unseen_constant(u32 a) {
#if __CUDA_ARCH__ == 890 || __CUDA_ARCH__ >= 1200
  return a;
#else
  return a | unseen_zero();
#endif
}
/// The low half of a word (0) or the high one (1) twice, which arithmetic on halves reads without
/// an instruction for it.
TV_FN u32 half_twice(u32 a, int half) {
  u16 halves[2];
  u32 d;
  asm("mov.b32 {%0, %1}, %2;" : "=h"(halves[0]), "=h"(halves[1]) : "r"(a));
  asm("mov.b32 %0, {%1, %1};" : "=r"(d) : "h"(halves[half]));
  return d;
}

// f64 arithmetic; NaN results are made canonical by the caller.
TV_FN u64 f64_add(u64 a, u64 b) {
  u64 d;
  asm("add.rn.f64 %0, %1, %2;" : "=l"(d) : "l"(a), "l"(b));
  return d;
}
TV_FN u64 f64_sub(u64 a, u64 b) {
  u64 d;
  asm("sub.rn.f64 %0, %1, %2;" : "=l"(d) : "l"(a), "l"(b));
  return d;
}
TV_FN u64 f64_mul(u64 a, u64 b) {
  u64 d;
  asm("mul.rn.f64 %0, %1, %2;" : "=l"(d) : "l"(a), "l"(b));
  return d;
}
TV_FN u64 f64_fma(u64 a, u64 b, u64 c) {
  u64 d;
  asm("fma.rn.f64 %0, %1, %2, %3;" : "=l"(d) : "l"(a), "l"(b), "l"(c));
  return d;
}
TV_FN u64 f64_div(u64 a, u64 b) {
  u64 d;
  asm("div.rn.f64 %0, %1, %2;" : "=l"(d) : "l"(a), "l"(b));
  return d;
}
TV_FN u64 f64_sqrt(u64 a) {
  u64 d;
  asm("sqrt.rn.f64 %0, %1;" : "=l"(d) : "l"(a));
  return d;
}

// Conversions, nearest even; NaN becomes 0x7fff or 0x7fffffff.
TV_FN u32 f16x2_from_f32(u32 low, u32 high) {
  u32 d;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(d) : "r"(high), "r"(low));
  return d;
}
TV_FN u32 bf16x2_from_f32(u32 low, u32 high) {
  u32 d;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(d) : "r"(high), "r"(low));
  return d;
}
// Conversions of pairs with 0: ptxas 13.0 stores bytes of a result of 16 bits wrongly (see f16_fma).
TV_FN u32 f16_from_f32(u32 a) { return f16x2_from_f32(a, 0); }
TV_FN u32 bf16_from_f32(u32 a) { return bf16x2_from_f32(a, 0); }
/// The two low bytes, each an f8e4m3; from sm_89 on.
TV_FN u32 f16x2_from_e4m3x2(u32 a) {
  u32 d;
  asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(d) : "h"(static_cast<u16>(a)));
  return d;
}
TV_FN u32 f32_from_f16(u32 a) {
  u32 d;
  asm("cvt.f32.f16 %0, %1;" : "=r"(d) : "h"(static_cast<u16>(a)));
  return d;
}
TV_FN u32 f32_from_i32(i32 a) {
  u32 d;
  asm("cvt.rn.f32.s32 %0, %1;" : "=r"(d) : "r"(a));
  return d;
}
TV_FN u32 f32_from_u32(u32 a) {
  u32 d;
  asm("cvt.rn.f32.u32 %0, %1;" : "=r"(d) : "r"(a));
  return d;
}
// Toward zero, saturating; NaN becomes 0.
TV_FN i32 i32_from_f32(u32 a) {
  i32 d;
  asm("cvt.rzi.s32.f32 %0, %1;" : "=r"(d) : "r"(a));
  return d;
}
TV_FN u32 u32_from_f32(u32 a) {
  u32 d;
  asm("cvt.rzi.u32.f32 %0, %1;" : "=r"(d) : "r"(a));
  return d;
}

TV_FN i32 larger(i32 a, i32 b) { return max(a, b); }

/// The number of zero bits above the highest one; 64 for 0.
/// Not inline assembly, so that the compiler before ptxas computes it of constants.
TV_FN i32 leading_zeros(u64 a) { return __clzll(a); }

TV_FN u32 f32_bits(float a) { return __float_as_uint(a); }
TV_FN float f32_value(u32 a) { return __uint_as_float(a); }

}  // namespace tv
