#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <bit>
#include <cmath>
#include <vector>

#include "isa/type/arith.h"
#include "isa/type/number.h"
#include "sim/mma/mma_model.h"
#include "sim/mma/mma_tile.h"
#include "tests/unit/sim/mma_probes.h"

namespace tilevm::sim {
namespace {

using isa::DType;
using isa::MmaRule;
using probes::Kind;
using Codes = std::vector<std::uint64_t>;

constexpr isa::Target sm_90{90, false};

struct Instruction {
  isa::MmaClass type;
  int k;

  [[nodiscard]] MmaRule rule() const { return *mma_rule(type); }
};

Instruction instruction_of(Kind kind) {
  const auto same = [](const DType& operand, const DType& accumulator, int k,
                       isa::MmaFamily family) -> Instruction {
    return {{sm_90, operand, operand, accumulator, family}, k};
  };
  constexpr auto mma = isa::MmaFamily::mma, wgmma = isa::MmaFamily::wgmma;
  switch (kind) {
    case Kind::mma_f16_f32:
      return same(isa::f16, isa::f32, 16, mma);
    case Kind::mma_f16k8_f32:
      return same(isa::f16, isa::f32, 8, mma);
    case Kind::mma_bf16_f32:
      return same(isa::bf16, isa::f32, 16, mma);
    case Kind::mma_f16_f16:
      return same(isa::f16, isa::f16, 16, mma);
    case Kind::mma_tf32k8_f32:
      return same(isa::tf32, isa::f32, 8, mma);
    case Kind::mma_e4m3_f32:
      return same(isa::f8e4m3, isa::f32, 32, mma);
    case Kind::mma_e4m3_f16:
      return same(isa::f8e4m3, isa::f16, 32, mma);
    case Kind::mma_e5m2_f32:
      return same(isa::f8e5m2, isa::f32, 32, mma);
    case Kind::wg_f16_f32:
      return same(isa::f16, isa::f32, 16, wgmma);
    case Kind::wg_f16_f16:
      return same(isa::f16, isa::f16, 16, wgmma);
    case Kind::wg_bf16_f32:
      return same(isa::bf16, isa::f32, 16, wgmma);
    case Kind::wg_tf32_f32:
      return same(isa::tf32, isa::f32, 8, wgmma);
    case Kind::wg_e4m3_f32:
      return same(isa::f8e4m3, isa::f32, 32, wgmma);
    case Kind::wg_e4m3_f16:
      return same(isa::f8e4m3, isa::f16, 32, wgmma);
    case Kind::wg_e5m2_f32:
      return same(isa::f8e5m2, isa::f32, 32, wgmma);
    case Kind::wg_e5m2_f16:
      return same(isa::f8e5m2, isa::f16, 32, wgmma);
    case Kind::sp_f16_f32:
      break;
  }
  return {{sm_90, isa::f16, isa::f16, isa::f32, mma, true}, 16};
}

/// The operands of a probe along k.
void expand(const probes::Probe& probe, int k, Codes& a, Codes& b) {
  a.assign(static_cast<std::size_t>(k), 0);
  b = a;
  for (const probes::Terms& t : probe.terms) {
    for (int i = t.first; i <= t.last; ++i) {
      a[static_cast<std::size_t>(i)] = t.a;
      b[static_cast<std::size_t>(i)] = t.b;
    }
  }
}

TEST_CASE("the model gives what an H200 gives on every probe") {
  Codes a, b;
  for (const probes::Probe& probe : probes::all()) {
    const Instruction each = instruction_of(probe.kind);
    expand(probe, each.k, a, b);
    CAPTURE(probe.name);
    CHECK(mma_reference(each.rule(), each.type.a, each.type.b, a, b, probe.c) == probe.result);
  }
  CHECK(probes::all().size() == 101);  // T01 .. T97, SP1 .. SP4
}

TEST_CASE("the kernel gives what an H200 gives on every probe, in every row and column") {
  Codes a, b;
  for (const SimdLevel level : simd_levels()) {
    for (const probes::Probe& probe : probes::all()) {
      const Instruction each = instruction_of(probe.kind);
      expand(probe, each.k, a, b);
      std::vector<std::uint32_t> a_tile, b_tile;
      for (const std::uint64_t code : a) {
        a_tile.insert(a_tile.end(), 16, static_cast<std::uint32_t>(code));
      }
      for (int n = 0; n < 8; ++n) b_tile.insert(b_tile.end(), b.begin(), b.end());
      std::vector<std::uint32_t> d(128, probe.c);
      const MmaTile tile(each.rule(), each.type.a, each.type.b, each.k, level);
      MmaOperandA operand_a;
      MmaOperandB operand_b;
      tile.load_a(a_tile.data(), operand_a);
      tile.load_b(b_tile.data(), 8, operand_b);
      tile.multiply(operand_a, operand_b, d.data(), d.data());
      CAPTURE(probe.name);
      CAPTURE(to_string(level));
      CHECK(d == std::vector<std::uint32_t>(128, probe.result));
    }
  }
}

MmaRule rule(int sm, const DType& operand, const DType& accumulator) {
  return *mma_rule({sm, false}, operand, operand, accumulator);
}

TEST_CASE("an sm_80 cuts an instruction of 16 into two blocks of 8") {
  // 2^24 - 2^24 + 2^-2: the small term survives only in a block of its own.
  Codes a(16, 0), b(16, 0);
  a[0] = 0x6c00, b[0] = 0x6c00, a[1] = 0xec00, b[1] = 0x6c00, a[8] = 0x3800, b[8] = 0x3800;
  CHECK(mma_reference(rule(90, isa::f16, isa::f32), isa::f16, isa::f16, a, b, 0) == 0);
  CHECK(mma_reference(rule(80, isa::f16, isa::f32), isa::f16, isa::f16, a, b, 0) == 0x3e800000);
}

TEST_CASE("an sm_80 keeps 24 fraction bits, an sm_90 25") {
  // 1 - 1 + 2^-25, and the same with 2^-24.
  for (const auto& [small, on_80, on_90] :
       {std::array<std::uint32_t, 3>{0x0c00, 0, 0x33000000},
        std::array<std::uint32_t, 3>{0x1000, 0x33800000, 0x33800000}}) {
    const Codes a{0xbc00, 0x0800}, b{0x3c00, small};
    CHECK(mma_reference(rule(80, isa::f16, isa::f32), isa::f16, isa::f16, a, b, 0x3f800000) ==
          on_80);
    CHECK(mma_reference(rule(90, isa::f16, isa::f32), isa::f16, isa::f16, a, b, 0x3f800000) ==
          on_90);
  }
}

TEST_CASE("sums without truncation are the exact ones") {
  // Integers below 2^11 with sums below 2^24 fit every class of f32 results.
  CHECK(rc::check("small integers", [] {
    const int sm = *rc::gen::element(80, 86, 89, 90, 100, 120);
    const auto values = *rc::gen::container<std::vector<int>>(32, rc::gen::inRange(-700, 701));
    Codes a, b;
    double sum = *rc::gen::inRange(-4000, 4000);
    const auto c = std::bit_cast<std::uint32_t>(static_cast<float>(sum));
    for (std::size_t k = 0; k < 16; ++k) {
      a.push_back(encode(isa::f16, isa::number_from(double(values[k]))));
      b.push_back(encode(isa::f16, isa::number_from(double(values[k + 16]))));
      sum += double(values[k]) * values[k + 16];
    }
    const auto expected = std::bit_cast<std::uint32_t>(static_cast<float>(sum));
    RC_ASSERT(
        (mma_reference(rule(sm, isa::f16, isa::f32), isa::f16, isa::f16, a, b, c) == expected));
  }));
}

TEST_CASE("integer instructions wrap modulo 2^32") {
  const MmaRule exact = *mma_rule(sm_90, isa::i8, isa::u8, isa::i32);
  CHECK(mma_reference(exact, isa::i8, isa::i8, Codes{127}, Codes{127}, 0x7fffffff) == 0x80003f00);
  CHECK(mma_reference(exact, isa::i8, isa::u8, Codes{0x80}, Codes{0xff}, 0) == 0xffff8080);
  CHECK(mma_reference(exact, isa::u8, isa::i8, Codes{0xff}, Codes{0x80}, 0x7f80) == 0);
  const DType i4 = isa::signed_int(4), u4 = isa::unsigned_int(4);
  CHECK(mma_reference(exact, i4, u4, Codes{8, 7}, Codes{15, 15}, 0) == 0xffffffff - 14);
}

TEST_CASE("f64 instructions are chains of fma, the accumulator first, in ascending k") {
  const MmaRule chain = *mma_rule(sm_90, isa::f64, isa::f64, isa::f64);
  const auto bits = [](double x) { return std::bit_cast<std::uint64_t>(x); };
  const auto run = [&](const Codes& a, double c) {
    return mma_reference(chain, isa::f64, isa::f64, a, Codes(a.size(), bits(1)), bits(c));
  };
  CHECK(run({bits(1), bits(1)}, 0x1p53) == 0x4340000000000000);
  CHECK(run({bits(0x1p53), bits(1), bits(-0x1p53)}, 0) == 0);
  CHECK(run({bits(-0x1p53), 0, 0, 0, bits(1), 0, 0, 0, 0, 0, 0, 0, bits(0x1p53)}, 0) ==
        0x3ff0000000000000);
  CHECK(run({bits(0x1p53), 0, 0, bits(1)}, -0x1p53) == 0x3ff0000000000000);
  CHECK(run({0x7ff0000000000000, 0xfff0000000000000}, 0) == 0x7fffffffffffffff);
  CHECK(mma_reference(chain, isa::f64, isa::f64, Codes{0x3ff0000000000001},
                      Codes{0x3feffffffffffffe}, bits(-1)) == 0xb970000000000000);
}

TEST_CASE("an instruction without products rounds its accumulator") {
  const MmaRule r = rule(90, isa::f16, isa::f32);
  CHECK(mma_block(r, isa::f16, isa::f16, Codes{}, Codes{}, 0x80000000) == 0);
  CHECK(mma_block(r, isa::f16, isa::f16, Codes{}, Codes{}, 0x00000001) == 1);
  CHECK(mma_block(r, isa::f16, isa::f16, Codes{}, Codes{}, 0x7f7fffff) == 0x7f7fffff);
}

TEST_CASE("fp8 on sm_90 is aligned as f16, where a subnormal of f8e4m3 is normal") {
  // 2^-9 * 2^15 twice, cancelling, and 2^-3 * 2^-15: as f16 the first ones have exponent 6, so that
  // 2^-19 is kept; with the exponent of subnormals it would be 9, and 2^-18 cut away.
  Codes a(16, 0), b(16, 0);
  a[0] = 0x01, b[0] = 0x78, a[1] = 0x81, b[1] = 0x78, a[4] = 0x20, b[4] = 0x02;
  for (const auto& [x, y, x_type, y_type] :
       {std::tuple{a, b, isa::f8e4m3, isa::f8e5m2}, {b, a, isa::f8e5m2, isa::f8e4m3}}) {
    const auto run = [&](int sm) {
      return mma_reference(*mma_rule({sm, false}, x_type, y_type, isa::f32), x_type, y_type, x, y,
                           0);
    };
    CHECK(run(90) == 0x36800000);
    CHECK(run(100) == 0x36800000);
    CHECK(run(120) == 0);
  }
}

TEST_CASE("fp8 on sm_89 keeps 13 fraction bits, on sm_120 all") {
  const DType e4m3 = isa::f8e4m3;
  const Codes one{0x38}, zero{0x00};
  CHECK(mma_reference(rule(89, e4m3, isa::f32), e4m3, e4m3, zero, one, 0x3f8003ff) == 0x3f800000);
  CHECK(mma_reference(rule(89, e4m3, isa::f32), e4m3, e4m3, zero, one, 0x3f800400) == 0x3f800400);
  CHECK(mma_reference(rule(120, e4m3, isa::f32), e4m3, e4m3, zero, one, 0x3f8003ff) == 0x3f8003ff);
  CHECK(mma_reference(rule(120, e4m3, isa::f32), e4m3, e4m3, one, one, 0x3f800003) == 0x40000001);
  CHECK(mma_reference(rule(90, e4m3, isa::f32), e4m3, e4m3, one, one, 0x3f800003) == 0x40000002);
}

TEST_CASE("rounding of block sums") {
  using isa::MmaRounding;
  const auto f32 = [](double x) { return round_block_sum(MmaRounding::f32_toward_zero, x); };
  CHECK(f32(0x1.ffffffp127) == 0x7f7fffff);
  CHECK(f32(0x1p128) == 0x7f800000);
  CHECK(f32(-0x1p200) == 0xff800000);
  CHECK(f32(-0x1.8p-149) == 0x80000001);
  CHECK(f32(-0x1.fp-150) == 0);
  CHECK(f32(-0.0) == 0);
  const auto e8m13 = [](double x) { return round_block_sum(MmaRounding::e8m13_toward_zero, x); };
  CHECK(e8m13(0x1.ffffp0) == 0x3ffffc00);
  CHECK(e8m13(0x1.ffp-140) == 0);
  CHECK(e8m13(0x1.8p-139) == 0x400);
  CHECK(e8m13(0x1.ffffp127) == 0x7f7ffc00);
  const auto f16 = [](double x) { return round_block_sum(MmaRounding::f16_nearest_even, x); };
  CHECK(f16(65519.9) == 0x7bff);
  CHECK(f16(65520) == 0x7c00);
  CHECK(f16(-0x1p-25) == 0);
  CHECK(f16(-0x1.8p-25) == 0x8001);
}

}  // namespace
}  // namespace tilevm::sim
