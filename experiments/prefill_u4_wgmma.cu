// How fast a kernel for many rows can multiply by u4 weights on Hopper, in turns with cuBLAS on f16
// weights: a prototype by hand, from which the next tier of kernels is designed.
//
//   nvcc -O3 -std=c++17 -gencode arch=compute_90a,code=sm_90a -o prefill_u4_wgmma
//   experiments/prefill_u4_wgmma.cu && ./prefill_u4_wgmma
//
// c [m][N] = a [m][K] w, with codes of 4 bits for w, of which each stands for (q - 8) times the
// scale of its 128 rows of K, rounded to f16. A block takes 128 columns of w and 256 or 128 rows of
// a. Two groups of four warps unpack 64 columns each into registers, the first operand of wgmma;
// rows of a come through a tensor map, as the second one. One group more copies.
//
// Every variant must give the bits of plain sums where sums are exact, and agree with sums in f64
// where they are not, before it is timed.
#include <cmath>
#include <functional>
#include <string>

#include "cublas.cuh"
#include "tensor_map.cuh"
#include "u4_problem.cuh"

namespace {

using namespace hopper;

constexpr int warps = 8;  // that multiply
// A fourth part of the registers is each scheduler's own: a ninth warp takes as many from the
// others as a third group. So a group copies, and gives most of its registers to the others.
constexpr int threads = 384, copying_registers = 40, multiplying_registers = 232;
constexpr int band = 8;  // tiles of rows that are taken one after the other with the same columns

template <int rows>
struct Shape {
  static constexpr int stages = rows == 256 ? 4 : 6;
  static constexpr int activation_bytes = rows * step * 2;
  static constexpr int output_bytes = rows * 64 * 2;  // of a group
  static constexpr int outputs_at = stages * activation_bytes;
  static constexpr int weights_at = outputs_at + 2 * output_bytes;
  static constexpr int shared = weights_at + stages * weight_bytes;
};

/// The tiles of c, in turns over the clusters; the columns of a cluster's blocks are neighbours.
template <int rows, int cluster>
struct Tiles {
  int row_tiles, units, rank;

  __device__ explicit Tiles(const Problem& p) {
    row_tiles = (p.m + rows - 1) / rows;
    units = row_tiles * (p.n / tile_columns / cluster);
    rank = cluster > 1 ? block_of_cluster() : 0;
  }
  [[nodiscard]] __device__ int begin() const { return blockIdx.x / cluster; }
  [[nodiscard]] __device__ int stride() const { return gridDim.x / cluster; }
  [[nodiscard]] __device__ int2 at(int unit) const {  // the tile's row and column
    const int column_units = units / row_tiles, first = unit / (band * column_units) * band;
    const int in_band = min(band, row_tiles - first), rest = unit - first * column_units;
    return {(first + rest % in_band) * rows, (rest / in_band * cluster + rank) * tile_columns};
  }
};

/// One thread: all copies of the block, for all its tiles.
template <int rows, int cluster>
__device__ void copy_all(const TensorMap& a, const Problem& p, uint32_t shared, uint32_t full,
                         uint32_t empty) {
  using S = Shape<rows>;
  const Tiles<rows, cluster> tiles(p);
  Ring<S::stages> ring{0, 1};  // the first wait for each stage ends at once
  for (int unit = tiles.begin(); unit < tiles.units; unit += tiles.stride()) {
    const int2 tile = tiles.at(unit);
    const uint8_t* from =
        p.weights + static_cast<std::size_t>(tile.y / tile_columns) * (p.k / step) * weight_bytes;
    for (int k = 0; k < p.k; k += step, from += weight_bytes) {
      const uint32_t barrier = full + ring.stage * 8;
      wait(empty + ring.stage * 8, ring.parity);
      arrive_expecting(barrier, S::activation_bytes + weight_bytes);
      const uint32_t to = shared + ring.stage * S::activation_bytes;
      if (cluster == 1) {
        copy_tile(to, a, tile.x, k, barrier);
      } else {  // its part of the rows, for all blocks of the cluster
        constexpr int part = rows / cluster;
        copy_tile_to(to + tiles.rank * part * 128, a, tile.x + tiles.rank * part, k, barrier,
                     (1 << cluster) - 1);
      }
      copy_bytes(shared + S::weights_at + ring.stage * weight_bytes, from, weight_bytes, barrier);
      ring.advance();
    }
  }
}

/// The warp has read the stage.
template <int cluster>
__device__ void free_stage(uint32_t barrier, int rank) {
  const int lane = threadIdx.x % 32;
  if (lane >= cluster) return;
  if (lane == rank) {
    arrive(barrier);
  } else {
    arrive_at(barrier, lane);
  }
}

/// The sums of a group as f16 into c, by a copy that runs on.
template <int rows>
__device__ void store_sums(const float (&d)[rows / 2], const TensorMap& c, uint32_t output, int row,
                           int column, int group) {
  const int thread = threadIdx.x % 128, warp = thread / 32, lane = thread % 32;
  if (thread == 0) store_wait_read();
  group_barrier(group);
#pragma unroll
  for (int j = 0; j < rows / 8; j += 2) {  // four matrices of 8 x 8, two for eight rows of c
    uint32_t pairs[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      asm("cvt.rn.f16x2.f32 %0, %1, %2;"
          : "=r"(pairs[i])
          : "f"(d[4 * j + 2 * i + 1]), "f"(d[4 * j + 2 * i]));
    }
    const uint32_t to = output + swizzled(8 * (j + lane / 16) + lane % 8, warp * 2 + lane / 8 % 2);
    asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(to),
                 "r"(pairs[0]), "r"(pairs[1]), "r"(pairs[2]), "r"(pairs[3])
                 : "memory");
  }
  fence_proxy();
  group_barrier(group);
  if (thread == 0) {
    store_tile(c, row, column, output);
    store_commit();
  }
}

