// How many bytes a cycle reach a multiprocessor through tensor maps, from L2 and from memory: tiles
// of its own, tiles that two blocks of a cluster copy each for itself, and tiles of which each of
// the two copies a half for both (multicast). And how registers move from a group of four warps
// that copies to two that compute: what each may hold, and how long it takes.
//
//   nvcc -O3 -std=c++17 -gencode arch=compute_90a,code=sm_90a -o tensor_map_multicast
//   experiments/tensor_map_multicast.cu && ./tensor_map_multicast
//
// Before a variant is timed, sums over all that it copies, weighted by place, are compared with
// those of a kernel that only loads.
#include "tensor_map.cuh"

namespace {

using namespace hopper;

constexpr int columns = 4096;  // of the matrix; a tile has 64
constexpr int readers = 128;   // threads that take the tiles; a warp before them copies

enum class Sharing { own, twice, multicast };

struct Task {
  uint32_t* sums;     ///< sum of each block over what it has read
  long long* cycles;  ///< cycles of each block
  int tiles;          ///< number of tiles of the matrix
  int count;          ///< number of tiles that a block takes
  int stages;
};

/// The first tile that a block takes; the others follow it. Blocks of a pair take the same ones;
/// the others begin at places far from each other.
__device__ int first_tile(const Task& task, Sharing sharing) {
  const int unit = sharing == Sharing::own ? blockIdx.x : blockIdx.x / 2;
  const int units = sharing == Sharing::own ? gridDim.x : gridDim.x / 2;
  return static_cast<int>(static_cast<long long>(unit) * task.tiles / units);
}
__device__ int tile_after(const Task& task, int tile) {
  return tile + 1 == task.tiles ? 0 : tile + 1;
}

/// The stage that is next, and the parity of its phase; no division.
struct Turn {
  int stage = 0;
  uint32_t parity = 0;
  __device__ void advance(int stages) {
    if (++stage == stages) stage = 0, parity ^= 1;
  }
};

__host__ __device__ uint32_t weight(int row, int word) { return 2 * (row * 32 + word) + 1; }

/// Lane 0 of the first warp copies, into `stages` tiles in turns; the others read, if sums are
/// wanted, and free the tile.
template <int rows, Sharing sharing, bool summed>
__global__ void __launch_bounds__(32 + readers, 1)
    copy(const __grid_constant__ TensorMap map, Task task) {
  extern __shared__ __align__(1024) uint8_t shared[];
  __shared__ uint64_t full[16], empty[16];
  __shared__ uint32_t partial[readers];
  constexpr int tile_bytes = rows * 128;
  constexpr int blocks = sharing == Sharing::multicast ? 2 : 1;  // that a copy is for
  const int rank = sharing == Sharing::multicast ? block_of_cluster() : 0;
  if (threadIdx.x == 0) {
    for (int i = 0; i < task.stages; ++i) {
      init_barrier(shared_address(&full[i]), 1);
      init_barrier(shared_address(&empty[i]), (summed ? readers : 1) * blocks);
    }
    fence_barriers();
  }
  __syncthreads();
  if (blocks > 1) cluster_arrive(), cluster_wait();
  const long long begin = clock64();
  uint32_t sum = 0;
  if (threadIdx.x == 0) {
    Turn turn{0, 1};  // the first wait for each stage ends at once
    int tile = first_tile(task, sharing);
    for (int i = 0; i < task.count; ++i) {
      const uint32_t barrier = shared_address(&full[turn.stage]);
      const uint32_t to = shared_address(shared + turn.stage * tile_bytes);
      const int row = tile / (columns / 64) * rows, column = tile % (columns / 64) * 64;
      wait(shared_address(&empty[turn.stage]), turn.parity);
      arrive_expecting(barrier, tile_bytes);
      if (blocks == 1) {
        copy_tile(to, map, row, column, barrier);
      } else {
        constexpr int half = rows / 2;
        copy_tile_to(to + rank * half * 128, map, row + rank * half, column, barrier, 3);
      }
      tile = tile_after(task, tile);
      turn.advance(task.stages);
    }
  } else if (summed ? threadIdx.x >= 32 : threadIdx.x == 32) {
    const int reader = threadIdx.x - 32;
    Turn turn;
    for (int i = 0; i < task.count; ++i) {
      wait(shared_address(&full[turn.stage]), turn.parity);
      if (summed) {
        uint32_t own = 0;
        for (int word = reader; word < rows * 32; word += readers) {
          const int row = word / 32, place = swizzled(row, word % 32 / 4) + word % 4 * 4;
          own += *reinterpret_cast<const uint32_t*>(shared + turn.stage * tile_bytes + place) *
                 weight(row, word % 32);
        }
        sum += own * (2 * i + 1);
      }
      for (int block = 0; block < blocks; ++block) {
        if (block == rank) {
          arrive(shared_address(&empty[turn.stage]));
        } else {
          arrive_at(shared_address(&empty[turn.stage]), block);
        }
      }
      turn.advance(task.stages);
    }
  }
  if (blocks > 1) {  // a block's memory stays while the other sends to it
    __syncwarp();
    cluster_arrive(), cluster_wait();
  }
  __syncthreads();
  if (threadIdx.x == 0) task.cycles[blockIdx.x] = clock64() - begin;
  if (!summed) return;
  if (threadIdx.x >= 32) partial[threadIdx.x - 32] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int i = 1; i < readers; ++i) partial[0] += partial[i];
    task.sums[blockIdx.x] = partial[0];
  }
}

