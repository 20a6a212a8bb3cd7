// How many cycles a multiprocessor takes for one wgmma m64n16k16 (f16, f32 sums) whose first operand
// is in registers, and for the instructions that make these registers. Weights as that operand and
// 16 rows of activations in shared memory would be a kernel for few rows; how far unpacking and
// tensor cores overlap in it follows from this.
//
//   nvcc -O3 -std=c++17 -gencode arch=compute_90a,code=sm_90a -o wgmma_issue
//   experiments/wgmma_issue.cu && ./wgmma_issue
#include <cstdint>
#include <cstdio>

constexpr int chain = 8;  // wgmma of a group, which add to the same sums

__device__ void multiply(float* d, const uint32_t* a, uint64_t b, bool adds) {
  asm volatile(
      "{.reg .pred adds; setp.ne.b32 adds, %13, 0;"
      "wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 {%0, %1, %2, %3, %4, %5, %6, %7}, "
      "{%8, %9, %10, %11}, %12, adds, 1, 1, 0;}"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
        "+f"(d[7])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(static_cast<int>(adds)));
}

/// Core matrices of 8 x 8 side by side along k, no swizzle.
__device__ uint64_t descriptor(uint32_t address) {
  constexpr uint64_t leading = 256, stride = 128;
  return (address & 0x3ffff) >> 4 | (leading >> 4) << 16 | (stride >> 4) << 32;
}

/// A register of the operand: nothing, an AND, a multiply-add behind it, a shift before it.
template <int ops>
__device__ uint32_t unpack(uint32_t word, int i, uint32_t mask) {
  uint32_t value = word;
  if (ops >= 3) value >>= i / 8 + 1;
  if (ops >= 1) {
    asm volatile("lop3.b32 %0, %0, %1, %2, 0x6a;"
                 : "+r"(value)
                 : "r"(mask << (i / 8)), "r"(0x64006400u));
  }
  if (ops >= 2) {
    asm volatile("fma.rn.f16x2 %0, %0, %1, %2;"
                 : "+r"(value)
                 : "r"(0x3c003c00u), "r"(0xe400e400u));
  }
  return value;
}

/// Two groups in turns: one multiplies while the registers of the other are made.
template <int ops>
__global__ void __launch_bounds__(512, 1)
    measure(float* out, long long* cycles, int rounds, uint32_t mask) {
  extern __shared__ __align__(128) uint8_t shared[];
  const uint64_t b = descriptor(static_cast<uint32_t>(__cvta_generic_to_shared(shared)));
  uint32_t words[8], a[2][4 * chain];
  float d[2][8] = {};
  for (int i = 0; i < 8; ++i) words[i] = threadIdx.x * (i + 77);
  for (int i = 0; i < 4 * chain; ++i) a[0][i] = a[1][i] = words[i % 8] + i;
  __syncthreads();
  const long long begin = clock64();
  for (int round = 0; round < rounds; ++round) {
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      if (ops > 0) {
        for (uint32_t& word : words) word += round;
#pragma unroll
        for (int i = 0; i < 4 * chain; ++i) a[j][i] = unpack<ops>(words[i % 8], i, mask);
      }
      asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
      for (int k = 0; k < chain; ++k) multiply(d[j], a[j] + 4 * k, b + 32 * k, k > 0);
      asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
      asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
    }
  }
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  __syncthreads();
  const long long end = clock64();
  float sum = 0;
  for (int i = 0; i < 8; ++i) sum += d[0][i] + d[1][i];
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
  if (threadIdx.x == 0) cycles[blockIdx.x] = end - begin;
}

template <int ops>
void print(float* out, long long* cycles) {
  constexpr int rounds = 200, shared = chain * 512;
  printf("%d for each register", ops);
  for (int groups = 1; groups <= 4; ++groups) {
    measure<ops><<<132, 128 * groups, shared>>>(out, cycles, rounds, 0x00010001);
    if (cudaGetLastError() != cudaSuccess || cudaDeviceSynchronize() != cudaSuccess) {
      printf(" failed");
      continue;
    }
    printf(" %7.2f", static_cast<double>(cycles[0]) / (rounds * 2.0 * chain * groups));
  }
  printf("\n");
}

int main() {
  float* out = nullptr;
  long long* cycles = nullptr;
  cudaMalloc(&out, 132 * 512 * sizeof(float));
  cudaMallocManaged(&cycles, 132 * sizeof(long long));
  printf("cycles of a multiprocessor for one wgmma, with 1 to 4 groups of warps\n");
  print<0>(out, cycles);
  print<1>(out, cycles);
  print<2>(out, cycles);
  print<3>(out, cycles);
}
