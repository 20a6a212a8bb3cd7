// Products with u4 weights in the order in which wgmma takes them: the definition, plain sums, the
// weights as f16, and data.
#pragma once

#include "hopper.cuh"

namespace hopper {

constexpr int step = 64, group_size = 128;  // elements of K
constexpr int tile_columns = 128;           // of w
constexpr int code_bytes = tile_columns * step / 2, scale_bytes = tile_columns * 2;
constexpr int weight_bytes = code_bytes + scale_bytes;  // of a step, side by side

struct Problem {
  const uint8_t* weights;  ///< [N / 128][K / 64][weight_bytes]
  int m, n, k;
};

/// The code of a step: thread (row % 8) * 4 + (k % 8) / 2 of warp row / 16, word k / 16, pair (row
/// / 8) % 2 + 2 ((k / 8) % 2), half k % 2; "row" is a column of w.
__device__ int code_of(const uint8_t* weights, int row, int k) {
  const int thread = row / 16 * 32 + row % 8 * 4 + k % 8 / 2;
  const uint32_t word = reinterpret_cast<const uint32_t*>(weights)[thread * 4 + k / 16];
  return static_cast<int>(word >> (4 * (row / 8 % 2 + k / 8 % 2 * 2) + k % 2 * 16) & 15);
}
__device__ __half weight_of(const Problem& p, int column, int k) {
  const uint8_t* weights =
      p.weights +
      (static_cast<std::size_t>(column / tile_columns) * (p.k / step) + k / step) * weight_bytes;
  const int row = column % tile_columns;
  const auto scale = reinterpret_cast<const __half*>(weights + code_bytes)[row];
  return __float2half(static_cast<float>(code_of(weights, row, k % step) - 8) *
                      __half2float(scale));
}

/// All outputs, or `count` of them drawn at random, in f64.
__global__ void expected(Problem p, const __half* a, double* c, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const std::size_t all = static_cast<std::size_t>(p.m) * p.n;
  const std::size_t at = count == all ? i : (mixed(2 * i) * 65536ULL + mixed(2 * i + 1)) % all;
  const std::size_t row = at / p.n, column = at % p.n;
  double sum = 0;
  for (int k = 0; k < p.k; ++k) {
    sum += static_cast<double>(__half2float(a[row * p.k + k])) *
           static_cast<double>(__half2float(weight_of(p, static_cast<int>(column), k)));
  }
  c[i] = sum;
}
__global__ void chosen(Problem p, const __half* c, double* to, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const std::size_t all = static_cast<std::size_t>(p.m) * p.n;
  const std::size_t at = count == all ? i : (mixed(2 * i) * 65536ULL + mixed(2 * i + 1)) % all;
  to[i] = __half2float(c[at]);
}

/// Weights as f16 [N][K]; a block has 128 columns and a step of K, a thread eight of a column.
__global__ void dequantize(Problem p, uint4* to) {
  const int steps = p.k / step, i = threadIdx.x % 8;
  const uint8_t* weights =
      p.weights + (static_cast<std::size_t>(blockIdx.y) * steps + blockIdx.x) * weight_bytes;
  for (int row = threadIdx.x / 8; row < tile_columns; row += blockDim.x / 8) {
    const float scale = __half2float(reinterpret_cast<const __half*>(weights + code_bytes)[row]);
    const int pair = row / 8 % 2 + i % 2 * 2;
    const auto words =
        reinterpret_cast<const uint32_t*>(weights) + (row / 16 * 32 + row % 8 * 4) * 4 + i / 2;
    __half2 values[4];
    for (int j = 0; j < 4; ++j) {
      const uint32_t codes = words[j * 4] >> 4 * pair;
      values[j] = __floats2half2_rn((static_cast<float>(codes & 15) - 8) * scale,
                                    (static_cast<float>(codes >> 16 & 15) - 8) * scale);
    }
    to[(static_cast<std::size_t>(blockIdx.y * tile_columns + row) * steps + blockIdx.x) * 8 + i] =
        *reinterpret_cast<const uint4*>(values);
  }
}
__global__ void transpose(const __half* from, __half* to, int rows, int columns) {
  __shared__ __half tile[32][33];
  const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  for (int i = 0; i < 32; i += 8) {
    tile[threadIdx.y + i][threadIdx.x] = from[static_cast<std::size_t>(y + i) * columns + x];
  }
  __syncthreads();
  const int u = blockIdx.y * 32 + threadIdx.x, v = blockIdx.x * 32 + threadIdx.y;
  for (int i = 0; i < 32; i += 8) {
    to[static_cast<std::size_t>(v + i) * rows + u] = tile[threadIdx.x][threadIdx.y + i];
  }
}

__global__ void fill_weights(Problem p, uint8_t* weights, bool exact) {
  const std::size_t words =
      static_cast<std::size_t>(p.n) * p.k / (tile_columns * step) * (weight_bytes / 4);
  const std::size_t stride = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < words; i += stride) {
    const std::size_t tile = i / (weight_bytes / 4), in_tile = i % (weight_bytes / 4);
    uint32_t word = mixed(2 * i) << 16 ^ mixed(2 * i + 1);
    if (in_tile >= code_bytes / 4) {  // two scales, the same for both steps of a group
      const uint64_t seed = tile / 2 * weight_bytes + in_tile;
      const uint32_t first = mixed(seed), second = mixed(seed + (1ULL << 40));
      word = exact ? 0x20002000 + (first % 2 << 26 | second % 2 << 10)
                   : 0x20002000 + (first % 1024 << 16 | second % 1024);
    }
    reinterpret_cast<uint32_t*>(weights)[i] = word;
  }
}
__global__ void fill_activations(__half* a, std::size_t count, bool exact) {
  const std::size_t stride = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride) {
    const auto x = static_cast<float>(mixed(i + 99) % 4096);
    a[i] = __float2half(exact ? fmodf(x, 17) - 8 : x / 2048 - 1);
  }
}
__global__ void read_all(const uint4* data, std::size_t count, uint32_t* never) {
  uint32_t sum = 0;
  const std::size_t stride = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride) {
    const uint4 x = data[i];
    sum |= x.x ^ x.y ^ x.z ^ x.w;
  }
  if (sum == 0x12345678 && never != nullptr) *never = sum;
}

}  // namespace hopper
