// How many cycles a warp scheduler takes for one mma.sync m16n8k16 (f16, f32 sums) and the
// instructions beside it that unpack its weights or scale its sums. What a kernel can at best do
// that unpacks weights between tensor-core instructions follows from it.
//
// The weights are words from shared memory, one 16-byte load for 8 mma, of which masks cut the two
// registers of a B operand. (B must lie in neighbouring registers; anything else makes the compiler
// move it, which costs as much as what is measured.)
//
//   nvcc -O3 -std=c++17 -gencode arch=compute_90a,code=sm_90a -o mma_issue experiments/mma_issue.cu
#include <cstdint>
#include <cstdio>

__device__ void mma(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

constexpr int max_warps = 7;  // of a scheduler

/// Eight mma a round on four independent sums; beside each, `masks` and as many additions of f16
/// pairs as `halves` on its operand, and `ffma` multiply-adds on other registers.
template <bool with_mma, bool masks, bool halves, int ffma>
__global__ void __launch_bounds__(128 * max_warps)
    measure(uint32_t* out, long long* cycles, int rounds, float factor) {
  __shared__ uint4 words[128 * max_warps];
  words[threadIdx.x] = make_uint4(threadIdx.x, threadIdx.x * 3, threadIdx.x * 5, threadIdx.x * 7);
  float c[4][4] = {}, f[4] = {};
  uint32_t a[2][4], sum = 0;
  for (int i = 0; i < 8; ++i) a[i / 4][i % 4] = threadIdx.x * (i + 1) & 0x03ff03ff;
  __syncthreads();
  const auto at = static_cast<uint32_t>(__cvta_generic_to_shared(&words[threadIdx.x]));
  const long long begin = clock64();
  for (int round = 0; round < rounds; ++round) {
    uint32_t w[4];
    asm volatile("ld.volatile.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3])
                 : "r"(at));
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      constexpr uint32_t mask[4] = {0x000f000f, 0x00f000f0, 0x0f000f00, 0x03ff03ff};
      uint32_t b[2] = {w[i / 4 * 2], w[i / 4 * 2 + 1]};
      if (masks) b[0] &= mask[i % 4], b[1] &= mask[i % 4];
      for (int k = 0; halves && k < 2; ++k) {
        asm volatile("add.rn.f16x2 %0, %0, %1;" : "+r"(b[k]) : "r"(0x64006400 + i));
      }
      if (with_mma) {
        mma(c[i % 4], a[i / 4], b[0], b[1]);
      } else {
        sum += b[0] + b[1];
      }
#pragma unroll
      for (int k = 0; k < ffma; ++k) {
        asm volatile("fma.rn.f32 %0, %0, %1, %1;" : "+f"(f[(i * ffma + k) % 4]) : "f"(factor));
      }
    }
  }
  const long long end = clock64();
  for (int i = 0; i < 16; ++i) sum += __float_as_uint(c[i / 4][i % 4]) + __float_as_uint(f[i / 4]);
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
  if (threadIdx.x == 0) cycles[blockIdx.x] = end - begin;
}

template <bool with_mma, bool masks, bool halves, int ffma>
void print(const char* name, uint32_t* out, long long* cycles) {
  constexpr int rounds = 4000;
  printf("| %-44s |", name);
  for (const int warps : {2, 4, max_warps}) {
    measure<with_mma, masks, halves, ffma><<<132, 128 * warps>>>(out, cycles, rounds, 1.5F);
    if (cudaDeviceSynchronize() != cudaSuccess) printf(" failed");
    printf(" %6.2f |", static_cast<double>(cycles[0]) / (rounds * 8.0 * warps));
  }
  printf("\n");
}

int main() {
  uint32_t* out = nullptr;
  long long* cycles = nullptr;
  cudaMalloc(&out, 132 * 128 * max_warps * sizeof(uint32_t));
  cudaMallocManaged(&cycles, 132 * sizeof(long long));
  printf("| cycles of a scheduler                        | 2 warps | 4 warps | 7 warps |\n");
  print<true, false, false, 0>("`mma`", out, cycles);
  print<true, true, false, 0>("`mma`, 2 `and`", out, cycles);
  print<true, true, false, 1>("`mma`, 2 `and`, 1 `fma.f32`", out, cycles);
  print<true, true, false, 2>("`mma`, 2 `and`, 2 `fma.f32`", out, cycles);
  print<true, true, false, 4>("`mma`, 2 `and`, 4 `fma.f32`", out, cycles);
  print<true, true, true, 0>("`mma`, 2 `and`, 2 `add.f16x2`", out, cycles);
  print<true, true, true, 1>("`mma`, 2 `and`, 2 `add.f16x2`, 1 `fma.f32`", out, cycles);
  print<false, true, true, 0>("2 `and`, 2 `add.f16x2`, 2 adds", out, cycles);
  print<false, true, false, 4>("2 `and`, 4 `fma.f32`, 2 adds", out, cycles);
}
