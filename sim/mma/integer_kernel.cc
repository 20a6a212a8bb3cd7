#include "sim/mma/integer_kernel.h"

#include <cstring>

#include "isa/base/check.h"
#include "sim/arithmetic/lanes.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tilevm::sim {
namespace {

/// Rows whose sums are kept in registers together.
constexpr std::size_t row_block = 4;

/// Columns [first, n), element by element.
void multiply_columns(const IntegerProduct& p, std::size_t first) {
  for (std::size_t y = 0; y < p.m; ++y) {
    for (std::size_t x = first; x < p.n; ++x) {
      std::uint32_t sum = p.c[y * p.n + x];
      for (std::size_t k = 0; k < p.k; ++k) {
        const std::int32_t a = p.a[y * p.k + k], b = p.b[(k / 2 * p.n + x) * 2 + k % 2];
        sum += static_cast<std::uint32_t>(a * b);
      }
      p.c[y * p.n + x] = sum;
    }
  }
}

#if defined(__x86_64__)

/// Two neighbouring elements of a as one word.
TILEVM_INLINE std::int32_t pair_at(const std::int16_t* a) {
  std::int32_t pair = 0;
  std::memcpy(&pair, a, sizeof pair);
  return pair;
}

// Defines the product of all whole vectors of columns; `target` is the function's attribute. The
// function returns the first column that is left.
// NOLINTBEGIN(bugprone-macro-parentheses): attributes and types cannot be in parentheses
#define TILEVM_INTEGER_KERNEL(name, target, Vector, lanes, prefix, suffix)                       \
  target void rows_##name(const IntegerProduct& p, std::size_t y, std::size_t rows,              \
                          std::size_t x) {                                                       \
    Vector sums[row_block];                                                                      \
    for (std::size_t r = 0; r < row_block; ++r) {                                                \
      sums[r] = prefix##_setzero_##suffix();                                                     \
    }                                                                                            \
    for (std::size_t k = 0; k < p.k; k += 2) {                                                   \
      const Vector b =                                                                           \
          prefix##_loadu_##suffix(reinterpret_cast<const Vector*>(p.b + (k / 2 * p.n + x) * 2)); \
      for (std::size_t r = 0; r < row_block; ++r) {                                              \
        const std::size_t row = y + (r < rows ? r : 0);                                          \
        const Vector a = prefix##_set1_epi32(pair_at(p.a + row * p.k + k));                      \
        sums[r] = prefix##_add_epi32(sums[r], prefix##_madd_epi16(a, b));                        \
      }                                                                                          \
    }                                                                                            \
    for (std::size_t r = 0; r < rows; ++r) {                                                     \
      auto* const to = reinterpret_cast<Vector*>(p.c + (y + r) * p.n + x);                       \
      prefix##_storeu_##suffix(to, prefix##_add_epi32(prefix##_loadu_##suffix(to), sums[r]));    \
    }                                                                                            \
  }                                                                                              \
  target std::size_t multiply_##name(const IntegerProduct& p) {                                  \
    std::size_t x = 0;                                                                           \
    for (; x + (lanes) <= p.n; x += (lanes)) {                                                   \
      for (std::size_t y = 0; y < p.m; y += row_block) {                                         \
        rows_##name(p, y, p.m - y < row_block ? p.m - y : row_block, x);                         \
      }                                                                                          \
    }                                                                                            \
    return x;                                                                                    \
  }

TILEVM_INTEGER_KERNEL(avx2, [[gnu::target("avx2")]], __m256i, 8, _mm256, si256)
TILEVM_INTEGER_KERNEL(avx512, [[gnu::target("avx512f,avx512bw")]], __m512i, 16, _mm512, si512)
// NOLINTEND(bugprone-macro-parentheses)

#endif

}  // namespace

void multiply(const IntegerProduct& product, SimdLevel level) {
  TILEVM_CHECK(product.k % 2 == 0, "pairs of k");
  std::size_t done = 0;
#if defined(__x86_64__)
  if (level == SimdLevel::avx512) {
    done = multiply_avx512(product);
  } else if (level == SimdLevel::avx2) {
    done = multiply_avx2(product);
  }
#else
  TILEVM_CHECK(level == SimdLevel::portable, "a level that this processor does not have");
#endif
  multiply_columns(product, done);
}

}  // namespace tilevm::sim