template <int rows, int cluster, typename Scale>
__device__ void multiply_all(const TensorMap& c, const Problem& p, const uint8_t* memory,
                             uint32_t full, uint32_t empty) {
  using S = Shape<rows>;
  const int group = threadIdx.x / 128, lane = threadIdx.x % 32;
  const Tiles<rows, cluster> tiles(p);
  const uint32_t shared = shared_address(memory);
  const uint64_t activations = tile_descriptor(shared);
  const uint8_t* codes = memory + S::weights_at + threadIdx.x * 16;
  const uint8_t* scales =
      memory + S::weights_at + code_bytes + (threadIdx.x / 32 * 16 + lane / 4) * 2;
  float d[rows / 2];
  uint32_t a[2][4][4];
  Scale scale;
  Ring<S::stages> ring;  // of the weights that are unpacked next
  const auto unpack = [&](uint32_t(&to)[4][4], bool new_scales) {
    wait(full + ring.stage * 8, ring.parity);
    const uint4 loaded = *reinterpret_cast<const uint4*>(codes + ring.stage * weight_bytes);
    if (new_scales) {
      const uint8_t* at = scales + ring.stage * weight_bytes;
      scale.set(*reinterpret_cast<const uint16_t*>(at),
                *reinterpret_cast<const uint16_t*>(at + 16));
    }
    const uint32_t words[4] = {loaded.x, loaded.y, loaded.z, loaded.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) scale.unpack(words[i], to[i]);
    ring.advance();
  };
  for (int unit = tiles.begin(); unit < tiles.units; unit += tiles.stride()) {
    int stage = ring.stage, before = 0;  // of the products, and of those before them
    unpack(a[0], true);
    for (int k = 0; k < p.k; k += group_size) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        products_fence();
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          multiply<rows>(d, a[half][i], activations + stage * (S::activation_bytes >> 4) + 2 * i,
                         k + half + i > 0);
        }
        products_commit();
        products_wait<1>();
        if (k + half > 0) free_stage<cluster>(empty + before * 8, tiles.rank);
        before = stage;
        stage = ring.stage;
        if (half == 0 || k + group_size < p.k) unpack(a[1 - half], half == 1);
      }
    }
    products_wait<0>();
#pragma unroll
    for (float& sum : d) asm volatile("" : "+f"(sum));  // not read before
    free_stage<cluster>(empty + before * 8, tiles.rank);
    const int2 tile = tiles.at(unit);
    store_sums<rows>(d, c, shared + S::outputs_at + group * S::output_bytes, tile.x,
                     tile.y + group * 64, group);
  }
  if (threadIdx.x % 128 == 0) store_wait();
}

template <int rows, int cluster, typename Scale>
__global__ void __launch_bounds__(threads, 1)
    multiply_u4(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap c,
                Problem p) {
  extern __shared__ __align__(1024) uint8_t memory[];
  __shared__ uint64_t full[Shape<rows>::stages], empty[Shape<rows>::stages];
  if (threadIdx.x == 0) {
    for (int i = 0; i < Shape<rows>::stages; ++i) {
      init_barrier(shared_address(&full[i]), 1);
      init_barrier(shared_address(&empty[i]), warps * cluster);
    }
    fence_barriers();
  }
  __syncthreads();
  if (cluster > 1) cluster_arrive(), cluster_wait();
  if (threadIdx.x < 32 * warps) {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(multiplying_registers));
    multiply_all<rows, cluster, Scale>(c, p, memory, shared_address(full), shared_address(empty));
  } else {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(copying_registers));
    if (threadIdx.x == 32 * warps) {
      copy_all<rows, cluster>(a, p, shared_address(memory), shared_address(full),
                              shared_address(empty));
    }
  }
  __syncwarp();
  if (cluster > 1) cluster_arrive(), cluster_wait();  // the other's barriers are there until here
}

