// The kernels of integers and of chains, at every level of the processor and at odd extents.
#include <doctest/doctest.h>

#include <bit>

#include "sim/mma/chain_kernel.h"
#include "sim/mma/integer_kernel.h"
#include "vm/fidelity/random_operands.h"

namespace tilevm::sim {
namespace {

using vm::fidelity::Random;

struct ProductExtents {
  std::size_t m, n, k;
};
const std::vector<ProductExtents> extents{{1, 1, 2},   {3, 7, 2},   {4, 8, 6},    {5, 9, 4},
                                          {8, 16, 32}, {9, 31, 10}, {17, 40, 66}, {2, 100, 8}};

TEST_CASE("integer products are exact modulo 2^32 at every level") {
  Random random(1);
  for (const auto& [m, n, k] : extents) {
    std::vector<std::int16_t> a(m * k), b(k * n);
    // The largest magnitude of an operand is 255 (b8); sums wrap through the accumulator.
    for (auto& x : a) x = static_cast<std::int16_t>(random.below(511) - 255);
    for (auto& x : b) x = static_cast<std::int16_t>(random.one_in(3) ? 255 : -255);
    std::vector<std::uint32_t> c(m * n);
    for (auto& x : c) x = static_cast<std::uint32_t>(random.next());
    auto expected = c;
    for (std::size_t y = 0; y < m; ++y) {
      for (std::size_t x = 0; x < n; ++x) {
        std::int64_t sum = 0;
        for (std::size_t i = 0; i < k; ++i) {
          sum += std::int64_t{a[y * k + i]} * b[(i / 2 * n + x) * 2 + i % 2];
        }
        expected[y * n + x] += static_cast<std::uint32_t>(sum);
      }
    }
    for (const SimdLevel level : simd_levels()) {
      CAPTURE(to_string(level));
      auto d = c;
      multiply(IntegerProduct{m, n, k, a.data(), b.data(), d.data()}, level);
      CHECK(d == expected);
    }
  }
}

template <class T>
std::vector<T> random_values(Random& random, std::size_t count) {
  std::vector<T> values(count);
  for (T& value : values) {
    if constexpr (std::is_same_v<T, float>) {
      value = std::bit_cast<float>(static_cast<std::uint32_t>(random.next()) & 0xbfffe000U);
    } else if constexpr (std::is_same_v<T, double>) {
      value = std::bit_cast<double>(random.next() & 0xbfffffffffffffffU);
    } else {
      value = static_cast<T>(random.next());
    }
  }
  return values;
}

template <class T>
void check_levels(ChainType type) {
  Random random(2);
  for (const auto& [m, n, k] : extents) {
    const auto a = random_values<T>(random, m * k), b = random_values<T>(random, k * n);
    const auto c = random_values<T>(random, m * n);
    std::vector<T> first = c;
    multiply(type, ChainProduct<T>{m, n, k, a.data(), b.data(), first.data()}, SimdLevel::portable);
    if (m * n > 8) CHECK(first != c);
    for (const SimdLevel level : simd_levels()) {
      CAPTURE(to_string(level));
      auto d = c;
      multiply(type, ChainProduct<T>{m, n, k, a.data(), b.data(), d.data()}, level);
      CHECK(d == first);
    }
  }
}

TEST_CASE("chains do not depend on the level") {
  check_levels<float>(ChainType::f32);
  check_levels<double>(ChainType::f64);
  check_levels<std::uint32_t>(ChainType::u32);
  check_levels<std::uint64_t>(ChainType::u64);
}

/// One step of a chain on floats.
float step(ChainType type, float a, float b, float c) {
  multiply(type, ChainProduct<float>{1, 1, 1, &a, &b, &c}, simd_levels().back());
  return c;
}

TEST_CASE("f16 and bf16 chains round every step once") {
  // (1 + 2^-10) (1 - 2^-11) - 1 = 2^-11 - 2^-21: rounding the product first would give 2^-11.
  CHECK(step(ChainType::f16, 0x1.004p0F, 0x1.ffcp-1F, -1) == 0x1.ff8p-12F);
  CHECK(step(ChainType::f16, 65504, 1, 16) == 1 / 0.0F);
  CHECK(step(ChainType::f16, 65504, 1, 15) == 65504);
  CHECK(step(ChainType::f16, 0x1p-24F, 0.5F, 0) == 0);
  CHECK(step(ChainType::f16, 0x1p-24F, 0.5F, 0x1p-24F) == 0x1p-23F);
  // A product that is a tie, moved off it by an addend far below: 2^-133 must be felt.
  const float tie = step(ChainType::bf16, 0x1.06p100F, 1.5F, 0);
  CHECK(step(ChainType::bf16, 0x1.06p100F, 1.5F, 0x1p-133F) > tie);
  CHECK(step(ChainType::bf16, 0x1.06p100F, 1.5F, -0x1p-133F) == tie);
  CHECK(step(ChainType::bf16, 0x1.fep127F, 1, 0x1p120F) == 1 / 0.0F);
}

}  // namespace
}  // namespace tilevm::sim
