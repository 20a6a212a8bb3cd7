// The machine, part 1, for a CPU: the functions of device.cuh, in C++. One fibre runs a CUDA
// thread; what a thread cannot do alone it asks of the emulated machine (backend/emu/lane.h,
// above).
//
// A function gets the line of its caller, so that threads that should meet at one instruction can
// be seen to stand at different ones.

#define TV_FN inline
#define TV_LONG_FN inline
#define TV_UNROLL
#define TV_UNROLL_BY(n)
#define TV_UNROLL_UP_TO(n)
#define TV_ASSUME(...)
#define TV_SHARED(name, alignment) tv::u8* const name = tv::shared_memory()
#define TV_BARRIERS(name, n) tv::u64* const name = tv::memory_barriers()
#define TV_KERNEL(...) extern "C" void
#define TV_CLUSTER(...)
#define TV_MAP_PARAMETER const tv::TensorMap
// The thread that runs; tests, which have no such stacks, say another one.
#ifndef TV_LANE
#define TV_LANE tilevm::emu::this_lane()
#endif
#define TV_LINE unsigned line = __builtin_LINE()

namespace tv {

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int i32;
typedef long long i64;
static_assert(sizeof(u16) == 2 && sizeof(u32) == 4 && sizeof(u64) == 8, "widths of integers");

namespace emu = tilevm::emu;

// Where this thread stands.
TV_FN emu::Lane* lane() { return TV_LANE; }
TV_FN u32 thread() { return lane()->thread; }
TV_FN i32 block_x() { return static_cast<i32>(lane()->index[0]); }
TV_FN i32 block_y() { return static_cast<i32>(lane()->index[1]); }
TV_FN i32 block_z() { return static_cast<i32>(lane()->index[2]); }
TV_FN u64 block_number() {
  const emu::Lane* const at = lane();
  const u64 row = at->index[1] + static_cast<u64>(at->grid[1]) * at->index[2];
  return at->index[0] + row * at->grid[0];
}
TV_FN u8* shared_memory() { return const_cast<u8*>(lane()->shared.begin); }
TV_FN u64* memory_barriers() { return reinterpret_cast<u64*>(shared_memory() + lane()->barriers); }

/// An argument of a kernel, from 64 bits.
template <class T>
TV_FN T argument(const u64* from) {
  T value;
  __builtin_memcpy(&value, from, sizeof(T));
  return value;
}

TV_FN void fault() { lane()->operations->trap(lane()); }
TV_FN void fence_for_host() {}

/// Counts an iteration of a loop.
TV_FN bool step() {
  emu::Lane* const at = lane();
  if (at->steps-- == 0) at->operations->out_of_steps(at);
  return true;
}

// Memory. Addresses are multiples of the access.
TV_FN bool is_inside(const emu::Range& range, const u8* address, u32 bytes) {
  const u64 offset = static_cast<u64>(address - range.begin);
  return offset < range.size && range.size - offset >= bytes;
}
using emu::Touch;
template <int bytes>
TV_FN void check(const u8* address, Touch touch) {
  emu::Lane* const at = lane();
  const bool aligned = reinterpret_cast<u64>(address) % bytes == 0;
  if (aligned && is_inside(at->global, address, bytes)) return;
  if (aligned && is_inside({at->shared.begin, at->barriers}, address, bytes)) {
    if (at->checks_order) at->operations->touched(at, address, bytes, touch);
    return;
  }
  at->operations->check(at, address, bytes, touch != Touch::read);
}
/// Says what is stored, where replicas are to be compared.
TV_FN void note_store(const u8* address, const void* bytes, u32 count, const u32* mask = nullptr) {
  emu::Lane* const at = lane();
  if (at->compares_stores) at->operations->stored(at, address, bytes, mask, count);
}
template <class T>
TV_FN T load_as(const u8* address) {
  check<sizeof(T)>(address, Touch::read);
  T value;
  __builtin_memcpy(&value, address, sizeof(T));
  return value;
}
template <class T>
TV_FN void store_as(u8* address, T value) {
  check<sizeof(T)>(address, Touch::write);
  note_store(address, &value, sizeof(T));
  __builtin_memcpy(address, &value, sizeof(T));
}
template <int bytes>
TV_FN void load_words(u32* words, const u8* address) {
  check<bytes>(address, Touch::read);
  __builtin_memcpy(words, address, bytes);
}
template <int bytes>
TV_FN void store_words(u8* address, const u32* words) {
  check<bytes>(address, Touch::write);
  note_store(address, words, bytes);
  __builtin_memcpy(address, words, bytes);
}
TV_FN void store_bits(u8* address, u32 mask, u32 value) {
  check<4>(address, Touch::update);
  note_store(address, &value, 4, &mask);
  u32* const word = reinterpret_cast<u32*>(address);
  __atomic_fetch_and(word, ~mask, __ATOMIC_RELAXED);
  __atomic_fetch_or(word, value, __ATOMIC_RELAXED);
}

enum class Combination { add, max, min, bit_and, bit_or, bit_xor };
template <Combination op, class T>
TV_FN T combined(T a, T b) {
  if constexpr (op == Combination::max) return a < b ? b : a;
  if constexpr (op == Combination::min) return b < a ? b : a;
  if constexpr (op == Combination::bit_and) return a & b;
  if constexpr (op == Combination::bit_or) return a | b;
  if constexpr (op == Combination::bit_xor) return a ^ b;
  return a + b;
}
template <Combination op, class T, class Word>
TV_FN void combine(u8* address, Word code) {
  check<sizeof(Word)>(address, Touch::update);
  constexpr bool wraps = op == Combination::add && !(T(0.5) != T(0));
  Word* const word = reinterpret_cast<Word*>(address);
  Word seen = __atomic_load_n(word, __ATOMIC_RELAXED), next;
  do {
    if constexpr (wraps) {
      next = seen + code;
    } else {
      T a, b;
      __builtin_memcpy(&a, &seen, sizeof(T));
      __builtin_memcpy(&b, &code, sizeof(T));
      a = combined<op>(a, b);
      __builtin_memcpy(&next, &a, sizeof(T));
    }
  } while (
      !__atomic_compare_exchange_n(word, &seen, next, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
}

/// Changes an element of 32 bits, or half of one, to what `next` makes of it; gives what it was.
template <class Word, class Next>
TV_FN Word update_atomically(u8* address, Next next) {
  check<sizeof(Word)>(address, Touch::update);
  Word* const word = reinterpret_cast<Word*>(address);
  Word seen = __atomic_load_n(word, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(word, &seen, next(seen), false, __ATOMIC_ACQ_REL,
                                      __ATOMIC_RELAXED)) {
  }
  return seen;
}

template <class T>
TV_FN T add_atomically(u8* address, T value) {
  check<sizeof(T)>(address, Touch::update);
  return __atomic_fetch_add(reinterpret_cast<T*>(address), value, __ATOMIC_ACQ_REL);
}
TV_FN void count(u8* address) { add_atomically(address, u64{1}); }

TV_FN void add_to(u8* address, u64 n) { add_atomically(address, n); }
TV_FN u32 shfl_idx_warp(u32 value, u32 source, TV_LINE) {
  return lane()->operations->shfl_idx_warp(lane(), value, source, line);
}

TV_FN u32 shfl_bfly(u32 value, u32 distance, u32, TV_LINE) {
  return shfl_idx_warp(value, thread() % 32 ^ distance, line);
}

template <Combination op, bool is_signed>
TV_FN u32 redux_sync(u32 value, TV_LINE) {
  for (u32 distance = 1; distance < 32; distance *= 2) {
    const u32 other = shfl_bfly(value, distance, 0xffffffffu, line);
    if constexpr (is_signed && (op == Combination::max || op == Combination::min)) {
      value = static_cast<u32>(combined<op>(static_cast<i32>(value), static_cast<i32>(other)));
    } else {
      value = combined<op>(value, other);
    }
  }
  return value;
}

TV_FN u32 shfl_up(u32 value, u32 distance, u32, TV_LINE) {
  const u32 own = thread() % 32;
  return shfl_idx_warp(value, own < distance ? own : own - distance, line);
}
TV_FN u32 shfl_idx(u32 value, u32 source, u32, TV_LINE) {
  return shfl_idx_warp(value, source % 32, line);
}

TV_FN u32 transposed(u32 halves, TV_LINE) {
  const u32 row = thread() % 32 / 4, column = thread() % 4 * 2;
  const u32 low = shfl_idx_warp(halves, 4 * column + row / 2, line);
  const u32 high = shfl_idx_warp(halves, 4 * (column + 1) + row / 2, line);
  const u32 shift = row % 2 * 16;
  return (low >> shift & 0xffffu) | (high >> shift & 0xffffu) << 16;
}

TV_FN void synchronize(TV_LINE) { lane()->operations->synchronize(lane(), line); }

/// What thread 0 gets from `work`, for all threads of the block.
template <class Work>
TV_FN u64 for_block(Work work, u32 line) {
  synchronize(line);
  if (thread() == 0) *lane()->for_block = work();
  synchronize(line);
  return *lane()->for_block;
}
TV_FN u64 add_for_block(u8* address, u64 n, TV_LINE) {
  return for_block([&] { return add_atomically(address, n); }, line);
}

// Semaphores.
TV_FN void lock_semaphore(const u8* address, u32 value, TV_LINE) {
  if (thread() == 0) {
    check<4>(address, Touch::read);
    lane()->operations->wait_for_value(lane(), address, value, line);
  }
  synchronize(line);
}
TV_FN void release_semaphore(u8* address, u32 value, TV_LINE) {
  synchronize(line);
  if (thread() == 0) {
    check<4>(address, Touch::write);
    __atomic_store_n(reinterpret_cast<u32*>(address), value, __ATOMIC_RELEASE);
  }
  synchronize(line);
}
TV_FN u32 atomic_add(u8* address, u32 value, TV_LINE) {
  return static_cast<u32>(for_block([&] { return add_atomically(address, value); }, line));
}
TV_FN u32 atomic_exchange(u8* address, u32 value, TV_LINE) {
  return static_cast<u32>(for_block(
      [&] { return update_atomically<u32>(address, [&](u32) { return value; }); }, line));
}
TV_FN u32 atomic_compare_exchange(u8* address, u32 value, u32 compare, TV_LINE) {
  const auto next = [&](u32 seen) { return seen == compare ? value : seen; };
  return static_cast<u32>(for_block([&] { return update_atomically<u32>(address, next); }, line));
}
template <Combination op, class T>
TV_FN u32 atomic_combine(u8* address, u32 value, TV_LINE) {
  const auto next = [&](u32 seen) {
    if constexpr (op == Combination::add) return seen + value;
    return static_cast<u32>(combined<op>(static_cast<T>(seen), static_cast<T>(value)));
  };
  return static_cast<u32>(for_block([&] { return update_atomically<u32>(address, next); }, line));
}

// Shared memory. An address as a number is a distance from its begin.
TV_FN u32 shared_distance(const u8* from) { return static_cast<u32>(from - lane()->shared.begin); }
TV_FN u32 hoisted_address(const u8* from, u32 distance) { return shared_distance(from) + distance; }
TV_FN u8* shared_to_generic(u32 place) { return shared_memory() + static_cast<i32>(place); }
TV_FN void synchronize_warp(TV_LINE) { lane()->operations->synchronize_warp(lane(), line); }
template <int count, bool transposed>
TV_FN void ldmatrix(u32* words, const u8* row, TV_LINE) {
  lane()->operations->ldmatrix(lane(), words, row, count, transposed, line);
}
template <int count, bool transposed>
TV_FN void stmatrix(u8* row, const u32* words, TV_LINE) {
  lane()->operations->stmatrix(lane(), row, words, count, transposed, line);
}
template <int bytes>
TV_FN void cp_async(u8* to, const u8* from, u32 valid) {
  lane()->operations->cp_async(lane(), to, from, bytes, valid);
}
/// The emulated GPU has no cache.
TV_FN u64 evict_first() { return 0; }
TV_FN u64 evict_last() { return 0; }
template <int bytes>
TV_FN void cp_async(u8* to, const u8* from, u32 valid, u64) {
  cp_async<bytes>(to, from, valid);
}
template <int bytes>
TV_FN void load_words(u32* words, const u8* address, u64) {
  load_words<bytes>(words, address);
}
template <int bytes>
TV_FN void store_words(u8* address, const u32* words, u64) {
  store_words<bytes>(address, words);
}
TV_FN void prefetch(const u8*) {}
TV_FN void cp_async_commit_group() { lane()->operations->cp_async_commit_group(lane()); }
template <int pending>
TV_FN void cp_async_wait_group() {
  lane()->operations->cp_async_wait_group(lane(), pending);
}

// Copies in bulk, and barriers between warps.
TV_FN u32 warp_number(TV_LINE) {
  return lane()->operations->from_first(lane(), thread() / 32, line);
}
TV_FN bool elect_sync(TV_LINE) { return lane()->operations->elect(lane(), line); }
TV_FN u32 barrier_address(const u64* barriers) {
  return shared_distance(reinterpret_cast<const u8*>(barriers));
}
TV_FN void mbarrier_init(u32 barrier, u32 arrivals = 1) {
  lane()->operations->mbarrier_init(lane(), barrier, arrivals);
}
TV_FN void mbarrier_arrive(u32 barrier, TV_LINE) {
  lane()->operations->mbarrier_arrive(lane(), barrier, line);
}
TV_FN void mbarrier_arrive_warp(u32 barrier, TV_LINE) { mbarrier_arrive(barrier, line); }
TV_FN void fence_proxy_async_shared() { lane()->operations->fence_proxy(lane()); }
TV_FN void mbarrier_arrive_expect_tx(u32 barrier, u32 bytes) {
  lane()->operations->mbarrier_arrive_expect_tx(lane(), barrier, bytes);
}
TV_FN void mbarrier_wait_parity(u32 barrier, u32 phase, TV_LINE) {
  lane()->operations->mbarrier_wait_parity(lane(), barrier, phase, line);
}
// Clusters.
TV_FN i32 block_rank() { return static_cast<i32>(lane()->rank); }
TV_FN void fence_mbarrier_init() {}
TV_FN void cluster_arrive(TV_LINE) { lane()->operations->cluster_arrive(lane(), line); }
TV_FN void cluster_wait(TV_LINE) { lane()->operations->cluster_wait(lane(), line); }
TV_FN void mbarrier_arrive_at(u32 barrier, i32 rank, TV_LINE) {
  lane()->operations->mbarrier_arrive_at(lane(), barrier, static_cast<u32>(rank), line);
}
TV_FN void mbarrier_arrive_expect_tx_at(u32 barrier, u32 bytes, i32 rank, TV_LINE) {
  lane()->operations->mbarrier_arrive_expect_tx_at(lane(), barrier, bytes, static_cast<u32>(rank),
                                                   line);
}
TV_FN void mbarrier_wait_parity_cluster(u32 barrier, u32 phase, TV_LINE) {
  mbarrier_wait_parity(barrier, phase, line);
}
template <int n, class Groups>
TV_FN void cp_async_bulk(const Groups& bulk, u8* to, const u8* from) {
  lane()->operations->cp_async_bulk(lane(), to, from, n, bulk.barrier(bulk.made),
                                bulk.phase(bulk.made));
}
template <int n, class Groups>
TV_FN void cp_async_bulk(const Groups& bulk, u8* to, const u8* from, u64) {
  cp_async_bulk<n>(bulk, to, from);
}
// Copies of boxes by tensor maps. Coordinates begin with the innermost dimension.
/// A parameter: the address of the map.
struct TensorMap {
  const emu::TensorMap* map;
};
TV_FN void prefetch_map(const TensorMap&) {}
template <class... Begin>
TV_FN void tensor_load(const u8* to, const TensorMap& map, u32 barrier, Begin... begin) {
  const i32 all[] = {begin...};
  lane()->operations->tensor_load(lane(), shared_distance(to), map.map, barrier, all, 0);
}
template <class... Begin>
TV_FN void tensor_load_multicast(const u8* to, const TensorMap& map, u32 barrier, u16 mask,
                                 Begin... begin) {
  const i32 all[] = {begin...};
  lane()->operations->tensor_load_multicast(lane(), shared_distance(to), map.map, barrier, mask,
                                            all, 0);
}
template <class... Begin>
TV_FN void tensor_store(const u8* from, const TensorMap& map, Begin... begin) {
  const i32 all[] = {begin...};
  lane()->operations->tensor_store(lane(), shared_distance(from), map.map, all, 0);
}
TV_FN void tensor_commit() { lane()->operations->tensor_commit(lane()); }
template <int pending>
TV_FN void tensor_wait_read() {
  lane()->operations->tensor_wait(lane(), pending);
}
template <int pending>
TV_FN void tensor_wait() {
  lane()->operations->tensor_wait(lane(), pending);
}
template <int first, int end>
TV_FN bool is_warp_in(TV_LINE) {
  const u32 warp = warp_number(line);
  return warp >= static_cast<u32>(first) && warp < static_cast<u32>(end);
}
template <int number, int threads>
TV_FN void named_barrier_sync(TV_LINE) {
  lane()->operations->named_barrier(lane(), number, threads, true, line);
}
template <int number, int threads>
TV_FN void named_barrier_arrive(TV_LINE) {
  lane()->operations->named_barrier(lane(), number, threads, false, line);
}
template <int threads>
TV_FN void barrier_sync(TV_LINE) {
  named_barrier_sync<1, threads>(line);
}
template <int threads>
TV_FN void barrier_arrive(TV_LINE) {
  named_barrier_arrive<1, threads>(line);
}
/// An emulated thread has all the registers that it needs.
template <int count, bool grows>
TV_FN void setmaxnreg() {}
TV_FN void fence_proxy_async() { lane()->operations->fence_proxy(lane()); }

// Products of warp groups.
TV_FN u32 warp_group() { return thread() / 128; }
TV_FN u64 matrix_descriptor(const u8* start, u64 fields) {
  return fields | (shared_distance(start) & 0x3ffffu) >> 4;
}
TV_FN void wgmma_fence() {}
TV_FN void wgmma_commit(TV_LINE) { lane()->operations->dot_commit(lane(), line); }
template <int pending>
TV_FN void wgmma_wait(TV_LINE) {
  lane()->operations->dot_wait(lane(), pending, line);
}
template <int n>
TV_FN void hold_words(u32*) {}

// f32 arithmetic. A NaN result is 0x7fffffff.
TV_FN float f32_value(u32 a) {
  float value;
  __builtin_memcpy(&value, &a, 4);
  return value;
}
TV_FN u32 f32_bits(float a) {
  u32 bits;
  __builtin_memcpy(&bits, &a, 4);
  return bits;
}
TV_FN u32 f32_result(float a) { return a != a ? 0x7fffffffu : f32_bits(a); }
TV_FN u32 f32_add(u32 a, u32 b) { return f32_result(f32_value(a) + f32_value(b)); }
TV_FN u32 f32_sub(u32 a, u32 b) { return f32_result(f32_value(a) - f32_value(b)); }
TV_FN u32 f32_mul(u32 a, u32 b) { return f32_result(f32_value(a) * f32_value(b)); }
TV_FN u32 f32_div(u32 a, u32 b) { return f32_result(f32_value(a) / f32_value(b)); }
TV_FN u32 f32_fma(u32 a, u32 b, u32 c) {
  return f32_result(__builtin_fmaf(f32_value(a), f32_value(b), f32_value(c)));
}
TV_FN u32 f32_sqrt(u32 a) { return f32_result(__builtin_sqrtf(f32_value(a))); }
// Approximate instructions: the machine has the model of them (isa/type/approximation.h).
TV_FN u32 hidden(u32 a) { return a; }
TV_FN u64 hidden(u64 a) { return a; }

typedef u64 (*ApproximateCode)(u64 a, u64 b);
/// The function of an instruction, which is looked up once.
TV_FN ApproximateCode find_approximation(ApproximateCode* known, const char* mnemonic,
                                       const char* type) {
  ApproximateCode found = __atomic_load_n(known, __ATOMIC_RELAXED);
  if (found == nullptr) {
    found = lane()->operations->approximation(mnemonic, type);
    __atomic_store_n(known, found, __ATOMIC_RELAXED);
  }
  return found;
}

#define TV_APPROXIMATION(name, Word, mnemonic, type)                                  \
  TV_FN Word name(Word a) {                                                           \
    static ApproximateCode known = nullptr;                                             \
    return static_cast<Word>(find_approximation(&known, mnemonic, type)(a, 0));       \
  }
/// Approximates the two halves of a word.
TV_FN u32 approximate_halves(ApproximateCode f, u32 a) {
  return static_cast<u32>(f(a & 0xffffu, 0) | f(a >> 16, 0) << 16);
}
#define TV_APPROXIMATIONS(name, mnemonic, type)                                     \
  TV_FN u32 name(u32 a) {                                                           \
    static ApproximateCode known = nullptr;                                         \
    return approximate_halves(find_approximation(&known, mnemonic, type), a);       \
  }
#define TV_QUOTIENT(name, mnemonic)                                                   \
  TV_FN u32 name(u32 a, u32 b) {                                                      \
    static ApproximateCode known = nullptr;                                             \
    return static_cast<u32>(find_approximation(&known, mnemonic, "f32")(a, b));       \
  }
TV_APPROXIMATION(ex2_approx_f32, u32, "Ex2Approx", "f32")
TV_APPROXIMATION(ex2_approx_ftz_f32, u32, "Ex2ApproxFtz", "f32")
TV_APPROXIMATION(lg2_approx_f32, u32, "Lg2Approx", "f32")
TV_APPROXIMATION(lg2_approx_ftz_f32, u32, "Lg2ApproxFtz", "f32")
TV_APPROXIMATION(rcp_approx_f32, u32, "RcpApprox", "f32")
TV_APPROXIMATION(rcp_approx_ftz_f32, u32, "RcpApproxFtz", "f32")
TV_APPROXIMATION(rsqrt_approx_f32, u32, "RsqrtApprox", "f32")
TV_APPROXIMATION(rsqrt_approx_ftz_f32, u32, "RsqrtApproxFtz", "f32")
TV_APPROXIMATION(sqrt_approx_f32, u32, "SqrtApprox", "f32")
TV_APPROXIMATION(sqrt_approx_ftz_f32, u32, "SqrtApproxFtz", "f32")
TV_APPROXIMATION(sin_approx_f32, u32, "SinApprox", "f32")
TV_APPROXIMATION(sin_approx_ftz_f32, u32, "SinApproxFtz", "f32")
TV_APPROXIMATION(cos_approx_f32, u32, "CosApprox", "f32")
TV_APPROXIMATION(cos_approx_ftz_f32, u32, "CosApproxFtz", "f32")
TV_APPROXIMATION(tanh_approx_f32, u32, "TanhApprox", "f32")
TV_APPROXIMATION(rcp_approx_ftz_f64, u64, "RcpApproxFtz", "f64")
TV_APPROXIMATION(rsqrt_approx_ftz_f64, u64, "RsqrtApproxFtz", "f64")
TV_APPROXIMATIONS(ex2_approx_f16x2, "Ex2Approx", "f16")
TV_APPROXIMATIONS(tanh_approx_f16x2, "TanhApprox", "f16")
TV_FN u32 ex2_approx_ftz_bf16x2(u32 a) {
  static ApproximateCode known = nullptr;
  return approximate_halves(find_approximation(&known, "Ex2ApproxFtz", "bf16"), a);
}
TV_FN u32 tanh_approx_bf16x2(u32 a) {
  static ApproximateCode known = nullptr;
  return approximate_halves(find_approximation(&known, "TanhApprox", "bf16"), a);
}
TV_QUOTIENT(div_full_f32, "DivFull")
TV_QUOTIENT(div_full_ftz_f32, "DivFullFtz")
TV_QUOTIENT(div_approx_f32, "DivApprox")
TV_QUOTIENT(div_approx_ftz_f32, "DivApproxFtz")

/// A NaN loses against a number; -0 is less than +0.
TV_FN u32 f32_extreme(u32 a, u32 b, bool largest) {
  const float x = f32_value(a), y = f32_value(b);
  if (x != x) return y != y ? 0x7fffffffu : b;
  if (y != y) return a;
  const bool a_is_less = x < y || (x == y && (a >> 31) > (b >> 31));
  return a_is_less == largest ? b : a;
}
TV_FN u32 f32_min(u32 a, u32 b) { return f32_extreme(a, b, false); }
TV_FN u32 f32_max(u32 a, u32 b) { return f32_extreme(a, b, true); }

// f64 arithmetic; NaN results are made canonical by the caller.
TV_FN double f64_value(u64 a) {
  double value;
  __builtin_memcpy(&value, &a, 8);
  return value;
}
TV_FN u64 f64_bits(double a) {
  u64 bits;
  __builtin_memcpy(&bits, &a, 8);
  return bits;
}
TV_FN u64 f64_add(u64 a, u64 b) { return f64_bits(f64_value(a) + f64_value(b)); }
TV_FN u64 f64_sub(u64 a, u64 b) { return f64_bits(f64_value(a) - f64_value(b)); }
TV_FN u64 f64_mul(u64 a, u64 b) { return f64_bits(f64_value(a) * f64_value(b)); }
TV_FN u64 f64_fma(u64 a, u64 b, u64 c) {
  return f64_bits(__builtin_fma(f64_value(a), f64_value(b), f64_value(c)));
}
TV_FN u64 f64_div(u64 a, u64 b) { return f64_bits(f64_value(a) / f64_value(b)); }
TV_FN u64 f64_sqrt(u64 a) { return f64_bits(__builtin_sqrt(f64_value(a))); }

// The integers near a float; NaN results are made canonical by the caller.
TV_FN u32 f32_floor(u32 a) { return f32_bits(__builtin_floorf(f32_value(a))); }
TV_FN u64 f64_floor(u64 a) { return f64_bits(__builtin_floor(f64_value(a))); }
TV_FN u32 f32_ceil(u32 a) { return f32_bits(__builtin_ceilf(f32_value(a))); }
TV_FN u64 f64_ceil(u64 a) { return f64_bits(__builtin_ceil(f64_value(a))); }
TV_FN u32 f32_round(u32 a) { return f32_bits(__builtin_nearbyintf(f32_value(a))); }
TV_FN u64 f64_round(u64 a) { return f64_bits(__builtin_nearbyint(f64_value(a))); }
TV_FN u32 f32_trunc(u32 a) { return f32_bits(__builtin_truncf(f32_value(a))); }
TV_FN u64 f64_trunc(u64 a) { return f64_bits(__builtin_trunc(f64_value(a))); }

// f16 and bf16.
/// A double as a float of 16 bits with so many of them for the mantissa: nearest even, NaN 0x7fff.
template <int mantissa>
TV_FN u32 half_from(double value) {
  const u64 bits = f64_bits(value);
  const u32 sign = static_cast<u32>(bits >> 63) << 15;
  if (value != value) return 0x7fff;
  const i32 bias = (1 << (14 - mantissa)) - 1, infinity = ((1 << (15 - mantissa)) - 1) << mantissa;
  const i32 exponent = static_cast<i32>(bits >> 52 & 0x7ff) - 1023;
  if (exponent > bias) return sign | static_cast<u32>(infinity);
  // Below the smallest normal number, fewer bits of the significand are kept.
  const i32 lowest = 1 - bias, missing = exponent < lowest ? lowest - exponent : 0;
  const i32 drop = 52 - mantissa + missing;
  if (drop > 53 || (bits << 1) == 0) return sign;
  const u64 significand = (bits & 0xfffffffffffffull) | 1ull << 52;
  const u64 kept = drop == 53 ? 0 : significand >> drop;
  const u64 rest = significand - (drop == 53 ? 0 : kept << drop), half = 1ull << (drop - 1);
  const u64 rounded = kept + (rest > half || (rest == half && kept % 2 == 1) ? 1 : 0);
  // A carry out of the significand is one more in the exponent, up to infinity.
  const i32 field = missing > 0 ? 0 : exponent + bias - 1;
  return sign | static_cast<u32>((static_cast<u64>(field) << mantissa) + rounded);
}
template <int mantissa>
TV_FN double half_value(u32 a) {
  if constexpr (mantissa == 7) {
    return f32_value(a << 16);
  } else {
    const u32 magnitude = a & 0x7fff;
    const double sign = (a >> 15 & 1) != 0 ? -1 : 1;
    if (magnitude >= 0x7c00) return magnitude > 0x7c00 ? __builtin_nan("") : sign * __builtin_inf();
    const u32 field = magnitude >> 10, fraction = magnitude & 0x3ff;
    if (field == 0) return sign * fraction * 0x1p-24;
    return sign *
           f64_value(static_cast<u64>(field + 1008) << 52 | static_cast<u64>(fraction) << 42);
  }
}
/// a + b, of which the last bit is set if the sum was rounded (rounding to odd), so that
/// a second rounding to half the bits is as good as one.
TV_FN double add_to_odd(double a, double b) {
  const double sum = a + b, back = sum - a;
  const double error = (a - (sum - back)) + (b - back);
  u64 bits = f64_bits(sum);
  if (!(error != 0) || bits % 2 == 1 || sum - sum != 0) return sum;
  return f64_value((error > 0) == (sum > 0) ? bits + 1 : bits - 1);
}
template <int mantissa>
TV_FN u32 half_fma(u32 a, u32 b, u32 c) {
  const double product = half_value<mantissa>(a) * half_value<mantissa>(b);  // exact
  return half_from<mantissa>(add_to_odd(product, half_value<mantissa>(c)));
}
TV_FN u32 f16_fma(u32 a, u32 b, u32 c) { return half_fma<10>(a & 0xffff, b & 0xffff, c & 0xffff); }
TV_FN u32 bf16_fma(u32 a, u32 b, u32 c) { return half_fma<7>(a & 0xffff, b & 0xffff, c & 0xffff); }
TV_FN u32 f16x2_fma(u32 a, u32 b, u32 c) {
  return f16_fma(a, b, c) | f16_fma(a >> 16, b >> 16, c >> 16) << 16;
}
TV_FN u32 bf16x2_fma(u32 a, u32 b, u32 c) {
  return bf16_fma(a, b, c) | bf16_fma(a >> 16, b >> 16, c >> 16) << 16;
}
template <class Op>
TV_FN u32 f16x2_of(u32 a, u32 b, Op op) {
  const double low = op(half_value<10>(a & 0xffff), half_value<10>(b & 0xffff));
  return half_from<10>(low) | half_from<10>(op(half_value<10>(a >> 16), half_value<10>(b >> 16)))
                                  << 16;
}
TV_FN void add_f16(u8* address, u32 code) {
  update_atomically<u16>(address, [&](u16 seen) {
    return static_cast<u16>(half_from<10>(half_value<10>(seen) + half_value<10>(code & 0xffff)));
  });
}
TV_FN void add_bf16(u8* address, u32 code) {
  update_atomically<u16>(address, [&](u16 seen) {
    return static_cast<u16>(
        half_from<7>(add_to_odd(half_value<7>(seen), half_value<7>(code & 0xffff))));
  });
}
TV_FN u32 f16x2_add(u32 a, u32 b) {
  return f16x2_of(a, b, [](double x, double y) { return x + y; });
}
TV_FN u32 f16x2_sub(u32 a, u32 b) {
  return f16x2_of(a, b, [](double x, double y) { return x - y; });
}
TV_FN u32 f16x2_mul(u32 a, u32 b) {
  return f16x2_of(a, b, [](double x, double y) { return x * y; });
}

// Words as bits.
TV_FN u32 and_xor(u32 a, u32 mask, u32 b) { return (a & mask) ^ b; }
TV_FN u32 choose_bits(u32 a, u32 b, u32 mask) { return (a & mask) | (b & ~mask); }
TV_FN u32 rotate_left(u32 a, u32 n) { return n % 32 == 0 ? a : a << n % 32 | a >> (32 - n % 32); }
TV_FN u32 funnel_right(u32 low, u32 high, u32 n) {
  return static_cast<u32>((static_cast<u64>(high) << 32 | low) >> n % 32);
}
TV_FN u32 permute_bytes(u32 low, u32 high, u32 selector) {
  const u64 bytes = static_cast<u64>(high) << 32 | low;
  u32 result = 0;
  for (u32 i = 0; i < 4; ++i) {
    const u32 pick = selector >> 4 * i & 7;
    result |= static_cast<u32>(bytes >> 8 * pick & 0xff) << 8 * i;
  }
  return result;
}
TV_FN u32 pick_bytes(u32 low, u32 high, u32 selector) { return permute_bytes(low, high, selector); }
TV_FN u32 unseen_zero() { return 0; }
TV_FN u32 unseen_constant(u32 a) { return a; }
TV_FN u32 half_twice(u32 a, int half) { return (a >> 16 * half & 0xffff) * 0x10001u; }

// Conversions.
TV_FN u32 f16_from_f32(u32 a) { return half_from<10>(f32_value(a)); }
TV_FN u32 bf16_from_f32(u32 a) { return half_from<7>(f32_value(a)); }
TV_FN u32 f16x2_from_f32(u32 low, u32 high) { return f16_from_f32(low) | f16_from_f32(high) << 16; }
TV_FN u32 bf16x2_from_f32(u32 low, u32 high) {
  return bf16_from_f32(low) | bf16_from_f32(high) << 16;
}
TV_FN u32 f16_from_e4m3(u32 code) {
  const u32 magnitude = code & 0x7f;
  if (magnitude == 0x7f) return 0x7fff;
  const double sign = (code >> 7 & 1) != 0 ? -1 : 1;
  const u32 field = magnitude >> 3, fraction = magnitude & 7;
  const double value = field == 0
                           ? fraction * 0x1p-9
                           : (8 + fraction) * f64_value(static_cast<u64>(field + 1013) << 52);
  return half_from<10>(sign * value);
}
TV_FN u32 f16x2_from_e4m3x2(u32 a) {
  return f16_from_e4m3(a & 0xff) | f16_from_e4m3(a >> 8 & 0xff) << 16;
}
TV_FN u32 f32_from_f16(u32 a) { return f32_result(static_cast<float>(half_value<10>(a & 0xffff))); }
TV_FN u32 f32_from_i32(i32 a) { return f32_bits(static_cast<float>(a)); }
TV_FN u32 f32_from_u32(u32 a) { return f32_bits(static_cast<float>(a)); }
TV_FN i32 i32_from_f32(u32 a) {
  const float value = f32_value(a);
  if (value != value) return 0;
  if (value >= 0x1p31f) return 0x7fffffff;
  return value < -0x1p31f ? -0x7fffffff - 1 : static_cast<i32>(value);
}
TV_FN u32 u32_from_f32(u32 a) {
  const float value = f32_value(a);
  if (!(value > 0)) return 0;
  return value >= 0x1p32f ? 0xffffffffu : static_cast<u32>(value);
}
TV_FN i32 larger(i32 a, i32 b) { return a > b ? a : b; }
TV_FN i32 leading_zeros(u64 a) { return a == 0 ? 64 : __builtin_clzll(a); }

}  // namespace tv