using Kernel = void (*)(TensorMap, TensorMap, Problem);

/// A form of the kernel.
struct Variant {
  const char* name;
  Kernel kernel;
  int rows, cluster, shared;
};

template <int rows, int cluster, typename Scale>
Variant variant(const char* name) {
  const Kernel kernel = multiply_u4<rows, cluster, Scale>;
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             Shape<rows>::shared),
        "shared memory");
  return {name, kernel, rows, cluster, Shape<rows>::shared};
}

std::vector<Variant> all_variants() {
  return {
      variant<128, 1, AnyScale>("128 rows, any scale"),
      variant<128, 2, AnyScale>("128 rows, any scale, a for two blocks"),
      variant<256, 1, AnyScale>("256 rows, any scale"),
      variant<256, 2, AnyScale>("256 rows, any scale, a for two blocks"),
      variant<128, 1, SmallScale>("128 rows, scales below 1/32"),
      variant<128, 2, SmallScale>("128 rows, scales below 1/32, a for two blocks"),
      variant<256, 1, SmallScale>("256 rows, scales below 1/32"),
      variant<256, 2, SmallScale>("256 rows, scales below 1/32, a for two blocks"),
  };
}

struct Device {
  int multiprocessors = 0;
  uint8_t* weights = nullptr;
  __half *a = nullptr, *c = nullptr, *rows = nullptr, *columns = nullptr;  // w as [N][K], [K][N]
  double *found = nullptr, *plain = nullptr;
  uint4* evicting = nullptr;
};

constexpr int max_m = 4096, max_n = 57344, max_k = 8192, drawn = 4096;
constexpr std::size_t evicted = 512 << 20;

/// What launches a variant for a problem.
std::function<void()> launcher(const Device& device, const Variant& variant, const Problem& p) {
  const TensorMap a = make_map(device.a, p.m, p.k, variant.rows / variant.cluster);
  const TensorMap c = make_map(device.c, p.m, p.n, variant.rows);
  const int units = (p.m + variant.rows - 1) / variant.rows * (p.n / tile_columns);
  const int blocks = std::min(units, device.multiprocessors / variant.cluster * variant.cluster);
  return [=] { launch(variant.kernel, blocks, threads, variant.shared, variant.cluster, a, c, p); };
}

void fill(const Device& device, const Problem& p, bool exact) {
  fill_weights<<<4096, 256>>>(p, device.weights, exact);
  fill_activations<<<4096, 256>>>(device.a, static_cast<std::size_t>(p.m) * p.k, exact);
  finish("data");
}

/// The relative error of c in the Frobenius norm, over `count` outputs; NaN where one was not
/// written. `exact`: the number of those that differ.
double error_of(const Device& device, const Problem& p, int count, bool exact) {
  expected<<<(count + 255) / 256, 256>>>(p, device.a, device.plain, count);
  chosen<<<(count + 255) / 256, 256>>>(p, device.c, device.found, count);
  finish("plain sums");
  const auto found = on_host(device.found, count), plain = on_host(device.plain, count);
  double difference = 0, norm = 0, wrong = 0;
  for (int i = 0; i < count; ++i) {
    const double rounded = __half2float(__float2half(static_cast<float>(plain[i])));
    if (found[i] != rounded) ++wrong;
    difference += (found[i] - plain[i]) * (found[i] - plain[i]);
    norm += plain[i] * plain[i];
  }
  return exact ? wrong : std::sqrt(difference / norm);
}

/// Exact sums, with rows that are not multiples of a tile: equal bits, and nothing behind c.
bool is_right(const Device& device, const Variant& variant) {
  const Problem p{device.weights, 300, 512, 512};
  const std::size_t bytes = static_cast<std::size_t>(p.m) * p.n * 2, behind = 512 * 512 * 2 - bytes;
  check(cudaMemset(device.c, 0xff, bytes + behind), "memset");
  launcher(device, variant, p)();
  finish(variant.name);
  const double wrong = error_of(device, p, p.m * p.n, true);
  const auto after = on_host(reinterpret_cast<const uint8_t*>(device.c) + bytes, behind);
  const auto spoiled =
      std::count_if(after.begin(), after.end(), [](uint8_t x) { return x != 255; });
  if (wrong == 0 && spoiled == 0) return true;
  std::printf("WRONG: %s: %.0f of %d outputs, %d bytes behind c\n", variant.name, wrong, p.m * p.n,
              static_cast<int>(spoiled));
  return false;
}

