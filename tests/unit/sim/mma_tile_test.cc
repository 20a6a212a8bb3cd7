// The vector kernel on whole tiles; mma_classes_test.cc compares it with the exact model.
#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

#include "sim/mma/mma_tile.h"
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
  MmaRule wider = rule(isa::f16, isa::f32);
  ++wider.fraction_bits;
  CHECK(!MmaTile::supports(wider, 16));
}

}  // namespace
}  // namespace tilevm::sim
