// Chains of multiply-adds over whole matrices: c = fma(a, b, c) with k ascending.
//
// f32 and f64 as IEEE has it; integers modulo 2^n; f16 and bf16 as floats that hold their values,
// with one rounding a step. Which NaN a NaN is does not matter here: the caller makes it canonical.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sim/mma/mma_kernel.h"

namespace tilevm::sim {

/// The type of the accumulator behind T.
enum class ChainType : std::uint8_t { f16, bf16, f32, f64, u32, u64 };

/// c[m][n] is updated from a[m][k] and b[k][n], all dense.
template <class T>
struct ChainProduct {
  std::size_t m, n, k;
  const T* a;
  const T* b;
  T* c;
};

/// T is float for f16, bf16 and f32, else the type of that name. The bits (of numbers) do not
/// depend on the level, which must be one of simd_levels().
template <class T>
void multiply(ChainType type, const ChainProduct<T>& product, SimdLevel level);

}  // namespace tilevm::sim
