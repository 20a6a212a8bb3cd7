// Block-scaled operands: sums small enough to be followed by hand.
#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include "isa/type/number.h"
#include "sim/mma/mma_model.h"
#include "sim/mma/mma_tile.h"

namespace tilevm::sim {
namespace {

using isa::MmaScaling;
using Codes = std::vector<std::uint64_t>;
using Scales = std::vector<std::uint8_t>;

constexpr isa::DType e2m1 = isa::small_float(2, 1);
// Codes of e2m1.
constexpr std::uint64_t half = 1, one = 2, six = 7, minus = 8;

isa::MmaRule rule_of(MmaScaling scaling, const isa::DType& operand) {
  return *isa::mma_rule(
      {{100, true}, operand, operand, isa::f32, isa::MmaFamily::tcgen05, false, scaling});
}

/// An instruction of depth 32 on e4m3.
std::uint64_t mxf8(Codes a, Codes b, std::uint64_t c, std::uint8_t a_scale, std::uint8_t b_scale) {
  a.resize(32);
  b.resize(32);
  const Scales a_scales{a_scale}, b_scales{b_scale};
  return mma_reference(rule_of(MmaScaling::mxf8f6f4, isa::f8e4m3), isa::f8e4m3, isa::f8e4m3, a, b,
                       c, {a_scales, b_scales});
}

/// An instruction of depth 64 on e2m1: the operands of four groups of 16.
struct Fp4 {
  Codes a = Codes(64), b = Codes(64);

  /// The product x * y at `place` of a group.
  Fp4& set(std::size_t group, std::size_t place, std::uint64_t x, std::uint64_t y) {
    a[group * 16 + place] = x;
    b[group * 16 + place] = y;
    return *this;
  }

  [[nodiscard]] std::uint64_t run(MmaScaling scaling, std::uint64_t c, const Scales& a_scales,
                                  const Scales& b_scales) const {
    return mma_reference(rule_of(scaling, e2m1), e2m1, e2m1, a, b, c, {a_scales, b_scales});
  }

