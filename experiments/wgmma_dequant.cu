// The rate of wgmma (f16, f32 sums) beside the instructions that make one operand of u4 weights:
// the operand in registers, made by the groups of four warps that multiply, or in shared memory,
// made by these or by a group of its own. How fast a kernel with many rows of activations can be
// follows from it.
//
//   nvcc -O3 -std=c++17 -gencode arch=compute_90a,code=sm_90a -o wgmma_dequant
//   experiments/wgmma_dequant.cu && ./wgmma_dequant
//
// Every variant is compared with plain sums first: codes, scales and activations are such that all
// sums are exact, so that the bits must be equal. Timed are random codes and activations.
#include "wgmma_problem.cuh"

namespace {

using namespace hopper;

/// Who makes the operand in shared memory.
enum class Maker { none, same_group, own_group };

template <int n>
__device__ void store_sums(const Problem& problem, const float (&d)[n / 2], int group) {
  if (blockIdx.x != 0) return;
  const int warp = threadIdx.x / 32 % 4, lane = threadIdx.x % 32;
  for (int i = 0; i < n / 2; ++i) {
    const int row = warp * 16 + lane / 4 + i / 2 % 2 * 8;
    const int column = i / 4 * 8 + lane % 4 * 2 + i % 2;
    problem.sums[(group * 64 + row) * n + column] = d[i];
  }
}

/// The registers of a tile: 16 of two weights, of four words.
template <Work work>
__device__ void make_registers(uint32_t (&a)[4][4], uint32_t words_at, uint32_t scales_at) {
  const uint4 loaded = load_words(words_at);
  const uint32_t words[4] = {loaded.x, loaded.y, loaded.z, loaded.w};
  const uint16_t first = load_scale(scales_at), second = load_scale(scales_at + 16);
  std::conditional_t<work == Work::small_scale, SmallScale, AnyScale> scale;
  scale.set(first, second);
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    if constexpr (work == Work::none || work == Work::any_scale || work == Work::small_scale) {
      scale.unpack(words[i], a[i]);
    } else {
#pragma unroll
      for (int pair = 0; pair < 4; ++pair) {
        a[i][pair] = worked<work>(words[i], pair, scale.s[pair % 2]);
      }
    }
  }
}

/// While four wgmma of one tile are under way the registers of the other are made.
template <int n, Work work>
__global__ void __launch_bounds__(128 * max_groups, 1) from_registers(Problem problem) {
  extern __shared__ __align__(1024) uint8_t shared[];
  uint8_t* words = shared + tiles * n * 128;
  uint8_t* scales = words + tiles * max_groups * 2048;
  copy_problem<n>(problem, shared, words, scales);
  fence_proxy();
  __syncthreads();
  const int group = threadIdx.x / 128, warp = threadIdx.x / 32 % 4, lane = threadIdx.x % 32;
  const uint32_t words_at = shared_address(words) + group * 2048 + threadIdx.x % 128 * 16;
  const uint32_t scales_at = shared_address(scales) + group * 128 + (warp * 16 + lane / 4) * 2;
  const uint64_t b = tile_descriptor(shared_address(shared));
  float d[n / 2];
  uint32_t a[tiles][4][4];
  for (int tile = 0; tile < tiles; ++tile) {
    make_registers<work>(a[tile], words_at + tile * max_groups * 2048,
                         scales_at + tile * max_groups * 128);
  }
  const long long begin = clock64();
  for (int i = 0; i < problem.steps; i += tiles) {
#pragma unroll
    for (int tile = 0; tile < tiles; ++tile) {
      products_fence();
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        multiply<n>(d, a[tile][k], b + tile * (n * 128 >> 4) + 2 * k, i + tile + k > 0);
      }
      products_commit();
      products_wait<1>();  // those of the other tile, whose registers are free now
      if (work != Work::none) {
        make_registers<work>(a[1 - tile], words_at + (1 - tile) * max_groups * 2048,
                             scales_at + (1 - tile) * max_groups * 128);
      }
    }
  }
  products_wait<0>();
  __syncthreads();
  if (threadIdx.x == 0) problem.cycles[blockIdx.x] = clock64() - begin;
  store_sums<n>(problem, d, group);
}

/// Half of a row of weights into a tile of shared memory.
__device__ void store_weights(uint32_t tile, uint4 loaded, uint16_t scale, int row, int half) {
  const uint32_t words[4] = {loaded.x, loaded.y, loaded.z, loaded.w};
  AnyScale any;
  any.set(scale, scale);
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    uint32_t a[4];
    any.unpack(words[i], a);
    asm volatile(
        "st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(tile + swizzled(row, half * 4 + i)),
        "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3])
        : "memory");
  }
}

template <int n>
__device__ void multiply_tile(float (&d)[n / 2], uint64_t a, uint64_t b, bool adds) {
  products_fence();
#pragma unroll
  for (int k = 0; k < 4; ++k) multiply<n>(d, a + 2 * k, b + 2 * k, adds || k > 0);
  products_commit();
}

