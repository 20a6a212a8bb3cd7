// Chains of multiply-adds over whole matrices: c = fma(a, b, c) with k ascending.
//
// f32 and f64 follow IEEE; integers are modulo 2^n; f16 and bf16 are computed as floats with one
// rounding a step. NaN payloads do not matter here: the caller makes every NaN canonical.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sim/mma/mma_kernel.h"

namespace tilevm::sim {

/// The type of the accumulator that T computes.
enum class ChainType : std::uint8_t { f16, bf16, f32, f64, u32, u64 };

/// c[m][n] is updated from a[m][k] and b[k][n], all dense.
template <class T>
struct ChainProduct {
  std::size_t m, n, k;
  const T* a;
  const T* b;
  T* c;
};

/// T is float for f16, bf16 and f32, otherwise the type of that name. The bits (of numbers) do not
/// depend on the level, which must be one of simd_levels().
template <class T>
void multiply(ChainType type, const ChainProduct<T>& product, SimdLevel level);

}  // namespace tilevm::sim
