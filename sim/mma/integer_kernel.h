// Products of integer matrices, exact modulo 2^32.
//
// Every operand type of Dot's integer classes fits 16 bits (i8, u8, i4, u4, u1, b1..b8). Pairs of
// neighbouring k are adjacent, since one instruction multiplies and adds such pairs. A pair's sum
// needs less than 32 bits, and sums of pairs wrap as they should.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sim/mma/mma_kernel.h"

namespace tilevm::sim {

/// c[m][n] += a[m][k] * b[k/2][n][2]: element (y, x) of b is at (y/2 * n + x) * 2 + y%2. k is
/// even; |a|, |b| < 2^15.
struct IntegerProduct {
  std::size_t m, n, k;
  const std::int16_t* a;
  const std::int16_t* b;
  std::uint32_t* c;
};

/// The bits do not depend on the level, which must be one of simd_levels().
void multiply(const IntegerProduct& product, SimdLevel level);

}  // namespace tilevm::sim
