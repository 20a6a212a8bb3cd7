// Tensor maps and the copies through them. The map's type and the driver's function are declared
// here, so that no header of the driver and no library is needed.
#pragma once

#include "hopper.cuh"

namespace hopper {

struct alignas(64) TensorMap {
  uint64_t words[16];
};

/// A map of a matrix of f16 [rows][columns] without gaps. A copy takes `box_rows` rows of 64
/// columns, and the tile in shared memory is swizzled (hopper::swizzled).
inline TensorMap make_map(const void* matrix, uint64_t rows, uint64_t columns, uint32_t box_rows) {
  using Encode = int(TensorMap*, int type, uint32_t rank, void* memory, const uint64_t* sizes,
                     const uint64_t* strides, const uint32_t* box, const uint32_t* element_strides,
                     int interleave, int swizzle, int promotion, int fill);
  static Encode* encode = nullptr;
  if (encode == nullptr) {
    void* found = nullptr;
    cudaDriverEntryPointQueryResult result;
    check(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000,
                                           cudaEnableDefault, &result),
          "cuTensorMapEncodeTiled");
    if (found == nullptr) {
      std::printf("the driver has no cuTensorMapEncodeTiled\n");
      std::exit(1);
    }
    encode = reinterpret_cast<Encode*>(found);
  }
  constexpr int f16 = 6, no_interleave = 0, swizzle_128 = 3, promote_256 = 3, zeros = 0;
  const uint64_t sizes[2] = {columns, rows}, strides[1] = {columns * 2};
  const uint32_t box[2] = {64, box_rows}, ones[2] = {1, 1};
  TensorMap map;
  const int status = encode(&map, f16, 2, const_cast<void*>(matrix), sizes, strides, box, ones,
                            no_interleave, swizzle_128, promote_256, zeros);
  if (status != 0) {
    std::printf("cuTensorMapEncodeTiled: error %d\n", status);
    std::exit(1);
  }
  return map;
}

/// A tile of this block; the barrier expects its bytes.
__device__ inline void copy_tile(uint32_t to, const TensorMap& map, int row, int column,
                                 uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], "
      "[%1, {%2, %3}], [%4];" ::"r"(to),
      "l"(&map), "r"(column), "r"(row), "r"(barrier)
      : "memory");
}

/// Copies one tile for all blocks of `blocks` (a bit each), to the same address in each, and
/// completes on the barrier of the same address in each.
__device__ inline void copy_tile_to(uint32_t to, const TensorMap& map, int row, int column,
                                    uint32_t barrier, uint16_t blocks) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
      ".multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(to),
      "l"(&map), "r"(column), "r"(row), "r"(barrier), "h"(blocks)
      : "memory");
}

/// A tile of shared memory into the matrix; part of the group that store_commit ends.
__device__ inline void store_tile(const TensorMap& map, int row, int column, uint32_t from) {
  asm volatile(
      "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(
          &map),
      "r"(column), "r"(row), "r"(from)
      : "memory");
}
__device__ inline void store_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
/// Until the tiles that this thread stores are read.
__device__ inline void store_wait_read() {
  asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
}
/// Until the tiles that this thread stores are in global memory.
__device__ inline void store_wait() { asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); }

/// `bytes` (of 16) side by side.
__device__ inline void copy_bytes(uint32_t to, const void* from, uint32_t bytes, uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, "
      "[%3];" ::"r"(to),
      "l"(from), "r"(bytes), "r"(barrier)
      : "memory");
}

__device__ inline int block_of_cluster() {
  uint32_t rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return static_cast<int>(rank);
}

/// A launch of clusters of `cluster` blocks.
template <typename... Parameters, typename... Arguments>
void launch(void (*kernel)(Parameters...), int blocks, int threads, int shared, int cluster,
            const Arguments&... arguments) {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim = {static_cast<unsigned>(cluster), 1, 1};
  cudaLaunchConfig_t config{};
  config.gridDim = blocks;
  config.blockDim = threads;
  config.dynamicSmemBytes = shared;
  config.attrs = &attribute;
  config.numAttrs = 1;
  check(cudaLaunchKernelEx(&config, kernel, Parameters(arguments)...), "launch");
}

}  // namespace hopper
