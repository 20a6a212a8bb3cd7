// What the measurements here share that use Hopper's own instructions: memory barriers whose waits
// end, products of a group of four warps (wgmma), copies through tensor maps, and weights of 4 bits
// made operands.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <cuda_fp16.h>

namespace hopper {

inline void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  std::printf("%s: %s\n", what, cudaGetErrorString(status));
  std::exit(1);
}

/// Waits for the last kernel. A memory barrier that is never completed ends in a trap.
inline void finish(const char* what) {
  check(cudaGetLastError(), what);
  check(cudaDeviceSynchronize(), what);
}

template <typename T>
T* allocate(std::size_t count) {
  T* memory = nullptr;
  check(cudaMalloc(&memory, count * sizeof(T)), "memory");
  return memory;
}

template <typename T>
T* on_device(const std::vector<T>& values) {
  T* copy = allocate<T>(values.size());
  check(cudaMemcpy(copy, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice), "copy");
  return copy;
}

template <typename T>
std::vector<T> on_host(const T* values, std::size_t count) {
  std::vector<T> copy(count);
  check(cudaMemcpy(copy.data(), values, count * sizeof(T), cudaMemcpyDeviceToHost), "copy");
  return copy;
}

/// The GPU's name on the first line of the output; the number of its multiprocessors.
inline int open_device() {
  cudaDeviceProp properties;
  check(cudaGetDeviceProperties(&properties, 0), "device");
  if (properties.major != 9) {
    std::printf("%s is not a GPU of compute capability 9.0\n", properties.name);
    std::exit(1);
  }
  int driver = 0;
  check(cudaDriverGetVersion(&driver), "driver");
  std::printf("%s, %d multiprocessors, driver for CUDA %d.%d\n", properties.name,
              properties.multiProcessorCount, driver / 1000, driver % 1000 / 10);
  return properties.multiProcessorCount;
}

inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// Milliseconds of what `launch` launches, by events.
template <typename Launch>
double milliseconds(const char* what, const Launch& launch) {
  static cudaEvent_t begin = nullptr, end = nullptr;
  if (begin == nullptr) {
    check(cudaEventCreate(&begin), "event");
    check(cudaEventCreate(&end), "event");
  }
  check(cudaEventRecord(begin), "event");
  launch();
  check(cudaEventRecord(end), "event");
  finish(what);
  float ms = 0;
  check(cudaEventElapsedTime(&ms, begin, end), "event");
  return ms;
}

inline uint16_t half_bits(float value) {
  const __half half = __float2half(value);
  uint16_t bits = 0;
  std::memcpy(&bits, &half, 2);
  return bits;
}

