// Recipes of casts: equal to isa's cast for every code at every place, and as short as they should
// be.
#include <cmath>

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "backend/select/bit_candidates.h"
#include "backend/select/recipe_search.h"
#include "isa/type/arith.h"
#include "isa/type/bits.h"
#include "isa/type/number.h"
#include "tests/unit/backend/recipe_machine.h"

namespace tilevm::backend {
namespace {

constexpr isa::Target with_fp8{90, true}, without_fp8{80, false};

std::vector<isa::DType> narrow_types() {
  std::vector<isa::DType> types;
  for (const isa::DType& type : isa::all_dtypes()) {
    if (type.bits <= 8) types.push_back(type);
  }
  return types;
}

std::vector<SourceBit> random_order(int elements, int bits, unsigned seed) {
  std::vector<SourceBit> source_bits = sequential(elements, bits);
  std::shuffle(source_bits.begin(), source_bits.end(), std::mt19937(seed));
  return source_bits;
}

/// Whole bytes in any order, from two words or more, as `prmt` picks them.
std::vector<SourceBit> random_bytes(int bytes, unsigned seed) {
  std::vector<int> order(static_cast<std::size_t>(bytes));
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937(seed));
  std::vector<SourceBit> source_bits;
  for (const int byte : order) {
    for (int b = 0; b < 8; ++b) source_bits.push_back(byte * 8 + b);
  }
  return source_bits;
}

/// The cast of every code, plus a number of the type.
std::vector<std::uint64_t> cast_codes(const isa::DType& from, const isa::DType& to,
                                      const Adjustment& adjustment = {}) {
  std::vector<std::uint64_t> codes;
  const auto adjust = [&](isa::BinaryOp op, double number) {
    codes.back() = isa::apply(op, to, codes.back(), isa::encode(to, isa::number_from(number)));
  };
  for (std::uint64_t code = 0; code < std::uint64_t{1} << from.bits; ++code) {
    codes.push_back(isa::cast(from, to, code));
    if (adjustment.factor != 1) adjust(isa::BinaryOp::mul, adjustment.factor);
    if (adjustment.offset != 0) adjust(isa::BinaryOp::add, adjustment.offset);
  }
  return codes;
}

/// Every code at every element; the number of results that are not those wanted of its code.
int count_wrong(const isa::DType& from, const isa::DType& to, const BitRecipe& recipe,
                const std::vector<SourceBit>& source_bits,
                const std::vector<std::uint64_t>& wanted) {
  const std::size_t bits = from.bits, elements = source_bits.size() / bits;
  int wrong = 0;
  for (std::size_t round = 0; round < wanted.size(); ++round) {
    const auto code = [&](std::size_t i) { return (round + 37 * i) % wanted.size(); };
    std::vector<std::uint32_t> source((source_bits.size() + 31) / 32 + 1, 0xa5a5a5a5U);
    for (std::size_t k = 0; k < source_bits.size(); ++k) {
      const auto source_bit = static_cast<std::size_t>(source_bits[k]);
      const std::uint32_t bit = std::uint32_t{1} << source_bit % 32;
      const bool set = (code(k / bits) >> (k % bits) & 1) != 0;
      source[source_bit / 32] =
          set ? source[source_bit / 32] | bit : source[source_bit / 32] & ~bit;
    }
    const auto results = run_recipe(recipe, source);
    for (std::size_t i = 0; i < elements; ++i) {
      const std::size_t bit = i * to.bits;
      const std::uint64_t got = results[bit / 32] >> bit % 32 & isa::low_mask(to.bits);
      wrong += got != wanted[code(i)] ? 1 : 0;
    }
  }
  return wrong;
}

void check_order(const isa::DType& from, const isa::DType& to, const isa::Target& target,
                 const std::vector<SourceBit>& source_bits) {
  const auto form = cast_form(from, to, target);
  if (!form) return;
  INFO(to_string(from), " -> ", to_string(to), ", ", source_bits.size(), " bits");
  CHECK(count_wrong(from, to, make_recipe(*form, source_bits), source_bits, cast_codes(from, to)) ==
        0);
}

TEST_CASE("recipes give isa's casts, for every code, in every order of bits") {
  for (const isa::DType& from : narrow_types()) {
    for (const isa::DType& to : {isa::f16, isa::bf16, isa::i8, isa::u8}) {
      check_order(from, to, with_fp8, sequential(32, from.bits));
      check_order(from, to, with_fp8, sequential(7, from.bits));
      check_order(from, to, with_fp8, lane_stream(32, from.bits));
      check_order(from, to, with_fp8, random_order(8, from.bits, from.bits));
      if (from.bits == 8) check_order(from, to, with_fp8, random_bytes(16, to.bits));
    }
  }
  for (const isa::DType& to : {isa::f16, isa::bf16}) {
    check_order(isa::f8e4m3, to, without_fp8, sequential(9, 8));
    check_order(isa::f8e4m3, to, without_fp8, lane_stream(8, 8));
  }
}

/// Checks the recipe of an adjusted cast over all codes; whether there is one.
bool check_adjusted(const isa::DType& from, const isa::DType& to, const Adjustment& adjustment) {
  const auto form = cast_form(from, to, with_fp8, adjustment);
  if (!form) return false;
  INFO(to_string(from), " -> ", to_string(to), " * ", adjustment.factor, " + ", adjustment.offset);
  const std::vector<SourceBit> source_bits = lane_stream(8, from.bits);
  const BitRecipe recipe = make_recipe(*form, source_bits);
  CHECK(count_wrong(from, to, recipe, source_bits, cast_codes(from, to, adjustment)) == 0);
  return true;
}

TEST_CASE("recipes add what an Add or Sub would, and round once, or decline") {
  int made = 0;
  for (const isa::DType& from : narrow_types()) {
    for (const isa::DType& to : {isa::f16, isa::bf16}) {
      for (const double offset : {-1.0, 8.0, -128.0, 0.5, 2047.0, -60000.0, 0.0999755859375}) {
        if (from.is_float() || !isa::representable(to, isa::number_from(offset))) continue;
        made += check_adjusted(from, to, {1, offset}) ? 1 : 0;
      }
    }
  }
  CHECK(made > 100);
  CHECK(cast_form(isa::unsigned_int(4), isa::f16, with_fp8, {1, -8}).has_value());
  CHECK_FALSE(
      cast_form(isa::unsigned_int(4), isa::f16, with_fp8, {1, 0.0999755859375}).has_value());
  CHECK_FALSE(cast_form(isa::unsigned_int(4), isa::i8, with_fp8, {1, -8}).has_value());
}

TEST_CASE("sums with the power of two in whose mantissa a code stands need no arithmetic") {
  const auto arithmetic = [](const isa::DType& from, const isa::DType& to, double offset) {
    CHECK(check_adjusted(from, to, {1, offset}));
    const auto form = cast_form(from, to, with_fp8, {1, offset});
    const BitRecipe recipe = make_recipe(*form, lane_stream(8, from.bits));
    return std::count_if(recipe.steps.begin(), recipe.steps.end(), [](const RecipeStep& step) {
      return step.op == RecipeStep::Op::f16_fma || step.op == RecipeStep::Op::bf16_fma;
    });
  };
  for (int bits = 1; bits <= 8; ++bits) {
    const isa::DType type = isa::unsigned_int(bits);
    INFO(to_string(type));
    // Bit s of the mantissa: 2^(10 - s) in f16, 2^(7 - s) in bf16.
    for (int s = 0; s + bits <= 10; ++s) CHECK(arithmetic(type, isa::f16, std::exp2(10 - s)) == 0);
    for (int s = 0; s + bits <= 7; ++s) CHECK(arithmetic(type, isa::bf16, std::exp2(7 - s)) == 0);
  }
  CHECK(arithmetic(isa::signed_int(4), isa::f16, 1024 + 8) == 0);  // its code is the value + 8
  CHECK(arithmetic(isa::signed_int(4), isa::f16, 1024) > 0);
  CHECK(arithmetic(isa::unsigned_int(4), isa::f16, 8) > 0);     // too few bits for the code
  CHECK(arithmetic(isa::unsigned_int(4), isa::f16, 2048) > 0);  // one bit too many
}

TEST_CASE("recipes multiply by powers of two as a Mul would, or decline") {
  int made = 0;
  for (const isa::DType& from : narrow_types()) {
    for (const isa::DType& to : {isa::f16, isa::bf16}) {
      for (int exponent = -24; exponent <= 16; ++exponent) {
        made += check_adjusted(from, to, {std::exp2(exponent), 0}) ? 1 : 0;
      }
      for (const int exponent : {-133, -128, -120, 100, 127}) {
        if (to == isa::bf16) made += check_adjusted(from, to, {std::exp2(exponent), 0}) ? 1 : 0;
      }
    }
  }
  CHECK(made > 2000);
  CHECK_FALSE(cast_form(isa::unsigned_int(4), isa::f16, with_fp8, {std::exp2(-25), 0}).has_value());
  CHECK_FALSE(cast_form(isa::unsigned_int(4), isa::i8, with_fp8, {2, 0}).has_value());
}

TEST_CASE("which casts have recipes") {
  for (const isa::DType& from : narrow_types()) {
    INFO(to_string(from));
    if (from.is_unsigned_float()) {  // a scale, cast one by one
      CHECK_FALSE(cast_form(from, isa::f16, with_fp8).has_value());
      CHECK_FALSE(cast_form(from, isa::bf16, with_fp8).has_value());
      continue;
    }
    // More exponents than f16 has, or one that f16 means Inf by.
    const bool fits = !from.is_float() || from.exponent_bits < 5 || from == isa::f8e5m2;
    CHECK(cast_form(from, isa::f16, with_fp8).has_value() == fits);
    CHECK(cast_form(from, isa::bf16, with_fp8).has_value());
    CHECK(cast_form(from, isa::i8, with_fp8).has_value() == from.is_integer());
    CHECK_FALSE(cast_form(from, isa::f32, with_fp8).has_value());
  }
  CHECK_FALSE(cast_form(isa::f32, isa::f16, with_fp8).has_value());
}

double cost(const isa::DType& from, const isa::DType& to, const std::vector<SourceBit>& source_bits,
            double factor = 1) {
  const BitRecipe recipe = make_recipe(*cast_form(from, to, with_fp8, {factor, 0}), source_bits);
  const int elements = static_cast<int>(source_bits.size()) / from.bits;
  return static_cast<double>(recipe.cost() * recipe.repetitions) / elements;
}

TEST_CASE("instructions for an element") {
  struct Row {
    isa::DType from;
    double f16, bf16, sequential;
  };
  // bf16 has 7 bits for a field, and exact conversion of 8 bits takes two steps.
  const Row rows[] = {
      {isa::unsigned_int(1), 1.04, 1.07, 1.6}, {isa::unsigned_int(2), 1.07, 1.13, 1.7},
      {isa::unsigned_int(3), 1.22, 1.32, 1.9}, {isa::unsigned_int(4), 1.13, 1.38, 1.9},
      {isa::unsigned_int(5), 1.41, 1.66, 2.1}, {isa::unsigned_int(6), 1.57, 1.69, 2.2},
      {isa::unsigned_int(7), 1.75, 1.85, 2.4}, {isa::unsigned_int(8), 1.0, 1.5, 1.0},
      {isa::signed_int(4), 1.13, 1.38, 1.9},   {isa::signed_int(8), 1.25, 1.75, 1.25},
  };
  for (const Row& row : rows) {
    const double f16 = cost(row.from, isa::f16, lane_stream(32, row.from.bits)),
                 bf16 = cost(row.from, isa::bf16, lane_stream(32, row.from.bits)),
                 in_order = cost(row.from, isa::f16, sequential(32, row.from.bits));
    INFO(to_string(row.from), ": ", f16, " ", bf16, " ", in_order);
    CHECK(f16 <= row.f16);
    CHECK(bf16 <= row.bf16);
    CHECK(in_order <= row.sequential);
  }
}

TEST_CASE("instructions for an element that meets its exponent") {
  // Fields that stand where those of f16 do need no multiply-add: sign and magnitude, each moved.
  CHECK(cost(isa::small_float(3, 2), isa::f16, lane_stream(32, 6), 1) <= 2.63);
  CHECK(cost(isa::small_float(3, 2), isa::f16, lane_stream(32, 6), std::exp2(-12)) <= 2.13);
  CHECK(cost(isa::small_float(2, 1), isa::f16, lane_stream(32, 4), std::exp2(-14)) <= 1.88);
  // Codes as subnormal numbers: a shift and a mask.
  CHECK(cost(isa::unsigned_int(4), isa::f16, lane_stream(32, 4), std::exp2(-17)) <= 1.0);
}

TEST_CASE("orders that repeat give short recipes, used often") {
  const auto form = cast_form(isa::unsigned_int(4), isa::f16, with_fp8);
  const BitRecipe recipe = make_recipe(*form, lane_stream(64, 4));
  CHECK(recipe.repetitions == 8);
  CHECK(recipe.source_words == 1);
  CHECK(recipe.results.size() == 4);
}

TEST_CASE("bytes are gathered from any order") {
  for (unsigned seed = 0; seed < 20; ++seed) {
    const std::vector<SourceBit> source_bits = random_bytes(16, seed);
    const std::vector<std::uint32_t> source = {0x03020100, 0x07060504, 0x0b0a0908, 0x0f0e0d0c};
    const auto gathered = run_recipe(gather_recipe(source_bits), source);
    for (std::size_t i = 0; i < 16; ++i) {
      REQUIRE(static_cast<SourceBit>(gathered[i / 4] >> i % 4 * 8 & 0xff) ==
              source_bits[i * 8] / 8);
    }
  }
}

/// The least cost of a word whose bits come from these, before what follows.
int least_cost(const std::vector<SourceBit>& source_bits, std::uint32_t inverted = 0) {
  WordForm form;
  form.element_bits = static_cast<int>(source_bits.size());
  form.lanes = {0};
  form.forms = {{{}, inverted}};
  for (int b = 0; b < form.element_bits; ++b) form.forms[0].positions.push_back(b);
  ShapeNumbers numbers;
  int least = 99;
  for (const Candidate& each : find_candidates(form, source_bits.data(), 1, numbers)) {
    least = std::min(least, each.cost + static_cast<int>(each.shapes.size()));
  }
  return least;
}

TEST_CASE("what it costs to gather a word") {
  std::vector<SourceBit> word = sequential(32, 1);
  CHECK(least_cost(word) == 0);     // as it is
  CHECK(least_cost(word, 1) == 1);  // one bit inverted: an exclusive or
  std::rotate(word.begin(), word.begin() + 5, word.end());
  CHECK(least_cost(word) == 1);  // rotated
  for (SourceBit& bit : word) bit = (bit + 5) % 32 + 32;
  CHECK(least_cost(word) == 1);
  std::vector<SourceBit> next = sequential(64, 1);
  CHECK(least_cost({next.begin() + 7, next.begin() + 39}) == 1);  // over two words: a funnel shift
  CHECK(least_cost({next.begin(), next.begin() + 8}) == 1);       // the low byte: a mask
  std::swap(word[3], word[17]);
  CHECK(least_cost(word) > 2);
}

TEST_CASE("bits are gathered from any order") {
  for (unsigned seed = 0; seed < 20; ++seed) {
    const int bits = 1 + static_cast<int>(seed * 13 % 150);
    const std::vector<SourceBit> source_bits = random_order(bits, 1, seed);
    std::vector<std::uint32_t> source;
    std::mt19937 random(seed);
    for (int w = 0; w * 32 < bits; ++w) source.push_back(random());
    const auto gathered = run_recipe(gather_recipe(source_bits), source);
    for (std::size_t j = 0; j < source_bits.size(); ++j) {
      const auto source_bit = static_cast<std::size_t>(source_bits[j]);
      REQUIRE((gathered[j / 32] >> j % 32 & 1) == (source[source_bit / 32] >> source_bit % 32 & 1));
    }
  }
}

}  // namespace
}  // namespace tilevm::backend
