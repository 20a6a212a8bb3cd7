#include <doctest/doctest.h>

#include "isa/numeric/mma_rules.h"

namespace tilevm::isa {
namespace {

MmaRule rule(int sm, const DType& a, const DType& accumulator) {
  const auto found = mma_rule({sm, false}, a, a, accumulator);
  REQUIRE(found);
  return *found;
}

TEST_CASE("block length and width of the adder per target") {
  struct Row {
    int sm;
    DType operand;
    int block, fraction_bits;
  };
  for (const Row& row :
       {Row{80, f16, 8, 24}, Row{80, bf16, 8, 24}, Row{80, tf32, 4, 24}, Row{86, f16, 8, 24},
        Row{89, tf32, 4, 24}, Row{89, f8e4m3, 16, 13}, Row{90, f16, 16, 25}, Row{90, bf16, 16, 25},
        Row{90, tf32, 8, 25}, Row{90, f8e5m2, 16, 25}, Row{100, tf32, 8, 25},
        Row{100, f8e4m3, 16, 25}, Row{120, f16, 16, 25}, Row{120, f8e4m3, 32, 25}}) {
    CAPTURE(row.sm);
    CAPTURE(to_string(row.operand));
    CHECK(rule(row.sm, row.operand, f32).block == row.block);
    CHECK(rule(row.sm, row.operand, f32).fraction_bits == row.fraction_bits);
  }
}

TEST_CASE("the floor of the alignment exponent") {
  CHECK(rule(90, bf16, f32).min_exponent == -133);
  CHECK(rule(90, tf32, f32).min_exponent == -133);
  CHECK(rule(90, f16, f16).min_exponent == -21);
  CHECK(rule(80, bf16, f32).min_exponent == -132);
  CHECK(rule(80, f16, f16).min_exponent == -20);
}

TEST_CASE("rounding of results") {
  CHECK(rule(90, f16, f32).output == MmaRounding::f32_toward_zero);
  CHECK(rule(90, f16, f16).output == MmaRounding::f16_nearest_even);
  CHECK(rule(89, f8e4m3, f32).output == MmaRounding::e8m13_toward_zero);
  CHECK(rule(89, f8e4m3, f16).output == MmaRounding::f16_nearest_even);
  CHECK(rule(120, f8e4m3, f32).output == MmaRounding::f32_toward_zero);
}

TEST_CASE("fp8 is a program of f16 instructions on sm_90 and sm_100 only") {
  CHECK(!mma_rule({80, false}, f8e4m3, f8e4m3, f32));
  CHECK(!mma_rule({86, false}, f8e4m3, f8e4m3, f32));
  CHECK(rule(89, f8e4m3, f32).method == MmaMethod::blocks);
  CHECK(rule(90, f8e4m3, f32).method == MmaMethod::fp8_split);
  CHECK(rule(100, f8e5m2, f16).method == MmaMethod::fp8_split);
  CHECK(rule(120, f8e4m3, f32).method == MmaMethod::blocks);
}

TEST_CASE("operand types that may be mixed, and those that may not") {
  const Target sm_90{90, false};
  CHECK(mma_rule(sm_90, f8e4m3, f8e5m2, f32));
  CHECK(mma_rule(sm_90, i8, u8, i32));
  CHECK(mma_rule(sm_90, signed_int(4), unsigned_int(4), i32));
  CHECK(mma_rule(sm_90, u1, u1, i32));
  CHECK(!mma_rule(sm_90, signed_int(1), u1, i32));
  CHECK(!mma_rule(sm_90, i8, signed_int(4), i32));
  CHECK(!mma_rule(sm_90, f16, bf16, f32));
  CHECK(!mma_rule(sm_90, bf16, bf16, f16));
  CHECK(!mma_rule(sm_90, bf16, bf16, bf16));
  CHECK(!mma_rule(sm_90, tf32, tf32, f16));
  CHECK(!mma_rule(sm_90, f32, f32, f32));
  CHECK(!mma_rule(sm_90, i8, i8, u32));
  CHECK(!mma_rule(sm_90, small_float(3, 2), small_float(3, 2), f32));
  CHECK(!mma_rule(sm_90, bipolar(4), bipolar(4), i32));
}

TEST_CASE("the feature suffix does not change the arithmetic; every target has f16") {
  for (const Target& target : known_targets()) {
    CAPTURE(to_string(target));
    const auto found = mma_rule(target, f16, f16, f32);
    REQUIRE(found);
    CHECK(*found == *mma_rule({target.sm, false}, f16, f16, f32));
  }
  CHECK(!mma_rule({75, false}, f16, f16, f32));
}

TEST_CASE("what is exact by definition, measured, or taken from others") {
  CHECK(rule(80, i8, i32).evidence == Evidence::by_definition);
  CHECK(rule(90, f16, f32).evidence == Evidence::measured);
  CHECK(rule(80, f16, f32).evidence == Evidence::published);
  CHECK(rule(120, f16, f32).evidence == Evidence::claimed);
}

}  // namespace
}  // namespace tilevm::isa
