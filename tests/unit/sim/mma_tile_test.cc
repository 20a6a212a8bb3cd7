// The vector kernel on whole tiles; mma_classes_test.cc compares it with the exact model.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "sim/mma/mma_model.h"
#include "sim/mma/mma_tile.h"
#include "vm/fidelity/random_operands.h"

namespace tilevm::sim {
namespace {

using isa::DType;
using isa::MmaRule;
using Words = std::vector<std::uint32_t>;

using vm::fidelity::Random;
using vm::fidelity::random_code;
using vm::fidelity::random_spreads;
using vm::fidelity::Spread;
using vm::fidelity::Spreads;

Words random_tile(Random& random, const DType& type, std::size_t count, const Spread& spread) {
  Words tile(count);
  for (std::uint32_t& code : tile) {
    code = static_cast<std::uint32_t>(random_code(random, type, spread));
  }
  return tile;
}

TEST_CASE("the random tiles meet every kind of result") {
  Random random(7);
  int nan = 0, inf = 0, zero = 0, subnormal = 0;
  const MmaRule rule = *mma_rule({90, false}, isa::bf16, isa::bf16, isa::f32);
  for (int i = 0; i < 200; ++i) {
    const Spreads shape = random_spreads(random, isa::bf16, isa::bf16, isa::f32);
    const Words a = random_tile(random, isa::bf16, 256, shape.a);
    const Words b = random_tile(random, isa::bf16, 128, shape.b);
    Words d = random_tile(random, isa::f32, 128, shape.c);
    mma_tile(rule, isa::bf16, isa::bf16, 8, 16, a.data(), b.data(), d.data(), d.data());
    for (const std::uint32_t code : d) {
      const std::uint32_t magnitude = code & 0x7fffffff;
      nan += magnitude > 0x7f800000;
      inf += magnitude == 0x7f800000;
      zero += magnitude == 0;
      subnormal += magnitude > 0 && magnitude < 0x00800000;
    }
  }
  CHECK(nan > 100);
  CHECK(inf > 100);
  CHECK(zero > 10);
  CHECK(subnormal > 100);
}

TEST_CASE("a full block of the largest products is exact") {
  const Words a(256, 0x7bff), b(128, 0x7bff);
  Words d(128, 0);
  mma_tile(*mma_rule({90, false}, isa::f16, isa::f16, isa::f32), isa::f16, isa::f16, 8, 16,
           a.data(), b.data(), d.data(), d.data());
  CHECK(d == Words(128, 0x517fc004));
}

TEST_CASE("rows and columns without a NaN are not touched by one elsewhere") {
  Words a(256, 0x3c00), b(128, 0x3c00);
  a[5 * 16 + 3] = 0x7e00;  // k 5, row 3
  b[2 * 16 + 7] = 0x7c00;  // column 2, k 7
  Words d(128, 0);
  mma_tile(*mma_rule({90, false}, isa::f16, isa::f16, isa::f32), isa::f16, isa::f16, 8, 16,
           a.data(), b.data(), d.data(), d.data());
  for (std::size_t n = 0; n < 8; ++n) {
    for (std::size_t m = 0; m < 16; ++m) {
      const std::uint32_t want = m == 3 ? 0x7fffffff : n == 2 ? 0x7f800000 : 0x41800000;
      CHECK(d[n * 16 + m] == want);
    }
  }
}

TEST_CASE("what the kernel leaves to the model") {
  const auto rule = [](const DType& operand, const DType& accumulator) {
    return *mma_rule({90, false}, operand, operand, accumulator);
  };
  CHECK(MmaTile::supports(rule(isa::f16, isa::f32), 16));
  CHECK(MmaTile::supports(rule(isa::f8e4m3, isa::f32), 32));
  CHECK(!MmaTile::supports(rule(isa::f8e4m3, isa::f32), 30));
  CHECK(MmaTile::supports(rule(isa::f16, isa::f32), 64));
  CHECK(!MmaTile::supports(rule(isa::f16, isa::f32), 72));
  CHECK(!MmaTile::supports(rule(isa::i8, isa::i32), 32));
  CHECK(!MmaTile::supports(rule(isa::f64, isa::f64), 4));
  MmaRule wider = rule(isa::f16, isa::f32);
  ++wider.fraction_bits;
  CHECK(!MmaTile::supports(wider, 16));
}

/// A sparse instruction of a class: how many outputs of the kernel's levels are not those of the
/// model on the stored products.
int count_wrong_sparse(Random& random, const isa::MmaClass& each, const MmaRule& rule,
                       std::size_t stored) {
  const Spreads spreads = random_spreads(random, each.a, each.b, each.accumulator);
  using OperandCodes = std::vector<std::uint64_t>;
  using vm::fidelity::random_codes;
  const OperandCodes a = random_codes(random, each.a, 16 * stored, spreads.a),
                     b = random_codes(random, each.b, 8 * 2 * stored, spreads.b),
                     c = random_codes(random, each.accumulator, 8 * 16, spreads.c);
  std::vector<std::uint32_t> places(16 * stored);
  for (std::size_t pair = 0; pair < 16 * stored; pair += 32) {
    for (std::size_t m = 0; m < 16; ++m) {
      places[pair + m] = static_cast<std::uint32_t>(random.below(3));
      const int more = random.below(3 - static_cast<int>(places[pair + m]));
      places[pair + 16 + m] = places[pair + m] + 1 + static_cast<std::uint32_t>(more);
    }
  }
  const std::vector<std::uint32_t> a_tile(a.begin(), a.end()), b_tile(b.begin(), b.end());
  int wrong = 0;
  for (const SimdLevel level : simd_levels()) {
    const MmaTile tile(rule, each.a, each.b, static_cast<int>(2 * stored), level, true);
    MmaOperandA operand_a;
    MmaOperandB operand_b;
    tile.load_sparse_a(a_tile.data(), places.data(), operand_a);
    tile.load_b(b_tile.data(), 8, operand_b);
    std::vector<std::uint32_t> d(c.begin(), c.end());
    tile.multiply(operand_a, operand_b, d.data(), d.data());
    for (std::size_t i = 0; i < d.size(); ++i) {
      OperandCodes row, column;
      for (std::size_t p = 0; p < stored; ++p) {
        row.push_back(a[p * 16 + i % 16]);
        column.push_back(b[i / 16 * 2 * stored + p / 2 * 4 + places[p * 16 + i % 16]]);
      }
      wrong += d[i] != mma_reference(rule, each.a, each.b, row, column, c[i]);
    }
  }
  return wrong;
}

TEST_CASE("every level of the kernel equals the model for sparse instructions") {
  Random random(3);
  int classes = 0;
  for (const isa::MmaClass& each : isa::mma_classes()) {
    if (!each.sparse || each.family != isa::MmaFamily::mma) continue;
    const MmaRule rule = *mma_rule(each);
    const bool bytes = each.a.bits == 8;
    if (each.a.bits > 16 || !MmaTile::supports(rule, bytes ? 64 : 32, true)) continue;
    CAPTURE(instruction_name(each));
    CAPTURE(to_string(each.target));
    CAPTURE(to_string(each.a));
    int wrong = 0;
    for (int i = 0; i < 4; ++i) wrong += count_wrong_sparse(random, each, rule, bytes ? 32 : 16);
    CHECK(wrong == 0);
    ++classes;
  }
  CHECK(classes > 20);
}

/// A code whose exponent is `least` to `least + span`, one in 16 a zero.
std::uint32_t code_within(Random& random, const DType& type, int least, int span) {
  if (random.one_in(16)) return 0;
  const int highest = (1 << type.exponent_bits) - (type == isa::f8e4m3 ? 1 : 2);
  const int field = std::clamp(least + random.below(span + 1) + type.bias(), 1, highest);
  const auto mantissa = static_cast<std::uint32_t>(random.next()) &
                        ((1U << type.mantissa_bits) - (type == isa::f8e4m3 ? 2U : 1U));
  const auto sign = static_cast<std::uint32_t>(random.next() & 1) << type.exponent_bits;
  return ((sign | static_cast<std::uint32_t>(field)) << type.mantissa_bits | mantissa)
         << type.unused_bits();
}

/// How many outputs of a level are not the model's, for dense operands and accumulators.
int count_wrong(const isa::MmaClass& each, const MmaRule& rule, SimdLevel level, int k,
                const Words& a, const Words& b, const Words& c) {
  const MmaTile tile(rule, each.a, each.b, k, level);
  MmaOperandA operand_a;
  MmaOperandB operand_b;
  tile.load_a(a.data(), operand_a);
  tile.load_b(b.data(), 8, operand_b);
  Words d(c);
  tile.multiply(operand_a, operand_b, d.data(), d.data());
  const auto depth = static_cast<std::size_t>(k);
  std::vector<std::uint64_t> row(depth), column(depth);
  int wrong = 0;
  for (std::size_t i = 0; i < d.size(); ++i) {
    for (std::size_t p = 0; p < depth; ++p) {
      row[p] = a[p * 16 + i % 16];
      column[p] = b[i / 16 * depth + p];
    }
    wrong += d[i] != mma_reference(rule, each.a, each.b, row, column, c[i]);
  }
  return wrong;
}

// Other tests spread exponents of bf16 and tf32 wider than their products are exact floats.
TEST_CASE("every level of the kernel equals the model where products are exact floats") {
  Random random(11);
  int classes = 0;
  for (const isa::MmaClass& each : isa::mma_classes()) {
    if (each.sparse) continue;
    const MmaRule rule = *mma_rule(each);
    const int k = each.a.bits == 8 ? 32 : each.a.bits == 32 ? 8 : 16;
    if (!MmaTile::supports(rule, k)) continue;
    CAPTURE(instruction_name(each));
    CAPTURE(to_string(each.target));
    CAPTURE(to_string(each.a));
    // The last spans are at the limits of the window, and beyond.
    for (const auto& [least, span] :
         {std::pair{-4, 4}, std::pair{-1, 14}, std::pair{-20, 25}, std::pair{-51, 62},
          std::pair{-50, 63}, std::pair{-56, 10}, std::pair{1, 62}, std::pair{2, 63}}) {
      for (const int below : {0, 30, 200}) {  // accumulators beside and below the products, and 0
        Words a(16 * static_cast<std::size_t>(k)), b(8 * static_cast<std::size_t>(k)), c(128);
        for (std::uint32_t& code : a) code = code_within(random, each.a, least, span);
        for (std::uint32_t& code : b) code = code_within(random, each.b, least, span);
        const DType accumulator = each.accumulator;
        for (std::uint32_t& code : c) {
          code = below == 200 ? 0 : code_within(random, accumulator, 2 * least - below, 2 * span);
        }
        for (const SimdLevel level : simd_levels()) {
          CAPTURE(to_string(level));
          CHECK(count_wrong(each, rule, level, k, a, b, c) == 0);
        }
      }
    }
    ++classes;
  }
  CHECK(classes > 30);
}

TEST_CASE(
    "tiny accumulators beside products of zero keep their bits, as far as the rule has them") {
  for (const isa::MmaClass& each : isa::mma_classes()) {
    if (each.sparse || each.accumulator != isa::f32) continue;
    const MmaRule rule = *mma_rule(each);
    const int k = each.a.bits == 8 ? 32 : each.a.bits == 32 ? 8 : 16;
    if (!MmaTile::supports(rule, k)) continue;
    Words c;
    for (const std::uint32_t code : {0U, 1U, 0x3ffU, 0x400U, 0x7fffffU, 0x800000U, 0x0ccccdU,
                                     0x0cccccccU, 0x0d000001U, 0x0d7fffffU, 0x0e123456U}) {
      c.insert(c.end(), {code, code | 0x80000000U});
    }
    c.resize(128);
    const Words a(16 * static_cast<std::size_t>(k)), b(8 * static_cast<std::size_t>(k));
    for (const SimdLevel level : simd_levels())
      CHECK(count_wrong(each, rule, level, k, a, b, c) == 0);
  }
}

TEST_CASE("sums beyond 32 bits are exact too") {
  for (const std::uint32_t sign : {0U, 0x8000U}) {
    const isa::MmaClass each{{90, true}, isa::f16, isa::f16, isa::f32};
    const MmaRule rule = *mma_rule(each);
    const Words a(256, 0x3fff), b(128, 0x3fff | sign);
    Words c(128);
    for (std::size_t i = 0; i < c.size(); ++i) {
      c[i] = (0x3f000000U + static_cast<std::uint32_t>(i) * 0x00040000U) | sign << 16;
    }
    for (const SimdLevel level : simd_levels())
      CHECK(count_wrong(each, rule, level, 16, a, b, c) == 0);
  }
}

}  // namespace
}  // namespace tilevm::sim
