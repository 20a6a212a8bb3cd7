#include <doctest/doctest.h>

#include "isa/numeric/mma_rules.h"

namespace tilevm::isa {
namespace {

constexpr DType e3m2 = small_float(3, 2), e2m1 = small_float(2, 1);

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
       {Row{70, f16, 4, 23}, Row{75, f16, 8, 24}, Row{80, f16, 8, 24}, Row{80, bf16, 8, 24},
        Row{80, tf32, 4, 24}, Row{86, f16, 8, 24}, Row{89, tf32, 4, 24}, Row{89, f8e4m3, 16, 13},
        Row{90, f16, 16, 25}, Row{90, bf16, 16, 25}, Row{90, tf32, 8, 25}, Row{90, f8e5m2, 16, 25},
        Row{100, tf32, 8, 25}, Row{100, f8e4m3, 16, 25}, Row{120, f16, 16, 25},
        Row{120, f8e4m3, 32, 25}}) {
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
  CHECK(rule(75, f16, f32).min_exponent == -132);
  CHECK(rule(70, f16, f32).min_exponent == -131);
  CHECK(rule(70, f16, f16).min_exponent == -19);
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
}

TEST_CASE("what a suffix adds, as ptxas 13.5 says (docs/reference/targets.md)") {
  const auto has = [](const Target& target, const DType& type, const DType& accumulator,
                      MmaFamily family, bool sparse, MmaScaling scaling = MmaScaling::none) {
    return mma_rule(MmaClass{target, type, type, accumulator, family, sparse, scaling}).has_value();
  };
  for (const Target& target : known_targets()) {
    CAPTURE(to_string(target));
    const bool consumer = target.sm == 120 || target.sm == 121,
               tensor_memory = target.sm >= 100 && target.sm <= 110;
    const bool suffix = has_suffix(target);
    CHECK(has(target, f8e4m3, f16, MmaFamily::mma, true) == (consumer && suffix));
    CHECK(has(target, small_float(2, 1), f32, MmaFamily::mma, false) == (consumer && suffix));
    CHECK(has(target, small_float(2, 1), f32, MmaFamily::mma, false, MmaScaling::mxf4) ==
          (consumer && suffix));
    CHECK(has(target, f16, f32, MmaFamily::wgmma, false) == (target.sm == 90));
    CHECK(has(target, f16, f32, MmaFamily::tcgen05, false) == tensor_memory);
    CHECK(has(target, i8, i32, MmaFamily::tcgen05, false) ==
          ((target.sm == 100 || target.sm == 110) && !target.family));
  }
}

TEST_CASE("the rule of an architecture of which no results are published is only claimed") {
  for (const int sm : {88, 103, 107, 110, 121}) {
    CAPTURE(sm);
    CHECK(mma_rule({sm, false}, f16, f16, f32)->evidence == Evidence::claimed);
  }
  CHECK(mma_rule({100, false}, f16, f16, f32)->evidence == Evidence::published);
}

TEST_CASE("what architectures before sm_80 have") {
  for (const int sm : {70, 75}) {
    CHECK(mma_rule({sm, false}, f16, f16, f16));
    CHECK(!mma_rule({sm, false}, bf16, bf16, f32));
    CHECK(!mma_rule({sm, false}, tf32, tf32, f32));
    CHECK(!mma_rule({sm, false}, f64, f64, f64));
    CHECK(mma_rule({sm, false}, i8, i8, i32).has_value() == (sm == 75));
    CHECK(!mma_rule(MmaClass{{sm, false}, f16, f16, f32, MmaFamily::mma, true}));
  }
  CHECK(!mma_rule({61, false}, f16, f16, f32));
}

/// The rule of the architecture that has the family.
MmaRule rule(MmaFamily family, const DType& a, const DType& b, const DType& accumulator,
             MmaScaling scaling = MmaScaling::none) {
  const int sm = family == MmaFamily::tcgen05 ? 100 : family == MmaFamily::wgmma ? 90 : 120;
  const auto found = mma_rule(MmaClass{{sm, true}, a, b, accumulator, family, false, scaling});
  REQUIRE(found);
  return *found;
}

TEST_CASE("wgmma adds as mma does, but for fp8") {
  for (const DType& type : {f16, bf16, tf32}) {
    MmaRule found = rule(MmaFamily::wgmma, type, type, f32);
    const MmaRule dense = rule(90, type, f32);
    found.source = dense.source;
    CHECK(found == dense);
  }
  const MmaRule fp8 = rule(MmaFamily::wgmma, f8e4m3, f8e5m2, f32);
  CHECK(fp8.method == MmaMethod::blocks);
  CHECK(fp8.block == 32);
  CHECK(fp8.fraction_bits == 13);
  CHECK(fp8.output == MmaRounding::e8m13_toward_zero);
  CHECK(rule(MmaFamily::wgmma, f8e4m3, f8e4m3, f16).output == MmaRounding::f16_nearest_even);
  CHECK(rule(MmaFamily::wgmma, f8e4m3, f8e4m3, f16).fraction_bits == 13);
  CHECK(rule(MmaFamily::wgmma, u1, u1, i32).method == MmaMethod::integer);
}

TEST_CASE("tcgen05, and the narrow floats of Blackwell") {
  CHECK(rule(MmaFamily::tcgen05, f16, f16, f32).block == 16);
  CHECK(rule(MmaFamily::tcgen05, tf32, tf32, f32).block == 8);
  for (const MmaFamily family : {MmaFamily::tcgen05, MmaFamily::mma}) {
    CHECK(rule(family, e2m1, f8e5m2, f16).block == 32);
    CHECK(rule(family, e3m2, e2m1, f32).fraction_bits == 25);
    const MmaRule mxf8 = rule(family, e3m2, f8e5m2, f32, MmaScaling::mxf8f6f4);
    CHECK(mxf8.method == MmaMethod::blocks);
    CHECK(mxf8.group == 0);
    CHECK(mxf8.block == 32);
    CHECK(mxf8.fraction_bits == 25);
    for (const MmaScaling scaling :
         {MmaScaling::mxf4, MmaScaling::mxf4nvf4_ue8m0, MmaScaling::mxf4nvf4_ue4m3}) {
      const MmaRule fp4 = rule(family, e2m1, e2m1, f32, scaling);
      CHECK(fp4.scaling == scaling);
      CHECK(fp4.method == MmaMethod::blocks);
      CHECK(fp4.group == 16);
      CHECK(fp4.block == 64);
      CHECK(fp4.fraction_bits == 35);
    }
  }
}

TEST_CASE("instructions that a target does not have, or of which nobody says how they add") {
  const auto has = [](const Target& target, const DType& type, const DType& accumulator,
                      MmaFamily family, bool sparse = false,
                      MmaScaling scaling = MmaScaling::none) {
    return mma_rule(MmaClass{target, type, type, accumulator, family, sparse, scaling}).has_value();
  };
  const Target sm_90{90, true}, sm_100{100, true}, sm_120{120, true};
  CHECK(has(sm_90, f16, f32, MmaFamily::wgmma));
  CHECK(!has(sm_100, f16, f32, MmaFamily::wgmma));
  CHECK(!has(sm_90, f16, f32, MmaFamily::tcgen05));
  CHECK(!has(sm_120, f16, f32, MmaFamily::tcgen05));
  CHECK(!has(sm_90, f64, f64, MmaFamily::wgmma));
  CHECK(!has(sm_90, signed_int(4), i32, MmaFamily::wgmma));
  CHECK(!has(sm_100, u1, i32, MmaFamily::tcgen05));
  CHECK(has({120, false}, f8e4m3, f32, MmaFamily::mma));
  CHECK(!has({120, false}, e2m1, f32, MmaFamily::mma));
  CHECK(!has(sm_100, e2m1, f32, MmaFamily::mma));
  CHECK(!has(sm_90, e2m1, f32, MmaFamily::wgmma));
  CHECK(!has(sm_100, e2m1, f32, MmaFamily::mma, false, MmaScaling::mxf4));
  CHECK(!has(sm_100, e2m1, f16, MmaFamily::tcgen05, false, MmaScaling::mxf4));
  CHECK(!has(sm_100, f8e4m3, f32, MmaFamily::tcgen05, false, MmaScaling::mxf4));
  CHECK(!has(sm_100, f16, f32, MmaFamily::tcgen05, false, MmaScaling::mxf8f6f4));
  CHECK(!has(sm_100, e2m1, f32, MmaFamily::tcgen05, true, MmaScaling::mxf4));
  CHECK(!has(sm_90, i8, i32, MmaFamily::wgmma, false, MmaScaling::mxf8f6f4));
  CHECK(has(sm_90, f8e4m3, f32, MmaFamily::mma, true));
  CHECK(has(sm_90, f8e4m3, f32, MmaFamily::wgmma, true));
  CHECK(has({89, false}, f8e4m3, f32, MmaFamily::mma, true));
  CHECK(!has(sm_90, u1, i32, MmaFamily::mma, true));
  CHECK(!has(sm_90, f64, f64, MmaFamily::mma, true));
}

TEST_CASE("a sparse instruction adds as the dense one of the same types does") {
  int compared = 0;
  for (MmaClass each : mma_classes()) {
    if (!each.sparse) continue;
    MmaRule sparse = *mma_rule(each);
    each.sparse = false;
    const MmaRule dense = *mma_rule(each);
    sparse.evidence = dense.evidence, sparse.source = dense.source;
    CHECK(sparse == dense);
    ++compared;
  }
  CHECK(compared > 100);
}

TEST_CASE("names of instructions") {
  const auto name = [](MmaFamily family, bool sparse, MmaScaling scaling) {
    return instruction_name({{}, f16, f16, f32, family, sparse, scaling});
  };
  CHECK(name(MmaFamily::mma, false, MmaScaling::none) == "mma");
  CHECK(name(MmaFamily::wgmma, true, MmaScaling::none) == "wgmma.sp");
  CHECK(name(MmaFamily::tcgen05, false, MmaScaling::mxf4) == "tcgen05.mma kind::mxf4");
}

TEST_CASE("what is exact by definition, measured, or taken from others") {
  CHECK(rule(80, i8, i32).evidence == Evidence::by_definition);
  CHECK(rule(90, f16, f32).evidence == Evidence::measured);
  CHECK(rule(80, f16, f32).evidence == Evidence::published);
  CHECK(rule(120, f16, f32).evidence == Evidence::claimed);
  CHECK(rule(70, f16, f32).evidence == Evidence::published);
  CHECK(rule(75, f16, f32).evidence == Evidence::claimed);
  CHECK(rule(MmaFamily::wgmma, f16, f16, f16).evidence == Evidence::measured);
  CHECK(rule(MmaFamily::tcgen05, f16, f16, f16).evidence == Evidence::claimed);
  for (const MmaClass& each : mma_classes()) {
    CAPTURE(instruction_name(each));
    CHECK(!mma_rule(each)->source.empty());
  }
}

}  // namespace
}  // namespace tilevm::isa