/// The sums by loads.
__global__ void expected(const uint32_t* matrix, Task task, Sharing sharing, int rows) {
  __shared__ uint32_t partial[256];
  uint32_t sum = 0;
  int tile = first_tile(task, sharing);
  for (int i = 0; i < task.count; ++i, tile = tile_after(task, tile)) {
    const long long row = tile / (columns / 64) * rows, column = tile % (columns / 64) * 32;
    uint32_t own = 0;
    for (int word = threadIdx.x; word < rows * 32; word += blockDim.x) {
      own += matrix[(row + word / 32) * (columns / 2) + column + word % 32] *
             weight(word / 32, word % 32);
    }
    sum += own * (2 * i + 1);
  }
  partial[threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int i = 1; i < 256; ++i) partial[0] += partial[i];
  task.sums[blockIdx.x] = partial[0];
}

__global__ void fill(uint32_t* words, std::size_t count) {
  const std::size_t stride = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride) {
    words[i] = mixed(i) ^ mixed(i + 1) << 16;
  }
}

struct Device {
  int multiprocessors = 0;
  uint32_t *matrix = nullptr, *sums = nullptr;
  long long* cycles = nullptr;  // managed
};

constexpr long long large = 2LL << 30, small = 16LL << 20;  // bytes: memory and L2
bool all_right = true;

template <int rows, Sharing sharing>
void print(const Device& device, int stages, long long bytes) {
  constexpr int tile_bytes = rows * 128, cluster = sharing == Sharing::multicast ? 2 : 1;
  const int blocks = device.multiprocessors / 2 * 2, shared = stages * tile_bytes;
  const auto matrix_rows = static_cast<uint64_t>(bytes / (columns * 2));
  const TensorMap map = make_map(device.matrix, matrix_rows, columns, rows / cluster);
  const int tiles = static_cast<int>(bytes / tile_bytes);
  Task task{device.sums, device.cycles, tiles, 200, stages};
  const auto checked = copy<rows, sharing, true>, timed = copy<rows, sharing, false>;
  for (const auto kernel : {checked, timed}) {
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared),
          "shared memory");
  }
  launch(checked, blocks, 32 + readers, shared, cluster, map, task);
  finish("sums of a variant");
  const auto found = on_host(device.sums, blocks);
  expected<<<blocks, 256>>>(device.matrix, task, sharing, rows);
  finish("sums by loads");
  if (found != on_host(device.sums, blocks)) {
    all_right = false;
    std::printf("    wrong sums");
    return;
  }
  // From memory each tile once; from L2 each block as many tiles as take a while
  const int units = sharing == Sharing::own ? blocks : blocks / 2;
  task.count = bytes == large ? tiles / units : static_cast<int>((64 << 20) / tile_bytes);
  std::vector<double> per_cycle, per_second;
  for (int i = 0; i < 6; ++i) {
    const double ms = milliseconds(
        "a variant", [&] { launch(timed, blocks, 32 + readers, shared, cluster, map, task); });
    if (i == 0) continue;
    const double copied = static_cast<double>(task.count) * tile_bytes;  // of a block
    double sum = 0;
    for (int block = 0; block < blocks; ++block) sum += copied / device.cycles[block];
    per_cycle.push_back(sum / blocks);
    per_second.push_back(copied * blocks / ms / 1e9);
  }
  std::printf(" %6.1f %6.2f", median(per_cycle), median(per_second));
}

template <int rows, Sharing sharing>
void print_row(const Device& device, const char* name) {
  for (const long long bytes : {small, large}) {
    std::printf("%3d x 64, %-38s %-6s", rows, name, bytes == large ? "memory" : "L2");
    for (const int stages : {2, 4, 8, 12}) print<rows, sharing>(device, stages, bytes);
    std::printf("\n");
  }
}

template <int rows>
void print_rows(const Device& device) {
  print_row<rows, Sharing::own>(device, "each block its own");
  print_row<rows, Sharing::twice>(device, "two blocks the same, each for itself");
  print_row<rows, Sharing::multicast>(device, "two blocks the same, half each for both");
}

// Registers

struct Moves {
  float* results;                       ///< [block][thread of the two groups][live]
  long long *gives, *takes, *computes;  ///< cycles of each block
  int rounds;
};

/// The first group gives registers away, the others take them and keep `live` values in use.
/// producer = 0: nothing moves.
template <int producer, int consumer, int live>
__global__ void __launch_bounds__(384, 1) move_registers(Moves moves, float factor) {
  __syncthreads();
  if (threadIdx.x < 128) {
    const long long begin = clock64();
    if constexpr (producer > 0) {
      asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(producer));
    }
    if (threadIdx.x == 0) moves.gives[blockIdx.x] = clock64() - begin;
  } else {
    const long long begin = clock64();
    if constexpr (producer > 0) {
      asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(consumer));
    }
    const long long middle = clock64();
    float values[live];