struct Entry {
  std::string name;
  std::function<void()> run;
  std::vector<double> ms;
  double error = 0;
};

/// Everything in turns; false: a result is wrong.
bool measure(const Device& device, const Cublas& cublas, const std::vector<Variant>& variants,
             int m, int n, int k) {
  const Problem p{device.weights, m, n, k};
  fill(device, p, false);
  const auto dequantize_all = [&device, p] {
    dequantize<<<dim3(p.k / step, p.n / tile_columns), 256>>>(
        p, reinterpret_cast<uint4*>(device.rows));
  };
  dequantize_all();
  transpose<<<dim3(k / 32, n / 32), dim3(32, 8)>>>(device.rows, device.columns, n, k);
  finish("weights as f16");
  std::vector<Entry> entries;
  for (const Variant& variant : variants) {
    entries.push_back({variant.name, launcher(device, variant, p), {}, 0});
  }
  if (cublas.is_open()) {
    const auto product = [&device, &cublas, p](bool transposed) {
      cublas.multiply(device.a, transposed ? device.rows : device.columns, device.c, p.m, p.n, p.k,
                      transposed);
    };
    entries.push_back({"cuBLAS, f16 [K][N]", [=] { product(false); }, {}, 0});
    entries.push_back({"cuBLAS, f16 [N][K]", [=] { product(true); }, {}, 0});
    entries.push_back({"u4 to f16, then cuBLAS [N][K]",
                       [=] {
                         dequantize_all();
                         product(true);
                       },
                       {},
                       0});
  }
  bool right = true;
  for (Entry& entry : entries) {
    check(cudaMemset(device.c, 0xff, static_cast<std::size_t>(m) * n * 2), "memset");
    entry.run();
    finish(entry.name.c_str());
    entry.error = error_of(device, p, drawn, false);
    right &= entry.error < 1e-3;  // false for NaN, too
  }
  constexpr int rounds = 20;
  for (int round = 0; round < rounds; ++round) {
    for (Entry& entry : entries) {
      read_all<<<2048, 256>>>(device.evicting, evicted / 16, nullptr);
      entry.ms.push_back(milliseconds(entry.name.c_str(), entry.run));
    }
  }
  std::printf("\nm = %d, N = %d, K = %d%s\n%-48s %10s %8s %8s %10s\n", m, n, k,
              right ? "" : ": SOME RESULTS ARE WRONG", "", "us", "least", "TFLOP/s", "error");
  for (const Entry& entry : entries) {
    const double ms = median(entry.ms);
    std::printf("%-48s %10.1f %8.1f %8.0f %10.1e\n", entry.name.c_str(), ms * 1e3,
                *std::min_element(entry.ms.begin(), entry.ms.end()) * 1e3,
                2.0 * m * n * k / ms / 1e9, entry.error);
  }
  return right;
}

}  // namespace

int main() {
  Device device;
  device.multiprocessors = open_device();
  device.weights = allocate<uint8_t>(static_cast<std::size_t>(max_n / tile_columns) *
                                     (max_k / step) * weight_bytes);
  device.a = allocate<__half>(static_cast<std::size_t>(max_m) * max_k);
  device.c = allocate<__half>(static_cast<std::size_t>(max_m) * max_n);
  device.rows = allocate<__half>(static_cast<std::size_t>(max_n) * max_k);
  device.columns = allocate<__half>(static_cast<std::size_t>(max_n) * max_k);
  device.found = allocate<double>(512 * 512);
  device.plain = allocate<double>(512 * 512);
  device.evicting = allocate<uint4>(evicted / 16);
  check(cudaMemset(device.evicting, 1, evicted), "memset");
  const Cublas cublas;
  const auto variants = all_variants();
  fill(device, {device.weights, 300, 512, 512}, true);
  bool right = true;
  for (const Variant& variant : variants) right &= is_right(device, variant);
  for (const int n : {8192, 57344}) {
    for (const int m : {256, 1024, 4096}) right &= measure(device, cublas, variants, m, n, 8192);
  }
  std::printf("\n%s\n", right ? "all results are right" : "SOME RESULTS ARE WRONG");
  return right ? 0 : 1;
}
