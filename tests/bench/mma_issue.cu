// How many cycles a warp scheduler takes for one mma.sync m16n8k16 (f16, f32 sums) and a few other
// instructions beside it, of which nothing depends on the other. What a kernel can at best do that
// unpacks weights between tensor-core instructions follows from it.
//
//   nvcc -O3 -std=c++17 -arch=sm_90a -o mma_issue tests/bench/mma_issue.cu && ./mma_issue
#include <cstdint>
#include <cstdio>

enum class Other { lop3, shift, hfma2, ffma };

template <Other other>
__device__ void run_other(uint32_t& x, uint32_t y, uint32_t z) {
  if constexpr (other == Other::lop3)
    asm volatile("lop3.b32 %0, %0, %1, %2, 0x6a;" : "+r"(x) : "r"(y), "r"(z));
  if constexpr (other == Other::shift) asm volatile("shf.l.wrap.b32 %0, %0, %0, 5;" : "+r"(x));
  if constexpr (other == Other::hfma2)
    asm volatile("fma.rn.f16x2 %0, %0, %1, %1;" : "+r"(x) : "r"(y));
  if constexpr (other == Other::ffma)
    asm volatile("fma.rn.f32 %0, %0, %1, %2;" : "+r"(x) : "r"(y), "r"(z));
}

/// Eight independent sums; behind each mma `others` instructions on eight independent words.
template <bool with_mma, int others, Other other>
__global__ void measure(uint32_t* out, long long* cycles, int rounds, uint32_t y) {
  float c[8][4] = {};
  uint32_t w[8], x[8];
  for (int i = 0; i < 8; ++i) w[i] = threadIdx.x * (i + 11), x[i] = threadIdx.x + i;
  const long long begin = clock64();
  for (int round = 0; round < rounds; ++round) {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      if (with_mma) {
        asm volatile(
            "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
            "{%8, %9}, {%0, %1, %2, %3};"
            : "+f"(c[i][0]), "+f"(c[i][1]), "+f"(c[i][2]), "+f"(c[i][3])
            : "r"(w[0]), "r"(w[1]), "r"(w[2]), "r"(w[3]), "r"(w[i]), "r"(w[(i + 3) % 8]));
      }
#pragma unroll
      for (int k = 0; k < others; ++k) run_other<other>(x[(i * others + k) % 8], y, w[k]);
    }
  }
  const long long end = clock64();
  uint32_t sum = 0;
  for (int i = 0; i < 8; ++i) {
    sum += x[i];
    for (int k = 0; k < 4; ++k) sum += __float_as_uint(c[i][k]);
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
  if (threadIdx.x == 0) cycles[blockIdx.x] = end - begin;
}

template <bool with_mma, int others, Other other>
void print(uint32_t* out, long long* cycles) {
  constexpr int warps = 4, rounds = 2000;  // of each scheduler
  measure<with_mma, others, other><<<132, 128 * warps>>>(out, cycles, rounds, 0x3c003c00);
  if (cudaDeviceSynchronize() != cudaSuccess) printf(" failed");
  printf(" %6.2f", static_cast<double>(cycles[0]) / (rounds * 8.0 * warps));
}

template <Other other>
void print_row(const char* name, uint32_t* out, long long* cycles) {
  printf("%-28s", name);
  print<true, 2, other>(out, cycles);
  print<true, 4, other>(out, cycles);
  print<true, 8, other>(out, cycles);
  print<false, 4, other>(out, cycles);
  print<false, 8, other>(out, cycles);
  printf("\n");
}

int main() {
  uint32_t* out = nullptr;
  long long* cycles = nullptr;
  cudaMalloc(&out, 132 * 512 * sizeof(uint32_t));
  cudaMallocManaged(&cycles, 132 * sizeof(long long));
  printf("cycles of a scheduler; one mma alone:");
  print<true, 0, Other::lop3>(out, cycles);
  printf("\n%-28s 1+2    1+4    1+8    0+4    0+8\n", "mma + others");
  print_row<Other::lop3>("lop3", out, cycles);
  print_row<Other::shift>("shf", out, cycles);
  print_row<Other::hfma2>("fma.f16x2", out, cycles);
  print_row<Other::ffma>("fma.f32", out, cycles);
}
