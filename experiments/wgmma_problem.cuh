// What wgmma_dequant.cu multiplies: the order of the weights, what is done for them, plain sums.
#pragma once

#include "hopper.cuh"

namespace hopper {

constexpr int tiles = 2;       // of weights and activations, which a block takes in turns
constexpr int step = 64;       // elements of k in a tile: four wgmma
constexpr int max_groups = 2;  // of four warps that multiply
constexpr int stages = 4;      // of weights in shared memory
constexpr int tile_bytes = 64 * step * 2;  // of one group's weights as f16

/// What is done for a register with two weights.
enum class Work {
  none,        ///< made once
  mask,        ///< 1 instruction: 1024 + q or 1024 + 16 q
  add,         ///< 2: minus 1024
  multiply,    ///< 3: times the scale
  shift,       ///< 4: a shift before
  any_scale,   ///< 3.25: what u4 takes (AnyScale)
  small_scale  ///< 2.5: for scales below 1/32 (SmallScale)
};

struct Problem {
  const uint4* words;      ///< [tile][group][128 threads]
  const uint16_t* scales;  ///< [tile][group][64 rows], f16
  const uint16_t* b;       ///< [tile][n][step], f16
  float* sums;             ///< [group][64][n] of the first block
  long long* cycles;       ///< cycles of each block
  int steps;               ///< even
};

// What a register is, for the first four kinds of work and for whoever checks them

template <Work work>
__device__ uint32_t worked(uint32_t word, int pair, uint32_t scale) {
  if (work == Work::shift) word >>= 4 * pair;
  const bool is_high = work != Work::shift && pair % 2 == 1;
  uint32_t value = masked(word, is_high ? 0x00f000f0 : 0x000f000f, 0x64006400);
  if (work != Work::mask) value = added(value, 0xe400e400);
  if (work == Work::multiply || work == Work::shift) value = multiplied(value, scale);
  return value;
}

/// The weight of a pair's half by the definition, or what the partial work makes of it.
template <Work work>
__device__ float weight(uint32_t word, int pair, bool high, uint16_t scale) {
  if (work == Work::none || work == Work::any_scale || work == Work::small_scale) {
    const int q = static_cast<int>(word >> (4 * pair + (high ? 16 : 0)) & 15);
    return static_cast<float>(q - 8) * __half2float(__ushort_as_half(scale));
  }
  const uint32_t both = worked<work>(word, pair, twice(scale));
  return __half2float(__ushort_as_half(static_cast<uint16_t>(high ? both >> 16 : both)));
}

/// Plain sums; `in_registers` tells how the words are ordered.
template <int n, Work work, bool in_registers>
__global__ void expected(Problem problem) {
  const int row = blockIdx.x % 64, group = blockIdx.x / 64, column = threadIdx.x;
  float sum = 0;
  for (int i = 0; i < problem.steps; ++i) {
    const int tile = i % tiles;
    const int at = (tile * max_groups + group);
    for (int k = 0; k < step; ++k) {
      // In registers: thread (row % 8) * 4 + (k % 8) / 2 of warp row / 16, word k / 16, pair
      // (row / 8) % 2 + 2 ((k / 8) % 2). Else thread 2 row + k / 32, word (k % 32) / 8, pair.
      const int thread = in_registers ? row / 16 * 32 + row % 8 * 4 + k % 8 / 2 : 2 * row + k / 32;
      const int word = in_registers ? k / 16 : k % 32 / 8;
      const int pair = in_registers ? row / 8 % 2 + k / 8 % 2 * 2 : k % 8 / 2;
      const uint4 words = problem.words[at * 128 + thread];
      const uint32_t all[4] = {words.x, words.y, words.z, words.w};
      const float w = weight<work>(all[word], pair, k % 2 == 1, problem.scales[at * 64 + row]);
      sum += w * __half2float(__ushort_as_half(problem.b[(tile * n + column) * step + k]));
    }
  }
  problem.sums[(group * 64 + row) * n + column] = sum;
}

/// Activations (for wgmma), words and scales into shared memory, by all threads.
template <int n>
__device__ void copy_problem(const Problem& problem, uint8_t* b, uint8_t* words, uint8_t* scales) {
  for (int i = threadIdx.x; i < tiles * n * 8; i += blockDim.x) {
    const int tile = i / (n * 8), row = i / 8 % n, piece = i % 8;
    *reinterpret_cast<uint4*>(b + tile * n * 128 + swizzled(row, piece)) =
        reinterpret_cast<const uint4*>(problem.b)[i];
  }
  for (int i = threadIdx.x; i < tiles * max_groups * 128; i += blockDim.x) {
    reinterpret_cast<uint4*>(words)[i] = problem.words[i];
  }
  for (int i = threadIdx.x; i < tiles * max_groups * 64; i += blockDim.x) {
    reinterpret_cast<uint16_t*>(scales)[i] = problem.scales[i];
  }
}

}  // namespace hopper
