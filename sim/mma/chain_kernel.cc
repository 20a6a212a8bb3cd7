#include "sim/mma/chain_kernel.h"

#include <bit>
#include <cmath>

#include "isa/base/check.h"
#include "sim/arithmetic/float_bits.h"
#include "sim/arithmetic/lanes.h"

namespace tilevm::sim {
namespace {

struct F16Step {
  TILEVM_INLINE static float step(float a, float b, float c) {
    return as_float(f16_to_f32(f32_to_f16(f32_to_odd(fma_to_odd(a, b, c)))));
  }
};
struct Bf16Step {
  TILEVM_INLINE static float step(float a, float b, float c) {
    return as_float(bf16_to_f32(f32_to_bf16(f32_to_odd(fma_to_odd(a, b, c)))));
  }
};
struct FloatStep {
  template <class T>
  TILEVM_INLINE static T step(T a, T b, T c) {
    return std::fma(a, b, c);
  }
};
struct IntegerStep {
  template <class T>
  TILEVM_INLINE static T step(T a, T b, T c) {
    return a * b + c;
  }
};

template <class Step, class T>
TILEVM_INLINE void multiply_body(const ChainProduct<T>& p) {
  for (std::size_t y = 0; y < p.m; ++y) {
    T* __restrict const row = p.c + y * p.n;
    for (std::size_t k = 0; k < p.k; ++k) {
      const T a = p.a[y * p.k + k];
      const T* __restrict const b = p.b + k * p.n;
      for (std::size_t x = 0; x < p.n; ++x) row[x] = Step::step(a, b[x], row[x]);
    }
  }
}

template <class Step, class T>
void multiply_portable(const ChainProduct<T>& p) {
  multiply_body<Step>(p);
}

#if defined(__x86_64__)
template <class Step, class T>
[[gnu::target("avx2,fma")]] void multiply_avx2(const ChainProduct<T>& p) {
  multiply_body<Step>(p);
}
template <class Step, class T>
[[gnu::target("avx512f,avx512dq,avx512vl,avx512bw,fma")]] void multiply_avx512(
    const ChainProduct<T>& p) {
  multiply_body<Step>(p);
}
#endif

template <class Step, class T>
void multiply_at(const ChainProduct<T>& product, SimdLevel level) {
#if defined(__x86_64__)
  const bool has_fma = __builtin_cpu_supports("fma") != 0;
  if (level == SimdLevel::avx512 && has_fma) return multiply_avx512<Step>(product);
  if (level == SimdLevel::avx2 && has_fma) return multiply_avx2<Step>(product);
#else
  TILEVM_CHECK(level == SimdLevel::portable, "a level that this processor does not have");
#endif
  multiply_portable<Step>(product);
}

}  // namespace

template <class T>
void multiply(ChainType type, const ChainProduct<T>& product, SimdLevel level) {
  if constexpr (std::is_same_v<T, float>) {
    if (type == ChainType::f16) return multiply_at<F16Step>(product, level);
    if (type == ChainType::bf16) return multiply_at<Bf16Step>(product, level);
    TILEVM_CHECK(type == ChainType::f32, "a chain in float");
    multiply_at<FloatStep>(product, level);
  } else if constexpr (std::is_same_v<T, double>) {
    TILEVM_CHECK(type == ChainType::f64, "a chain in double");
    multiply_at<FloatStep>(product, level);
  } else {
    TILEVM_CHECK(type == (sizeof(T) == 4 ? ChainType::u32 : ChainType::u64), "a chain in integers");
    multiply_at<IntegerStep>(product, level);
  }
}

template void multiply(ChainType, const ChainProduct<float>&, SimdLevel);
template void multiply(ChainType, const ChainProduct<double>&, SimdLevel);
template void multiply(ChainType, const ChainProduct<std::uint32_t>&, SimdLevel);
template void multiply(ChainType, const ChainProduct<std::uint64_t>&, SimdLevel);

}  // namespace tilevm::sim
