// The vector kernel against the exact model, for every class, target and instruction set.
#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "isa/type/number.h"
#include "sim/mma_model.h"
#include "sim/mma_tile.h"
#include "vm/fidelity/random_operands.h"

namespace tilevm::sim {
namespace {

using isa::DType;
using isa::MmaRule;
using Tile = std::vector<std::uint32_t>;

using vm::fidelity::Random;
using vm::fidelity::random_code;
using vm::fidelity::random_spreads;
using vm::fidelity::Spread;
using vm::fidelity::Spreads;

Tile random_tile(Random& random, const DType& type, std::size_t count, const Spread& spread) {
  Tile tile(count);
  for (std::uint32_t& code : tile) {
    code = static_cast<std::uint32_t>(random_code(random, type, spread));
  }
  return tile;
}

std::uint64_t expected(const MmaRule& rule, const DType& a_type, const DType& b_type, int k,
                       const Tile& a, const Tile& b, std::uint32_t c, std::size_t n,
                       std::size_t m) {
  std::vector<std::uint64_t> row, column;
  const auto depth = static_cast<std::size_t>(k);
  for (std::size_t i = 0; i < depth; ++i) {
    row.push_back(a[i * 16 + m]);
    column.push_back(b[n * depth + i]);
  }
  return mma_reference(rule, a_type, b_type, row, column, c);
}

struct Class {
  DType a, b, accumulator;
  int k;
};

/// One random tile; the number of outputs in which some level differs from the model.
int count_wrong(Random& random, const MmaRule& rule, const Class& type, int columns) {
  const Spreads shape = random_spreads(random, type.a, type.b, type.accumulator);
  const auto depth = static_cast<std::size_t>(type.k);
  const auto outputs = static_cast<std::size_t>(columns) * 16;
  const Tile a = random_tile(random, type.a, depth * 16, shape.a);
  const Tile b = random_tile(random, type.b, depth * static_cast<std::size_t>(columns), shape.b);
  const Tile c = random_tile(random, type.accumulator, outputs, shape.c);
  int wrong = 0;
  Tile first;
  for (const SimdLevel level : simd_levels()) {
    const MmaTile tile(rule, type.a, type.b, type.k, level);
    MmaOperandA operand_a;
    MmaOperandB operand_b;
    tile.load_a(a.data(), operand_a);
    tile.load_b(b.data(), columns, operand_b);
    Tile d(outputs);
    tile.multiply(operand_a, operand_b, c.data(), d.data());
    if (first.empty()) first = d;
    for (std::size_t i = 0; i < outputs; ++i) wrong += d[i] != first[i];
  }
  for (std::size_t i = 0; i < outputs; ++i) {
    wrong += first[i] != expected(rule, type.a, type.b, type.k, a, b, c[i], i / 16, i % 16);
  }
  return wrong;
}

TEST_CASE("every level of the kernel equals the model on random tiles") {
  const std::vector<Class> classes{
      {isa::f16, isa::f16, isa::f32, 16},       {isa::f16, isa::f16, isa::f32, 8},
      {isa::bf16, isa::bf16, isa::f32, 16},     {isa::bf16, isa::bf16, isa::f32, 8},
      {isa::f16, isa::f16, isa::f16, 16},       {isa::tf32, isa::tf32, isa::f32, 8},
      {isa::tf32, isa::tf32, isa::f32, 4},      {isa::f8e4m3, isa::f8e4m3, isa::f32, 32},
      {isa::f8e5m2, isa::f8e4m3, isa::f32, 32}, {isa::f8e5m2, isa::f8e5m2, isa::f16, 32},
      {isa::f8e4m3, isa::f8e4m3, isa::f16, 16}};
  for (const int sm : {80, 89, 90, 120}) {
    for (const Class& type : classes) {
      const auto rule = mma_rule({sm, false}, type.a, type.b, type.accumulator);
      if (!rule) continue;
      Random random(static_cast<std::uint64_t>(sm * 100 + type.k));
      int wrong = 0;
      for (int i = 0; i < 60; ++i) wrong += count_wrong(random, *rule, type, 1 + i % 8);
      CAPTURE(sm);
      CAPTURE(to_string(type.a));
      CAPTURE(to_string(type.accumulator));
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("the main instructions equal the model on a hundred thousand outputs") {
  for (const int sm : {80, 90}) {
    for (const DType& type : {isa::f16, isa::bf16}) {
      const MmaRule rule = *mma_rule({sm, false}, type, type, isa::f32);
      Random random(static_cast<std::uint64_t>(sm));
      int wrong = 0;
      for (int i = 0; i < 200; ++i) {
        wrong += count_wrong(random, rule, {type, type, isa::f32, 16}, 8);
      }
      CAPTURE(sm);
      CAPTURE(to_string(type));
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("the random tiles meet every kind of result") {
  Random random(7);
  int nan = 0, inf = 0, zero = 0, subnormal = 0;
  const MmaRule rule = *mma_rule({90, false}, isa::bf16, isa::bf16, isa::f32);
  for (int i = 0; i < 200; ++i) {
    const Spreads shape = random_spreads(random, isa::bf16, isa::bf16, isa::f32);
    const Tile a = random_tile(random, isa::bf16, 256, shape.a);
    const Tile b = random_tile(random, isa::bf16, 128, shape.b);
    Tile d = random_tile(random, isa::f32, 128, shape.c);
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
  const Tile a(256, 0x7bff), b(128, 0x7bff);
  Tile d(128, 0);
  mma_tile(*mma_rule({90, false}, isa::f16, isa::f16, isa::f32), isa::f16, isa::f16, 8, 16,
           a.data(), b.data(), d.data(), d.data());
  CHECK(d == Tile(128, 0x517fc004));
}

TEST_CASE("rows and columns without a NaN are not touched by one elsewhere") {
  Tile a(256, 0x3c00), b(128, 0x3c00);
  a[5 * 16 + 3] = 0x7e00;  // k 5, row 3
  b[2 * 16 + 7] = 0x7c00;  // column 2, k 7
  Tile d(128, 0);
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
  CHECK(!MmaTile::supports(rule(isa::f16, isa::f32), 64));
  CHECK(!MmaTile::supports(rule(isa::i8, isa::i32), 32));
  CHECK(!MmaTile::supports(rule(isa::f64, isa::f64), 4));
}

}  // namespace
}  // namespace tilevm::sim
