// Measures what a GPU's approximate instructions give, and compares it with tests/data and with
// the structure of isa/type/approximation.h.
//
//   nvcc -O2 -arch=native -o on_gpu tests/approximations/on_gpu.cu
//   ./on_gpu tests/data/approximations_sm_90.txt measured.txt
//
// The file that it writes has the form of the one that it reads. Exit status: 1 if anything differs.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;

#define CHECK(call)                                                              \
  do {                                                                           \
    const cudaError_t error = (call);                                            \
    if (error != cudaSuccess) {                                                  \
      std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error));        \
      std::exit(2);                                                              \
    }                                                                            \
  } while (0)

__host__ __device__ u64 mix(u64 z) {
  z += 0x9e3779b97f4a7c15ull;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ z >> 27) * 0x94d049bb133111ebull;
  return z ^ z >> 31;
}

#define UNARY(name, instruction)                               \
  struct name {                                                \
    static __device__ u32 apply(u32 a) {                       \
      u32 d;                                                   \
      asm(instruction " %0, %1;" : "=r"(d) : "r"(a));          \
      return d;                                                \
    }                                                          \
  };
#define BINARY(name, instruction)                                       \
  struct name {                                                         \
    static __device__ u32 apply(u32 a, u32 b) {                         \
      u32 d;                                                            \
      asm(instruction " %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));       \
      return d;                                                         \
    }                                                                   \
  };

UNARY(Ex2Approx, "ex2.approx.f32")
UNARY(Ex2ApproxFtz, "ex2.approx.ftz.f32")
UNARY(Lg2Approx, "lg2.approx.f32")
UNARY(Lg2ApproxFtz, "lg2.approx.ftz.f32")
UNARY(RcpApprox, "rcp.approx.f32")
UNARY(RcpApproxFtz, "rcp.approx.ftz.f32")
UNARY(RsqrtApprox, "rsqrt.approx.f32")
UNARY(RsqrtApproxFtz, "rsqrt.approx.ftz.f32")
UNARY(SqrtApprox, "sqrt.approx.f32")
UNARY(SqrtApproxFtz, "sqrt.approx.ftz.f32")
UNARY(SinApprox, "sin.approx.f32")
UNARY(SinApproxFtz, "sin.approx.ftz.f32")
UNARY(CosApprox, "cos.approx.f32")
UNARY(CosApproxFtz, "cos.approx.ftz.f32")
UNARY(TanhApprox, "tanh.approx.f32")
UNARY(Ex2F16x2, "ex2.approx.f16x2")
UNARY(TanhF16x2, "tanh.approx.f16x2")
UNARY(Ex2Bf16x2, "ex2.approx.ftz.bf16x2")
UNARY(TanhBf16x2, "tanh.approx.bf16x2")
BINARY(DivFull, "div.full.f32")
BINARY(DivFullFtz, "div.full.ftz.f32")
BINARY(DivApprox, "div.approx.f32")
BINARY(DivApproxFtz, "div.approx.ftz.f32")

// ---- Sums of blocks of arguments ----------------------------------------------------------------

template <class F>
__global__ void sum_blocks(u64* sums) {
  const u32 per = (1u << 23) / (gridDim.y * blockDim.x);
  const u32 first = (blockIdx.y * blockDim.x + threadIdx.x) * per;
  u64 sum = 0;
  for (u32 i = 0; i < per; ++i) {
    const u32 x = blockIdx.x << 23 | (first + i);
    sum += mix(static_cast<u64>(x) << 32 | F::apply(x));
  }
  atomicAdd(sums + blockIdx.x, sum);
}

using Sums = std::map<std::string, std::vector<u64>>;

Sums read_sums(const char* path) {
  std::ifstream file(path);
  Sums sums;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    std::string name, sum;
    u32 block = 0;
    words >> name >> block;
    while (words >> sum) sums[name].push_back(std::stoull(sum, nullptr, 16));
  }
  return sums;
}

long wrong_in_all = 0;

void report(const std::string& what, u64 wrong, u64 of) {
  std::printf("%-44s %llu of %llu differ\n", what.c_str(), wrong, of);
  wrong_in_all += wrong != 0;
}

template <class F>
void compare_sums(const char* name, const Sums& known, std::ofstream& out) {
  u64* sums = nullptr;
  CHECK(cudaMallocManaged(&sums, 512 * sizeof(u64)));
  for (int i = 0; i < 512; ++i) sums[i] = 0;
  sum_blocks<F><<<dim3(512, 64), 256>>>(sums);
  CHECK(cudaDeviceSynchronize());
  u64 wrong = 0;
  const auto found = known.find(name);
  for (int i = 0; i < 512; ++i) {
    char text[32];
    std::snprintf(text, sizeof text, " %016llx", sums[i]);
    if (i % 8 == 0) out << name << " " << i;
    out << text << (i % 8 == 7 ? "\n" : "");
    wrong += found == known.end() || found->second[i] != sums[i];
  }
  report(std::string(name) + ", blocks of 2^23 arguments", wrong, 512);
  CHECK(cudaFree(sums));
}

// ---- Pairs of 16 bits: the function of f32, truncated -------------------------------------------

__device__ u32 truncated_to_f16(u32 x) {
  const u32 sign = x >> 16 & 0x8000u, magnitude = x & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return 0x7fffu;
  const int e = static_cast<int>(magnitude >> 23) - 112;
  if (e >= 31) return sign | 0x7c00u;
  const u32 significand = (magnitude & 0x7fffffu) | 0x800000u;
  if (e > 0) return sign | static_cast<u32>(e) << 10 | (significand >> 13 & 1023u);
  return sign | (e > -11 ? significand >> (14 - e) : 0);
}
__device__ u32 widened_f16(u32 x) {
  u32 d;
  asm("cvt.f32.f16 %0, %1;" : "=r"(d) : "h"(static_cast<u16>(x)));
  return d;
}

template <class Unit>
struct HalfF16 {
  static __device__ u32 apply(u32 x) { return truncated_to_f16(Unit::apply(widened_f16(x))); }
};
template <class Unit>
struct HalfBf16 {
  static __device__ u32 apply(u32 x) { return Unit::apply(x << 16) >> 16; }
};

template <class Pair, class Half>
__global__ void compare_pairs(u64* wrong) {
  const u64 step = static_cast<u64>(gridDim.x) * blockDim.x;
  u64 count = 0;
  for (u64 i = static_cast<u64>(blockIdx.x) * blockDim.x + threadIdx.x; i < 1ull << 32; i += step) {
    const u32 x = static_cast<u32>(i);
    count += Pair::apply(x) != (Half::apply(x & 0xffffu) | Half::apply(x >> 16) << 16);
  }
  if (count != 0) atomicAdd(wrong, count);
}

// ---- Quotients ----------------------------------------------------------------------------------

__device__ u32 multiplied(u32 a, u32 b) {
  u32 d;
  asm("mul.rn.f32 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
  return d;
}
__device__ u32 flushed(u32 a) { return (a & 0x7f800000u) == 0 ? a & 0x80000000u : a; }
__device__ bool is_tiny(u32 a, u32 b) {
  double product = static_cast<double>(__uint_as_float(a)) * __uint_as_float(b);
  product = product < 0 ? -product : product;
  return product < 0x1.ffffffp-127;
}
/// Which results of a multiplication .ftz flushes: 0 those that are subnormal once rounded to 24 bits
/// with an exponent of any size, 1 those that are subnormal once rounded to a subnormal.
template <int variant>
__device__ u32 multiplied_ftz(u32 a, u32 b) {
  const u32 x = flushed(a), y = flushed(b), product = multiplied(x, y);
  if (variant == 0 && is_tiny(x, y)) return product & 0x80000000u;
  return flushed(product);
}

template <bool full, bool ftz, int variant>
__device__ u32 quotient(u32 a, u32 b) {
  const u32 magnitude = b & 0x7fffffffu;
  u32 scale = 0;
  if (full && magnitude > 0x7e800000u && magnitude <= 0x7f800000u) scale = 0x3e800000u;
  if (!ftz && magnitude < 0x00800000u) scale = 0x4b800000u;
  if (scale != 0) {
    a = ftz ? multiplied_ftz<variant>(a, scale) : multiplied(a, scale);
    b = ftz ? multiplied_ftz<variant>(b, scale) : multiplied(b, scale);
  }
  const u32 r = RcpApproxFtz::apply(b);
  return ftz ? multiplied_ftz<variant>(r, a) : multiplied(r, a);
}

/// Pairs of every exponent; a quarter has a quotient near the least normal number.
__device__ void draw_pair(u64 i, u32* a, u32* b) {
  const u64 random = mix(i);
  *a = static_cast<u32>(random);
  *b = static_cast<u32>(random >> 32);
  if (i % 4 == 1) {
    const int exponent = static_cast<int>(*b >> 23 & 255) - 126 + static_cast<int>(random % 3) - 1;
    if (exponent > 0 && exponent < 255) *a = (*a & 0x807fffffu) | static_cast<u32>(exponent) << 23;
  }
  if (i % 16 == 2) *b &= 0x807fffffu;
  if (i % 16 == 6) *b = (*b & 0x80ffffffu) | 0x7e800000u;
  if (i % 16 == 10) *a &= 0x807fffffu;
}

template <class F, bool full, bool ftz, int variant>
__global__ void compare_quotients(u64 pairs, u64* wrong) {
  const u64 step = static_cast<u64>(gridDim.x) * blockDim.x;
  u64 count = 0;
  for (u64 i = static_cast<u64>(blockIdx.x) * blockDim.x + threadIdx.x; i < pairs; i += step) {
    u32 a, b;
    draw_pair(i, &a, &b);
    count += F::apply(a, b) != quotient<full, ftz, variant>(a, b);
  }
  if (count != 0) atomicAdd(wrong, count);
}

// ---- f64: the lower 32 bits -----------------------------------------------------------------------

template <bool root>
__device__ u64 wide(u64 x) {
  u64 d;
  if (root) {
    asm("rsqrt.approx.ftz.f64 %0, %1;" : "=l"(d) : "l"(x));
  } else {
    asm("rcp.approx.ftz.f64 %0, %1;" : "=l"(d) : "l"(x));
  }
  return d;
}
template <bool root>
__global__ void compare_wide(u64* wrong) {
  const u64 step = static_cast<u64>(gridDim.x) * blockDim.x;
  u64 count = 0;
  for (u64 i = static_cast<u64>(blockIdx.x) * blockDim.x + threadIdx.x; i < 1ull << 32; i += step) {
    const u64 x = wide<root>(i << 32), y = wide<root>(i << 32 | (mix(i) & 0xffffffffull));
    count += x != y || (x & 0xffffffffull) != 0;
  }
  if (count != 0) atomicAdd(wrong, count);
}

// ---- Constants ------------------------------------------------------------------------------------

static __constant__ u32 hidden_zero = 0;

/// Arguments that the compiler knows: by the instruction alone, and hidden as the prelude does.
template <class F>
__global__ void constants(u32* out) {
#pragma unroll
  for (u32 i = 0; i < 64; ++i) out[i] = F::apply(0x3f800000u + i * 0x1234567u % 0x800000u);
#pragma unroll
  for (u32 i = 0; i < 64; ++i) {
    out[64 + i] = F::apply((0x3f800000u + i * 0x1234567u % 0x800000u) | hidden_zero);
  }
}
template <class F>
__global__ void variables(u32* out) {
  const u32 x = 0x3f800000u + threadIdx.x * 0x1234567u % 0x800000u;
  out[128 + threadIdx.x] = F::apply(x);
}

template <class F>
void compare_constants(const char* name) {
  u32* out = nullptr;
  CHECK(cudaMallocManaged(&out, 192 * sizeof(u32)));
  constants<F><<<1, 1>>>(out);
  variables<F><<<1, 64>>>(out);
  CHECK(cudaDeviceSynchronize());
  u64 folded = 0, wrong = 0;
  for (int i = 0; i < 64; ++i) {
    folded += out[i] != out[128 + i];
    wrong += out[64 + i] != out[128 + i];
  }
  std::printf("%-44s %llu of 64 as the compiler folds them\n", name, folded);
  report(std::string(name) + ", constants that are hidden", wrong, 64);
  CHECK(cudaFree(out));
}

template <class Launch>
void compare(const std::string& what, u64 of, Launch launch) {
  u64* wrong = nullptr;
  CHECK(cudaMallocManaged(&wrong, sizeof(u64)));
  *wrong = 0;
  launch(wrong);
  CHECK(cudaDeviceSynchronize());
  report(what, *wrong, of);
  CHECK(cudaFree(wrong));
}

int main(int count, char** words) {
  if (count != 3) {
    std::fprintf(stderr, "usage: on_gpu KNOWN MEASURED\n");
    return 2;
  }
  cudaDeviceProp device;
  CHECK(cudaGetDeviceProperties(&device, 0));
  int driver = 0;
  CHECK(cudaDriverGetVersion(&driver));
  std::printf("%s, sm_%d%d, driver for CUDA %d.%d\n", device.name, device.major, device.minor,
              driver / 1000, driver % 1000 / 10);
  const Sums known = read_sums(words[1]);
  std::ofstream out(words[2]);
  out << "# Measured on " << device.name << ".\n";

#define SUMS(name) compare_sums<name>(#name, known, out)
  SUMS(Ex2Approx); SUMS(Ex2ApproxFtz); SUMS(Lg2Approx); SUMS(Lg2ApproxFtz);
  SUMS(RcpApprox); SUMS(RcpApproxFtz); SUMS(RsqrtApprox); SUMS(RsqrtApproxFtz);
  SUMS(SqrtApprox); SUMS(SqrtApproxFtz); SUMS(SinApprox); SUMS(SinApproxFtz);
  SUMS(CosApprox); SUMS(CosApproxFtz); SUMS(TanhApprox);

#define PAIRS(name, ...) \
  compare(#name ", all pairs", 1ull << 32, [](u64* wrong) { compare_pairs<name, __VA_ARGS__><<<2048, 256>>>(wrong); })
  PAIRS(Ex2F16x2, HalfF16<Ex2Approx>);
  PAIRS(TanhF16x2, HalfF16<TanhApprox>);
  PAIRS(Ex2Bf16x2, HalfBf16<Ex2ApproxFtz>);
  PAIRS(TanhBf16x2, HalfBf16<TanhApprox>);

  constexpr u64 pairs = 1ull << 33;
#define QUOTIENTS(name, full, ftz, variant) \
  [](u64* wrong) { compare_quotients<name, full, ftz, variant><<<2048, 256>>>(pairs, wrong); }
  compare("div.full, pairs", pairs, QUOTIENTS(DivFull, true, false, 0));
  compare("div.approx, pairs", pairs, QUOTIENTS(DivApprox, false, false, 0));
  compare("div.full.ftz, pairs", pairs, QUOTIENTS(DivFullFtz, true, true, 0));
  compare("div.approx.ftz, pairs", pairs, QUOTIENTS(DivApproxFtz, false, true, 0));
  const long before = wrong_in_all;
  compare("  the other rule of .ftz, div.full.ftz", pairs, QUOTIENTS(DivFullFtz, true, true, 1));
  compare("  the other rule of .ftz, div.approx.ftz", pairs, QUOTIENTS(DivApproxFtz, false, true, 1));
  wrong_in_all = before;  // one of both rules alone can be right

  compare("rcp f64, lower bits of all upper words", 1ull << 32, [](u64* wrong) { compare_wide<false><<<2048, 256>>>(wrong); });
  compare("rsqrt f64, lower bits of all upper words", 1ull << 32, [](u64* wrong) { compare_wide<true><<<2048, 256>>>(wrong); });

  compare_constants<Ex2ApproxFtz>("Ex2ApproxFtz");
  compare_constants<RcpApproxFtz>("RcpApproxFtz");
  compare_constants<TanhApprox>("TanhApprox");
  std::printf("%s\n", wrong_in_all == 0 ? "all equal" : "SOMETHING DIFFERS");
  return wrong_in_all == 0 ? 0 : 1;
}