__device__ inline uint32_t shared_address(const void* pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

/// A pseudo-random number of an index.
__host__ __device__ inline uint32_t mixed(uint64_t index) {
  uint64_t x = index * 0x9e3779b97f4a7c15ULL + 0x9e3779b97f4a7c15ULL;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
  return static_cast<uint32_t>((x ^ x >> 31) >> 16);
}

// Memory barriers

__device__ inline void init_barrier(uint32_t barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

/// Behind the last init_barrier: other blocks of the cluster and copies see the barriers.
__device__ inline void fence_barriers() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

__device__ inline void arrive(uint32_t barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

/// At the barrier of the same address in another block of the cluster. What this thread has read is
/// read; its stores are not made visible there, which would take a fence of the whole GPU.
__device__ inline void arrive_at(uint32_t barrier, int block) {
  asm volatile(
      "{.reg .b32 there; mapa.shared::cluster.u32 there, %0, %1;"
      "mbarrier.arrive.shared::cluster.b64 _, [there];}" ::"r"(barrier),
      "r"(block)
      : "memory");
}

__device__ inline void arrive_expecting(uint32_t barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
}

__device__ inline bool is_complete(uint32_t barrier, uint32_t parity) {
  uint32_t done;
  asm volatile(
      "{.reg .pred done; mbarrier.try_wait.parity.shared::cta.b64 done, [%1], %2;"
      "selp.u32 %0, 1, 0, done;}"
      : "=r"(done)
      : "r"(barrier), "r"(parity)
      : "memory");
  return done != 0;
}

/// Until the phase of this parity is complete; half a second later the kernel is stopped.
__device__ inline void wait(uint32_t barrier, uint32_t parity) {
  if (is_complete(barrier, parity)) return;
  constexpr long long patience = 1'000'000'000;  // cycles
  const long long begin = clock64();
  while (!is_complete(barrier, parity)) {
    if (clock64() - begin > patience) __trap();
  }
}

/// The stage that is next, and the parity of its phase.
template <int stages>
struct Ring {
  int stage = 0;
  uint32_t parity = 0;
  __device__ void advance() {
    if (++stage == stages) stage = 0, parity ^= 1;
  }
};

/// Among the 128 threads of a group; barrier 0 is __syncthreads'.
__device__ inline void group_barrier(int group) {
  asm volatile("bar.sync %0, 128;" ::"r"(1 + group) : "memory");
}

__device__ inline void cluster_arrive() {
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}
__device__ inline void cluster_wait() {
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

/// Stores of this thread to shared memory, before wgmma and copies that read them.
__device__ inline void fence_proxy() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/// One thread of a converged warp.
__device__ inline bool is_elected() {
  uint32_t elected;
  asm volatile("{.reg .pred p; elect.sync _|p, 0xffffffff; selp.u32 %0, 1, 0, p;}" : "=r"(elected));
  return elected != 0;
}

// Tiles of rows of 64 f16 (128 bytes) in shared memory, whose pieces of 16 bytes are permuted
// within each row (128-byte swizzle)

/// Bytes from the tile's begin, which is a multiple of 1024; piece < 8.
__host__ __device__ inline uint32_t swizzled(int row, int piece) {
  return row * 128 + (piece ^ (row & 7)) * 16;
}

/// The descriptor of such a tile for wgmma; k / 8 more for the elements from column k on.
__device__ inline uint64_t tile_descriptor(uint32_t address) {
  constexpr uint64_t eight_rows = 1024, swizzle_128 = 1;
  return (address & 0x3ffff) >> 4 | uint64_t{1} << 16 | (eight_rows >> 4) << 32 | swizzle_128 << 62;
}

// Products of 64 x 16 by 16 x n, added to n / 2 sums a thread

__device__ inline void products_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ inline void products_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
template <int in_flight>
__device__ inline void products_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(in_flight) : "memory");
}

// clang-format off
#define TEN(tens) "%" #tens "0,%" #tens "1,%" #tens "2,%" #tens "3,%" #tens "4,%" #tens "5,%" #tens "6,%" #tens "7,%" #tens "8,%" #tens "9,"
#define NAMES_32 TEN() TEN(1) TEN(2) "%30,%31"
#define NAMES_64 TEN() TEN(1) TEN(2) TEN(3) TEN(4) TEN(5) "%60,%61,%62,%63"
#define NAMES_128 TEN() TEN(1) TEN(2) TEN(3) TEN(4) TEN(5) TEN(6) TEN(7) TEN(8) TEN(9) TEN(10) TEN(11) \
  "%120,%121,%122,%123,%124,%125,%126,%127"
#define SUMS_8(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), "+f"(d[i + 7])
#define SUMS_32(i) SUMS_8(i), SUMS_8(i + 8), SUMS_8(i + 16), SUMS_8(i + 24)
#define SUMS_64(i) SUMS_32(i), SUMS_32(i + 32)
#define SUMS_128(i) SUMS_64(i), SUMS_64(i + 64)
// `adds` is the operand behind the last one that is named here
#define PRODUCT(n, names, operands, adds, switches) \
  "{.reg .pred adds; setp.ne.b32 adds, %" #adds ", 0;" \
  "wgmma.mma_async.sync.aligned.m64n" #n "k16.f32.f16.f16 {" names "}," operands ",adds,1,1," switches ";}"
// clang-format on

/// d (+)= a b^T: `a` in registers as in mma.m16n8k16, warp by warp; `b` a tile of n rows.
template <int n>
__device__ inline void multiply(float (&d)[n / 2], const uint32_t (&a)[4], uint64_t b, int adds) {
  static_assert(n == 64 || n == 128 || n == 256);
  if constexpr (n == 64) {
    asm volatile(PRODUCT(64, NAMES_32, "{%32,%33,%34,%35},%36", 37, "0")
                 : SUMS_32(0)
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(adds));
  } else if constexpr (n == 128) {
    asm volatile(PRODUCT(128, NAMES_64, "{%64,%65,%66,%67},%68", 69, "0")
                 : SUMS_64(0)
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(adds));
  } else {
    asm volatile(PRODUCT(256, NAMES_128, "{%128,%129,%130,%131},%132", 133, "0")
                 : SUMS_128(0)
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(adds));
  }
}

/// A product with `a` a tile of 64 rows.
template <int n>
__device__ inline void multiply(float (&d)[n / 2], uint64_t a, uint64_t b, int adds) {
  static_assert(n == 64 || n == 128 || n == 256);
  if constexpr (n == 64) {
    asm volatile(PRODUCT(64, NAMES_32, "%32,%33", 34, "0,0")
                 : SUMS_32(0)
                 : "l"(a), "l"(b), "r"(adds));
  } else if constexpr (n == 128) {
    asm volatile(PRODUCT(128, NAMES_64, "%64,%65", 66, "0,0")
                 : SUMS_64(0)
                 : "l"(a), "l"(b), "r"(adds));
  } else {
    asm volatile(PRODUCT(256, NAMES_128, "%128,%129", 130, "0,0")
                 : SUMS_128(0)
                 : "l"(a), "l"(b), "r"(adds));
  }
}

// Loads from shared memory that are not moved out of a loop

__device__ inline uint4 load_words(uint32_t address) {
  uint4 words;
  asm volatile("ld.volatile.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(words.x), "=r"(words.y), "=r"(words.z), "=r"(words.w)
               : "r"(address));
  return words;
}
__device__ inline uint16_t load_scale(uint32_t address) {
  uint16_t scale;
  asm volatile("ld.volatile.shared.u16 %0, [%1];" : "=h"(scale) : "r"(address));
  return scale;
}

// Weights: codes q of 4 bits, of which each stands for (q - 8) times a scale, rounded to f16. A
// word has four pairs; pair p is in bits 4 p .. 4 p + 3 of its halves.

__device__ inline uint32_t masked(uint32_t word, uint32_t mask, uint32_t bits) {
  uint32_t value;
  asm("lop3.b32 %0, %1, %2, %3, 0xea;" : "=r"(value) : "r"(word), "r"(mask), "r"(bits));
  return value;
}
__device__ inline uint32_t added(uint32_t a, uint32_t b) {
  uint32_t value;
  asm("add.rn.f16x2 %0, %1, %2;" : "=r"(value) : "r"(a), "r"(b));
  return value;
}
__device__ inline uint32_t multiplied(uint32_t a, uint32_t b) {
  uint32_t value;
  asm("mul.rn.f16x2 %0, %1, %2;" : "=r"(value) : "r"(a), "r"(b));
  return value;
}
__device__ inline uint32_t multiplied_added(uint32_t a, uint32_t b, uint32_t c) {
  uint32_t value;
  asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(value) : "r"(a), "r"(b), "r"(c));
  return value;
}
__device__ inline uint32_t twice(uint16_t half) { return half * 0x00010001u; }

/// For any scale: 1024 + q or 1024 + 16 q by a mask, q - 8, and times the scale; 13 instructions.
/// Pair p has the scale s[p % 2], twice.
struct AnyScale {
  uint32_t s[2];

  __device__ void set(uint16_t first, uint16_t second) {
    s[0] = twice(first), s[1] = twice(second);
  }
  __device__ void unpack(uint32_t word, uint32_t (&a)[4]) const {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const uint32_t moved = i == 0 ? word : word >> 8;
      const uint32_t low = masked(moved, 0x000f000f, 0x64006400);
      const uint32_t high = masked(moved, 0x00f000f0, 0x64006400);
      a[2 * i] = multiplied(added(low, 0xe408e408), s[0]);                              // - 1032
      a[2 * i + 1] = multiplied(multiplied_added(high, 0x2c002c00, 0xd480d480), s[1]);  // / 16 - 72
    }
  }
};

/// For scales below 1/32: a mask leaves q times 2^-21 or 2^-17, a subnormal number, and one
/// multiply-add with the scale times 2^21 or 2^17 and with -8 scales gives the same bits; 10
/// instructions.
struct SmallScale {
  uint32_t s[2], minus[2];

  __device__ void set(uint16_t first, uint16_t second) {
    s[0] = multiplied(multiplied(twice(first), 0x64006400), 0x68006800);   // 2^10, 2^11
    s[1] = multiplied(multiplied(twice(second), 0x78007800), 0x44004400);  // 2^15, 2^2
    minus[0] = multiplied(twice(first), 0xc800c800);
    minus[1] = multiplied(twice(second), 0xc800c800);
  }
  __device__ void unpack(uint32_t word, uint32_t (&a)[4]) const {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const uint32_t moved = i == 0 ? word << 3 : word >> 5;
      a[2 * i] = multiplied_added(moved & 0x00780078, s[0], minus[0]);
      a[2 * i + 1] = multiplied_added(moved & 0x07800780, s[1], minus[1]);
    }
  }
};

}  // namespace hopper