#pragma unroll
    for (int i = 0; i < live; ++i) values[i] = static_cast<float>(threadIdx.x + i);
    for (int round = 0; round < moves.rounds; ++round) {
#pragma unroll
      for (int i = 0; i < live; ++i) {
        asm volatile("fma.rn.f32 %0, %0, %1, %2;" : "+f"(values[i]) : "f"(factor), "f"(factor));
      }
    }
    const long long end = clock64();
    if (threadIdx.x == 128) {
      moves.takes[blockIdx.x] = middle - begin;
      moves.computes[blockIdx.x] = end - middle;
    }
    float* results = moves.results + (blockIdx.x * 256LL + threadIdx.x - 128) * live;
#pragma unroll
    for (int i = 0; i < live; ++i) results[i] = values[i];
  }
}

__global__ void expected_values(float* results, int live, int rounds, float factor) {
  for (int i = threadIdx.x; i < 256 * live; i += blockDim.x) {
    float value = static_cast<float>(128 + i / live + i % live);
    for (int round = 0; round < rounds; ++round) value = fmaf(value, factor, factor);
    results[i] = value;
  }
}

template <int producer, int consumer, int live>
void print_registers(const Device& device, float* results, float* plain) {
  static_assert(producer == 0 || producer + 2 * consumer <= 3 * 168,
                "more than a block has: the kernel would wait for ever");
  const int blocks = device.multiprocessors;
  long long* cycles = device.cycles;
  const Moves moves{results, cycles, cycles + blocks, cycles + 2 * blocks, 1000};
  constexpr float factor = 0.75F;
  cudaFuncAttributes attributes;
  check(cudaFuncGetAttributes(&attributes, move_registers<producer, consumer, live>), "kernel");
  std::vector<double> gives, takes, computes;
  for (int i = 0; i < 6; ++i) {
    move_registers<producer, consumer, live><<<blocks, 384>>>(moves, factor);
    finish("registers that move");
    for (int block = 0; block < blocks && i > 0; ++block) {
      gives.push_back(static_cast<double>(moves.gives[block]));
      takes.push_back(static_cast<double>(moves.takes[block]));
      computes.push_back(static_cast<double>(moves.computes[block]));
    }
  }
  expected_values<<<1, 1024>>>(plain, live, moves.rounds, factor);
  finish("plain values");
  const bool right = on_host(results, 256 * live) == on_host(plain, 256 * live);
  all_right &= right;
  std::printf("%8d %8d %8d %10d %12d %10.0f %10.0f %14.2f%s\n", producer, consumer, live,
              attributes.numRegs, static_cast<int>(attributes.localSizeBytes), median(gives),
              median(takes), median(computes) / moves.rounds / live, right ? "" : " WRONG VALUES");
}

void print_all_registers(const Device& device) {
  float* results = allocate<float>(device.multiprocessors * 256LL * 256);
  float* plain = allocate<float>(256LL * 256);
  std::printf(
      "Registers of a thread that move: a group of four warps gives, two take (0: nothing moves)\n"
      "%8s %8s %8s %10s %12s %10s %10s %14s\n",
      "giver", "takers", "values", "at launch", "local bytes", "to give", "to take",
      "a multiply-add");
  print_registers<0, 168, 128>(device, results, plain);
  print_registers<0, 168, 144>(device, results, plain);
  print_registers<0, 168, 160>(device, results, plain);
  print_registers<0, 168, 208>(device, results, plain);
  print_registers<24, 240, 128>(device, results, plain);
  print_registers<24, 240, 208>(device, results, plain);
  print_registers<24, 240, 216>(device, results, plain);
  print_registers<24, 240, 228>(device, results, plain);
  print_registers<40, 232, 208>(device, results, plain);
  print_registers<40, 232, 216>(device, results, plain);
  print_registers<40, 232, 224>(device, results, plain);
  print_registers<56, 224, 208>(device, results, plain);
  print_registers<72, 216, 200>(device, results, plain);
}

}  // namespace

int main() {
  Device device;
  device.multiprocessors = open_device();
  device.matrix = allocate<uint32_t>(large / 4);
  device.sums = allocate<uint32_t>(device.multiprocessors);
  check(cudaMallocManaged(&device.cycles, 3 * device.multiprocessors * sizeof(long long)),
        "memory");
  fill<<<4096, 256>>>(device.matrix, large / 4);
  finish("fill");
  std::printf(
      "Bytes a cycle that reach a multiprocessor, and TB/s of all; tiles of f16\n%-60s"
      " %13s %13s %13s %13s\n",
      "", "2 stages", "4 stages", "8 stages", "12 stages");
  print_rows<64>(device);
  print_rows<128>(device);
  print_all_registers(device);
  std::printf("%s\n", all_right ? "all sums are right" : "SOME SUMS ARE WRONG");
  return all_right ? 0 : 1;
}