  /// With ue8m0 for each group, and scales of b that are 1.
  [[nodiscard]] std::uint64_t run(std::uint64_t c, const Scales& scales) const {
    return run(MmaScaling::mxf4nvf4_ue8m0, c, scales, Scales(4, 127));
  }
};

constexpr std::uint8_t ue8m0(int exponent) { return static_cast<std::uint8_t>(127 + exponent); }

TEST_CASE("the scales of mxf8f6f4 add to the exponent of each product") {
  const Codes ones{0x38}, two{0x38, 0xb8}, x{0x38, 0x38};
  CHECK(mxf8(ones, ones, 0, ue8m0(0), ue8m0(0)) == 0x3f800000);
  CHECK(mxf8(ones, ones, 0, ue8m0(3), ue8m0(-1)) == 0x40800000);
  CHECK(mxf8(ones, ones, 0, ue8m0(-127), ue8m0(-22)) == 0x00000001);
  CHECK(mxf8(ones, ones, 0, ue8m0(-127), ue8m0(-127)) == 0);
  CHECK(mxf8(ones, ones, 0, ue8m0(127), ue8m0(127)) == 0x7f800000);
  CHECK(mxf8(ones, ones, 0xff800000, ue8m0(127), ue8m0(127)) == 0xff800000);
  // 2^e - 2^e + 1: the accumulator lies on the last bit for e = 25.
  CHECK(mxf8(two, x, 0x3f800000, ue8m0(20), ue8m0(5)) == 0x3f800000);
  CHECK(mxf8(two, x, 0x3f800000, ue8m0(20), ue8m0(6)) == 0);
  // Zeros do not count, whatever their scales.
  CHECK(mxf8({0}, {0}, 0x3f800000, ue8m0(127), ue8m0(127)) == 0x3f800000);
}

TEST_CASE("a scale that is NaN makes the result NaN") {
  CHECK(mxf8({0x38}, {0x38}, 0, 0xff, ue8m0(0)) == 0x7fffffff);
  CHECK(mxf8({0}, {0}, 0, ue8m0(0), 0xff) == 0x7fffffff);
  const Fp4 zero;
  for (const std::size_t group : {0, 3}) {
    Scales scales(4, ue8m0(0));
    scales[group] = 0xff;
    CHECK(zero.run(0, scales) == 0x7fffffff);
    // The sign of ue4m3 does not count.
    for (const std::uint8_t nan : {0x7f, 0xff}) {
      scales.assign(4, 0x38);
      scales[group] = nan;
      CHECK(zero.run(MmaScaling::mxf4nvf4_ue4m3, 0, Scales(4, 0x38), scales) == 0x7fffffff);
    }
  }
  CHECK(zero.run(0x7f800001, Scales(4, ue8m0(0))) == 0x7fffffff);
  CHECK(zero.run(0xff800000, Scales(4, ue8m0(0))) == 0xff800000);
}

TEST_CASE("the sum of 64 products of f4e2m1") {
  Fp4 all;
  for (std::size_t k = 0; k < 64; ++k) all.set(k / 16, k % 16, six, six);
  // 64 * 36 = 2304 = 1.125 * 2^11
  CHECK(all.run(MmaScaling::mxf4, 0, Scales(2, 127), Scales(2, 127)) == 0x45100000);
  CHECK(all.run(0, Scales(4, 127)) == 0x45100000);
  CHECK(all.run(MmaScaling::mxf4nvf4_ue4m3, 0, Scales(4, 0x38), Scales(4, 0x38)) == 0x45100000);
  // times 15/8 * 15/8 = 8100 = 8192 - 92
  CHECK(all.run(MmaScaling::mxf4nvf4_ue4m3, 0, Scales(4, 0x3f), Scales(4, 0x3f)) == 0x45fd2000);
  // mxf4: a scale for each two groups. 2 * 576 + 4 * 2 * 576 = 5760 = 1.40625 * 2^12
  CHECK(all.run(MmaScaling::mxf4, 0, {127, 129}, Scales(2, 127)) == 0x45b40000);
}

TEST_CASE("a group of 16 is summed exactly, and is aligned by its scales alone") {
  // 36 - 36 + 1/4 in one group
  CHECK(Fp4()
            .set(0, 0, six, six)
            .set(0, 15, six | minus, six)
            .set(0, 7, half, half)
            .run(0, Scales(4, 127)) == 0x3e800000);
  // 2^40 - 2^40 + 2^e / 4 in three groups: the last bit is 2^5.
  const Fp4 three = Fp4().set(0, 3, one, one).set(1, 5, one, one | minus).set(2, 0, half, half);
  CHECK(three.run(0, {ue8m0(40), ue8m0(40), ue8m0(7), 0}) == 0x42000000);
  CHECK(three.run(0, {ue8m0(40), ue8m0(40), ue8m0(6), 0}) == 0);
  // A case with 36 * 2^40: a large sum does not move the last bit.
  const Fp4 large = Fp4().set(0, 3, six, six).set(1, 5, six, six | minus).set(2, 0, half, half);
  CHECK(large.run(0, {ue8m0(40), ue8m0(40), ue8m0(7), 0}) == 0x42000000);
}

TEST_CASE("a group that is zero counts for alignment, one with a zero scale does not") {
  const Fp4 zero;
  CHECK(zero.run(0x41800000, {ue8m0(39), 0, 0, 0}) == 0x41800000);  // 16 on the last bit, 2^4
  CHECK(zero.run(0x41800000, {ue8m0(40), 0, 0, 0}) == 0);
  // c = 2^-29 with 448 * 448: exponent 16, the last bit is 2^-19. With a scale of zero it stays.
  const Scales largest(4, 0x7e), none(4, 0x80);
  CHECK(zero.run(MmaScaling::mxf4nvf4_ue4m3, 0x31000000, largest, largest) == 0);
  CHECK(zero.run(MmaScaling::mxf4nvf4_ue4m3, 0x31000000, largest, none) == 0x31000000);
}

TEST_CASE("subnormal scales of ue4m3 have the least exponent") {
  const Fp4 each = Fp4().set(0, 0, one, one);
  const auto run = [&](std::uint64_t c, std::uint8_t a_scale, std::uint8_t b_scale) {
    return each.run(MmaScaling::mxf4nvf4_ue4m3, c, {a_scale, 0, 0, 0}, {b_scale, 0, 0, 0});
  };
  CHECK(run(0, 0x01, 0x38) == 0x3b000000);  // 2^-9
  CHECK(run(0, 0x81, 0x81) == 0x36800000);  // 2^-18, signs ignored
  // 2^-9 - 2^-9 + ..: exponent -6, so that 2^-41 is the last bit of c.
  const Fp4 both = Fp4().set(0, 0, one, one).set(0, 1, one | minus, one);
  const auto rest = [&](std::uint64_t c) {
    return both.run(MmaScaling::mxf4nvf4_ue4m3, c, {0x01, 0, 0, 0}, {0x38, 0, 0, 0});
  };
  CHECK(rest(0x2b000000) == 0x2b000000);  // 2^-41
  CHECK(rest(0x2a800000) == 0);
}

TEST_CASE("results are truncated toward zero") {
  Fp4 each;
  each.set(0, 0, one, one).set(0, 1, one, half).set(3, 0, half, half);
  CHECK(each.run(0x4b800000, Scales(4, 127)) == 0x4b800000);  // 2^24 + 1.75
  CHECK(each.run(0xcb800000, Scales(4, 127)) == 0xcb7ffffe);  // -2^24 + 1.75
}

TEST_CASE("the kernel leaves scales to the model") {
  CHECK(!MmaTile::supports(rule_of(MmaScaling::mxf8f6f4, isa::f8e4m3), 32));
  CHECK(!MmaTile::supports(rule_of(MmaScaling::mxf4, e2m1), 32));
}

}  // namespace
}  // namespace tilevm::sim