/// The groups that multiply are the first ones; a group that only makes weights is the last.
template <int n, Maker maker>
__global__ void __launch_bounds__(128 * (max_groups + 1), 1) from_shared(Problem problem) {
  extern __shared__ __align__(1024) uint8_t shared[];
  __shared__ uint64_t full[stages], empty[stages];
  const int groups = blockDim.x / 128 - (maker == Maker::own_group ? 1 : 0);
  uint8_t* weights = shared + tiles * n * 128;                  // [stage][group]
  uint8_t* words = weights + stages * max_groups * tile_bytes;  // [tile][group]
  uint8_t* scales = words + tiles * max_groups * 2048;          // [tile][group]
  copy_problem<n>(problem, shared, words, scales);
  if (threadIdx.x == 0) {
    for (int i = 0; i < stages; ++i) {
      init_barrier(shared_address(&full[i]), 128);
      init_barrier(shared_address(&empty[i]), 4 * groups);
    }
    fence_barriers();
  }
  const int thread = threadIdx.x % 128, group = threadIdx.x / 128;
  const uint32_t to = shared_address(weights), from = shared_address(words) + thread * 16;
  const uint32_t scale_at = shared_address(scales) + thread / 2 * 2;
  const uint64_t a = tile_descriptor(to), b = tile_descriptor(shared_address(shared));
  constexpr uint64_t next_b = n * 128 >> 4, next_group = tile_bytes >> 4;
  if (maker == Maker::none) {  // the tiles stand in the first two stages
    __syncthreads();
    if (group < groups) {
      for (int tile = 0; tile < tiles; ++tile) {
        const int at = tile * max_groups + group;
        store_weights(to + at * tile_bytes, load_words(from + at * 2048),
                      load_scale(scale_at + at * 128), thread / 2, thread % 2);
      }
    }
  }
  fence_proxy();
  __syncthreads();
  float d[n / 2];
  const long long begin = clock64();
  if (maker == Maker::own_group && group == groups) {
    for (int i = 0; i < problem.steps; ++i) {
      const int stage = i % stages;
      if (i >= stages) wait(shared_address(&empty[stage]), (i / stages - 1) % 2);
      for (int each = 0; each < groups; ++each) {
        const int at = i % tiles * max_groups + each;
        store_weights(to + (stage * max_groups + each) * tile_bytes, load_words(from + at * 2048),
                      load_scale(scale_at + at * 128), thread / 2, thread % 2);
      }
      fence_proxy();
      arrive(shared_address(&full[stage]));
    }
    __syncthreads();
    return;
  }
  for (int i = 0; i < problem.steps; ++i) {
    const int stage = maker == Maker::none ? i % tiles : i % stages;
    const int tile = i % tiles;
    if (maker == Maker::same_group) {
      const int at = tile * max_groups + group;
      store_weights(to + (stage * max_groups + group) * tile_bytes, load_words(from + at * 2048),
                    load_scale(scale_at + at * 128), thread / 2, thread % 2);
      fence_proxy();
      group_barrier(group);
    }
    if (maker == Maker::own_group) wait(shared_address(&full[stage]), i / stages % 2);
    multiply_tile<n>(d, a + (stage * max_groups + group) * next_group, b + tile * next_b, i > 0);
    products_wait<1>();
    if (maker == Maker::own_group && i > 0 && thread % 32 == 0) {
      arrive(shared_address(&empty[(i - 1) % stages]));
    }
  }
  products_wait<0>();
  __syncthreads();
  if (threadIdx.x == 0) problem.cycles[blockIdx.x] = clock64() - begin;
  store_sums<n>(problem, d, group);
}

/// Buffers of the device, and those with which sums are exact.
struct Data {
  uint4* words = nullptr;
  uint16_t *scales = nullptr, *exact_b = nullptr, *random_b = nullptr;
  float *sums = nullptr, *plain = nullptr;
  long long* cycles = nullptr;
  int multiprocessors = 0;
};

Data make_data() {
  Data data;
  data.multiprocessors = open_device();
  std::vector<uint4> words(tiles * max_groups * 128);
  for (std::size_t i = 0; i < words.size(); ++i) {
    words[i] = {mixed(4 * i), mixed(4 * i + 1), mixed(4 * i + 2), mixed(4 * i + 3)};
  }
  std::vector<uint16_t> scales(tiles * max_groups * 64), exact(tiles * 256 * step), random = exact;
  for (std::size_t i = 0; i < scales.size(); ++i) {
    scales[i] = half_bits(1.0F / static_cast<float>(64 << mixed(i) % 3));
  }
  for (std::size_t i = 0; i < exact.size(); ++i) {
    exact[i] = half_bits(static_cast<float>(static_cast<int>(mixed(i) % 17) - 8));
    random[i] = half_bits(static_cast<float>(mixed(i + 77) % 4096) / 2048 - 1);
  }
  data.words = on_device(words);
  data.scales = on_device(scales);
  data.exact_b = on_device(exact);
  data.random_b = on_device(random);
  data.sums = allocate<float>(max_groups * 64 * 256);
  data.plain = allocate<float>(max_groups * 64 * 256);
  check(cudaMallocManaged(&data.cycles, data.multiprocessors * sizeof(long long)), "memory");
  return data;
}

/// The bits of the first block against plain sums.
template <int n, Work work, bool in_registers>
bool is_right(const Data& data, void (*kernel)(Problem), int groups, int threads, int shared) {
  const std::size_t bytes = static_cast<std::size_t>(groups) * 64 * n * sizeof(float);
  Problem problem{data.words, data.scales, data.exact_b, data.sums, data.cycles, 6};
  check(cudaMemset(data.sums, 0xff, bytes), "memset");
  kernel<<<1, threads, shared>>>(problem);
  finish("a variant on exact data");
  problem.sums = data.plain;
  expected<n, work, in_registers><<<64 * groups, n>>>(problem);
  finish("plain sums");
  const auto found = on_host(data.sums, bytes / sizeof(float));
  const auto plain = on_host(data.plain, bytes / sizeof(float));
  return std::memcmp(found.data(), plain.data(), bytes) == 0;
}

/// TFLOP/s of all multiprocessors and cycles of one for a wgmma, medians of five launches.
template <int n, Work work, bool in_registers>
bool print(const Data& data, void (*kernel)(Problem), int groups, int makers, int shared) {
  const int threads = 128 * (groups + makers);
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared),
        "shared memory");
  if (!is_right<n, work, in_registers>(data, kernel, groups, threads, shared)) {
    std::printf("    wrong sums   ");
    return false;
  }
  const int steps = 32768 * 256 / (n * groups);  // about 20 ms
  const Problem problem{data.words, data.scales, data.random_b, data.sums, data.cycles, steps};
  std::vector<double> rates, cycles;
  for (int i = 0; i < 6; ++i) {
    const double ms = milliseconds("a variant on random data", [&] {
      kernel<<<data.multiprocessors, threads, shared>>>(problem);
    });
    if (i == 0) continue;  // the clock may still rise
    rates.push_back(2.0 * 64 * n * step * steps * groups * data.multiprocessors / ms / 1e9);
    cycles.push_back(static_cast<double>(data.cycles[0]) / (4.0 * steps * groups));
  }
  std::printf(" %6.0f %8.2f", median(rates), median(cycles));
  return true;
}

constexpr int few_bytes = tiles * max_groups * (2048 + 128);  // words and scales

bool all_right = true;

template <int n, Work work>
void print_registers(const Data& data) {
  constexpr int shared = tiles * n * 128 + few_bytes;
  for (int groups = 1; groups <= max_groups; ++groups) {
    all_right &= print<n, work, true>(data, from_registers<n, work>, groups, 0, shared);
  }
}

template <int n, Maker maker>
void print_shared(const Data& data) {
  constexpr int shared = tiles * n * 128 + stages * max_groups * tile_bytes + few_bytes;
  constexpr int makers = maker == Maker::own_group ? 1 : 0;
  for (int groups = 1; groups <= max_groups; ++groups) {
    all_right &=
        print<n, Work::any_scale, false>(data, from_shared<n, maker>, groups, makers, shared);
  }
}

template <Work work>
void row_of_registers(const Data& data, const char* name) {
  std::printf("%-34s", name);
  print_registers<64, work>(data);
  print_registers<128, work>(data);
  print_registers<256, work>(data);
  std::printf("\n");
}

template <Maker maker>
void row_of_shared(const Data& data, const char* name) {
  std::printf("%-34s", name);
  print_shared<64, maker>(data);
  print_shared<128, maker>(data);
  print_shared<256, maker>(data);
  std::printf("\n");
}

}  // namespace

int main() {
  const Data data = make_data();
  std::printf(
      "TFLOP/s of the GPU and cycles of a multiprocessor for one wgmma, with one and two groups\n"
      "%-34s %31s %31s %31s\n",
      "", "m64n64k16", "m64n128k16", "m64n256k16");
  std::printf("weights in registers; instructions for a register of two weights:\n");
  row_of_registers<Work::none>(data, "  none, made once");
  row_of_registers<Work::mask>(data, "  1, a mask");
  row_of_registers<Work::add>(data, "  2, and an addition");
  row_of_registers<Work::multiply>(data, "  3, and the scale");
  row_of_registers<Work::shift>(data, "  4, and a shift");
  row_of_registers<Work::any_scale>(data, "  3.25, u4 with any scale");
  row_of_registers<Work::small_scale>(data, "  2.5, u4 with scales below 1/32");
  std::printf("weights in shared memory, u4 with any scale:\n");
  row_of_shared<Maker::none>(data, "  made once");
  row_of_shared<Maker::same_group>(data, "  made by the groups themselves");
  row_of_shared<Maker::own_group>(data, "  made by a group of its own");
  std::printf("%s\n", all_right ? "all sums are right" : "SOME SUMS ARE WRONG");
  return all_right ? 0 : 1;
}
