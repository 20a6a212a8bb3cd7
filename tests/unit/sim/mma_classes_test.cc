// Every class of tensor-core instructions that has a rule: the model against sums in doubles, which
// hold each term and each sum exactly, and the kernel against the model.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "isa/type/number.h"
#include "sim/mma/mma_model.h"
#include "sim/mma/mma_tile.h"
#include "vm/fidelity/random_operands.h"

namespace tilevm::sim {
namespace {

using isa::DType;
using isa::MmaClass;
using isa::MmaMethod;
using isa::MmaRounding;
using isa::MmaRule;
using isa::MmaScaling;
using Codes = std::vector<std::uint64_t>;

using vm::fidelity::Random;
using vm::fidelity::random_codes;
using vm::fidelity::random_spreads;
using vm::fidelity::Spreads;

/// One output of one instruction.
struct Operands {
  Codes a, b;
  std::uint64_t c = 0;
  std::vector<std::uint8_t> a_scales, b_scales;
};

double value_of(const DType& type, std::uint64_t code) {
  return isa::to_double(isa::decode(type, code));
}

/// The exponent of a value that is not zero: where its leading bit stands, but not below the least
/// exponent.
int exponent_of(const DType& type, double value) {
  return std::max(std::ilogb(value), 1 - type.bias());
}

double scale_value(MmaScaling scaling, std::uint8_t code) {
  const bool is_ue4m3 = scaling == MmaScaling::mxf4nvf4_ue4m3;
  return is_ue4m3 ? std::fabs(value_of(isa::f8e4m3, code)) : std::ldexp(1.0, code - 127);
}

/// What is added, and the exponent that counts for its alignment.
using Term = std::pair<double, int>;

double aligned_sum(const MmaRule& rule, const std::vector<Term>& terms) {
  int greatest = rule.min_exponent;
  for (const auto& [value, exponent] : terms) greatest = std::max(greatest, exponent);
  double sum = 0;
  for (const auto& [value, exponent] : terms) {
    sum += std::trunc(std::ldexp(value, rule.fraction_bits - greatest));
  }
  return std::ldexp(sum, greatest - rule.fraction_bits);
}

std::uint64_t rounded(MmaRounding output, double value) {
  if (output == MmaRounding::f16_nearest_even) {
    const std::uint64_t code = isa::encode(isa::f16, isa::number_from(value));
    return code == 0x8000 ? 0 : code;
  }
  auto nearest = static_cast<float>(value);
  if (std::fabs(static_cast<double>(nearest)) > std::fabs(value) && std::fabs(value) < 0x1p128) {
    nearest = std::nextafter(nearest, 0.0F);
  }
  auto code = std::bit_cast<std::uint32_t>(nearest);
  if (output == MmaRounding::e8m13_toward_zero) code &= ~0x3ffu;
  return code == 0x80000000 ? 0 : code;
}

DType accumulator_of(const MmaRule& rule) {
  return rule.output == MmaRounding::f16_nearest_even ? isa::f16 : isa::f32;
}

void add_accumulator(const MmaRule& rule, std::uint64_t c, std::vector<Term>& terms) {
  const DType type = accumulator_of(rule);
  const double value = value_of(type, c);
  if (value != 0) terms.emplace_back(value, exponent_of(type, value));
}

/// One block of the products at `places`; the types are those whose exponents count.
std::uint64_t block_of_products(const MmaRule& rule, const DType& a_type, const DType& b_type,
                                const std::vector<double>& a, const std::vector<double>& b,
                                std::span<const std::size_t> places, std::uint64_t c,
                                int scale_exponent) {
  std::vector<Term> terms;
  for (const std::size_t k : places) {
    if (a[k] == 0 || b[k] == 0) continue;
    terms.emplace_back(std::ldexp(a[k] * b[k], scale_exponent),
                       exponent_of(a_type, a[k]) + exponent_of(b_type, b[k]) + scale_exponent);
  }
  add_accumulator(rule, c, terms);
  return rounded(rule.output, aligned_sum(rule, terms));
}

std::uint64_t block_of_groups(const MmaRule& rule, const std::vector<double>& a,
                              const std::vector<double>& b, const Operands& in) {
  const auto per_scale = static_cast<std::size_t>(isa::products_per_scale(rule.scaling));
  const int least = rule.scaling == MmaScaling::mxf4nvf4_ue4m3 ? -6 : -127;
  std::vector<Term> terms;
  for (std::size_t group = 0; group < a.size(); group += 16) {
    const double x = scale_value(rule.scaling, in.a_scales[group / per_scale]);
    const double y = scale_value(rule.scaling, in.b_scales[group / per_scale]);
    if (x == 0 || y == 0) continue;
    double sum = 0;
    for (std::size_t k = group; k < group + 16; ++k) sum += a[k] * b[k];
    terms.emplace_back(sum * x * y,
                       std::max(std::ilogb(x), least) + std::max(std::ilogb(y), least));
  }
  add_accumulator(rule, in.c, terms);
  return rounded(rule.output, aligned_sum(rule, terms));
}

std::vector<double> values_of(const DType& type, const Codes& codes) {
  std::vector<double> values;
  for (const std::uint64_t code : codes) values.push_back(value_of(type, code));
  return values;
}

std::uint64_t split_sum(const MmaRule& rule, const std::vector<double>& a,
                        const std::vector<double>& b, std::uint64_t c) {
  std::uint64_t sum = 0;
  for (const std::size_t half : {0, 1}) {
    std::vector<std::size_t> places;
    for (std::size_t k = 0; k < a.size(); ++k) {
      if (k % 4 / 2 == half) places.push_back(k);
    }
    sum = block_of_products(rule, isa::f16, isa::f16, a, b, places, sum, 0);
  }
  const DType type = accumulator_of(rule);
  return isa::encode(type, isa::number_from(value_of(type, c) + value_of(type, sum)));
}

/// What the instruction gives for finite operands.
std::uint64_t expected(const MmaClass& each, const MmaRule& rule, const Operands& in) {
  const std::vector<double> a = values_of(each.a, in.a), b = values_of(each.b, in.b);
  if (rule.method == MmaMethod::fp8_split) return split_sum(rule, a, b, in.c);
  if (rule.group != 0) return block_of_groups(rule, a, b, in);
  const int scale = in.a_scales.empty() ? 0 : in.a_scales[0] + in.b_scales[0] - 254;
  std::uint64_t c = in.c;
  std::vector<std::size_t> places;
  for (std::size_t k = 0; k < a.size(); ++k) {
    places.push_back(k);
    if (places.size() < static_cast<std::size_t>(rule.block) && k + 1 < a.size()) continue;
    c = block_of_products(rule, each.a, each.b, a, b, places, c, scale);
    places.clear();
  }
  return c;
}

std::uint8_t random_scale(Random& random, MmaScaling scaling) {
  if (scaling == MmaScaling::mxf4nvf4_ue4m3) {
    const int code = random.below(128);
    return static_cast<std::uint8_t>((code == 127 ? 0 : code) | random.below(2) << 7);
  }
  const int near_one = 117 + random.below(21);
  return static_cast<std::uint8_t>(random.one_in(8) ? random.below(255) : near_one);
}

/// Lets the first products cancel: those that count most if the others are small.
void cancel(const MmaClass& each, const MmaRule& rule, Operands& in) {
  const auto per_scale = static_cast<std::size_t>(isa::products_per_scale(rule.scaling));
  const bool is_grouped = rule.group != 0;
  const std::size_t count = is_grouped ? per_scale : 1;
  const std::size_t other = rule.method == MmaMethod::fp8_split ? 4 : count;
  for (std::size_t k = 0; k < count; ++k) {
    in.a[other + k] = in.a[k];
    in.b[other + k] = in.b[k] ^ std::uint64_t{1} << (each.b.bits - 1);
  }
  if (!is_grouped) return;
  in.a_scales[1] = in.a_scales[0];
  in.b_scales[1] = in.b_scales[0];
}

/// Places products and accumulator around the exponent that alignment does not fall below.
void lower(const MmaClass& each, const MmaRule& rule, Random& random, Spreads& spreads) {
  const int sum = rule.min_exponent + each.a.bias() + each.b.bias() - random.below(8);
  spreads.a.center = std::max(1, sum / 2);
  spreads.b.center = std::max(1, sum - spreads.a.center);
  spreads.a.spread = spreads.b.spread = 1 + random.below(12);
}

Operands random_operands(Random& random, const MmaClass& each, const MmaRule& rule, int k) {
  Spreads spreads = random_spreads(random, each.a, each.b, each.accumulator);
  spreads.a.special = spreads.b.special = spreads.c.special = 0;
  const bool is_low = random.one_in(3);
  if (is_low) lower(each, rule, random, spreads);
  const auto depth = static_cast<std::size_t>(k);
  Operands in{random_codes(random, each.a, depth, spreads.a),
              random_codes(random, each.b, depth, spreads.b),
              random_codes(random, each.accumulator, 1, spreads.c)[0],
              {},
              {}};
  const int per_scale = isa::products_per_scale(rule.scaling);
  for (int i = 0; per_scale != 0 && i < k; i += per_scale) {
    in.a_scales.push_back(random_scale(random, rule.scaling));
    in.b_scales.push_back(random_scale(random, rule.scaling));
  }
  if (is_low || random.one_in(4)) in.c = 0;
  if (random.one_in(2)) cancel(each, rule, in);
  return in;
}

std::string name_of(const MmaClass& each) {
  return instruction_name(each) + " " + to_string(each.target) + " " + to_string(each.a) + " " +
         to_string(each.b) + " " + to_string(each.accumulator);
}

/// The classes that round.
std::vector<std::pair<MmaClass, MmaRule>> float_classes() {
  std::vector<std::pair<MmaClass, MmaRule>> classes;
  for (const MmaClass& each : isa::mma_classes()) {
    const MmaRule rule = *mma_rule(each);
    if (rule.output != MmaRounding::none) classes.emplace_back(each, rule);
  }
  return classes;
}

TEST_CASE("the model equals sums in doubles for every class") {
  Random random(1);
  for (const auto& [each, rule] : float_classes()) {
    const int k = rule.scaling == MmaScaling::none ? 2 * rule.block : rule.block;
    int wrong = 0;
    for (int i = 0; i < 200; ++i) {
      const Operands in = random_operands(random, each, rule, k);
      wrong += mma_reference(rule, each.a, each.b, in.a, in.b, in.c, {in.a_scales, in.b_scales}) !=
               expected(each, rule, in);
    }
    CAPTURE(name_of(each));
    CHECK(wrong == 0);
  }
}

/// 2^exponent as a product, or the negative of it.
struct Power {
  int exponent;
  bool negative = false;
};

std::uint64_t power(const DType& type, int exponent) {
  return isa::encode(type, isa::number_from(std::ldexp(1.0, exponent)));
}

std::uint64_t sum_powers(const MmaClass& each, const MmaRule& rule,
                         std::initializer_list<Power> terms, std::uint64_t c) {
  Codes a, b;
  for (const Power& term : terms) {
    const int half = term.exponent / 2;
    const std::uint64_t sign = std::uint64_t{term.negative} << (each.a.bits - 1);
    a.push_back(power(each.a, half) | sign);
    b.push_back(power(each.b, term.exponent - half));
  }
  return mma_reference(rule, each.a, each.b, a, b, c);
}

/// The classes whose operands reach far below their result's last bit.
std::vector<std::pair<MmaClass, MmaRule>> wide_classes() {
  std::vector<std::pair<MmaClass, MmaRule>> classes = float_classes();
  std::erase_if(classes, [](const auto& each) { return each.first.a.bits < 16; });
  return classes;
}

TEST_CASE("the last bit that alignment keeps") {
  for (const auto& [each, rule] : wide_classes()) {
    const int last = -rule.fraction_bits;
    const std::uint64_t one = power(each.accumulator, 0);
    CAPTURE(name_of(each));
    if (each.accumulator == isa::f16) {
      // Half a unit behind 1, which the last bit breaks upward.
      CHECK(sum_powers(each, rule, {{-11}, {last}}, one) == one + 1);
      CHECK(sum_powers(each, rule, {{-11}, {last - 1}}, one) == one);
    } else {
      CHECK(sum_powers(each, rule, {{0, true}, {last}}, one) == power(isa::f32, last));
      CHECK(sum_powers(each, rule, {{0, true}, {last - 1}}, one) == 0);
    }
  }
}

TEST_CASE("the last bit that the floor of alignment keeps") {
  for (const auto& [each, rule] : wide_classes()) {
    const int last = rule.min_exponent - rule.fraction_bits;
    CAPTURE(name_of(each));
    if (each.accumulator == isa::f16) {
      CHECK(sum_powers(each, rule, {{-25}, {last}}, 0) == 1);
      CHECK(sum_powers(each, rule, {{-25}, {last - 1}}, 0) == 0);
    } else if (each.a != isa::f16) {
      CHECK(sum_powers(each, rule, {{-149}, {last, true}}, 0) == 0);
      CHECK(sum_powers(each, rule, {{-149}, {last - 1, true}}, 0) == 1);
    }
  }
}

/// One tile: how many outputs of the kernel's levels are not the model's.
int count_wrong(const MmaClass& each, const MmaRule& rule, const Codes& a, const Codes& b,
                const Codes& c) {
  const std::size_t depth = a.size() / 16;
  Codes wanted;
  for (std::size_t i = 0; i < c.size(); ++i) {
    Codes row, column;
    for (std::size_t at = 0; at < depth; ++at) {
      row.push_back(a[at * 16 + i % 16]);
      column.push_back(b[i / 16 * depth + at]);
    }
    wanted.push_back(mma_reference(rule, each.a, each.b, row, column, c[i]));
  }
  const std::vector<std::uint32_t> a_tile(a.begin(), a.end()), b_tile(b.begin(), b.end());
  int wrong = 0;
  for (const SimdLevel level : simd_levels()) {
    const MmaTile tile(rule, each.a, each.b, static_cast<int>(depth), level);
    MmaOperandA operand_a;
    MmaOperandB operand_b;
    tile.load_a(a_tile.data(), operand_a);
    tile.load_b(b_tile.data(), static_cast<int>(c.size() / 16), operand_b);
    std::vector<std::uint32_t> d(c.begin(), c.end());
    tile.multiply(operand_a, operand_b, d.data(), d.data());
    for (std::size_t i = 0; i < d.size(); ++i) wrong += d[i] != wanted[i];
  }
  return wrong;
}

int count_wrong(Random& random, const MmaClass& each, const MmaRule& rule, std::size_t k,
                std::size_t columns) {
  const Spreads spreads = random_spreads(random, each.a, each.b, each.accumulator);
  return count_wrong(each, rule, random_codes(random, each.a, 16 * k, spreads.a),
                     random_codes(random, each.b, columns * k, spreads.b),
                     random_codes(random, each.accumulator, columns * 16, spreads.c));
}

/// The greatest accumulator with the exponent of the product of the greatest operands.
std::uint64_t largest_beside_products(const MmaClass& each) {
  const double a = value_of(each.a, max_code(each.a)), b = value_of(each.b, max_code(each.b));
  return power(each.accumulator, std::ilogb(a) + std::ilogb(b) + 1) - 1;
}

TEST_CASE("every level of the kernel equals the model for every class that it takes") {
  Random random(2);
  for (const auto& [each, rule] : float_classes()) {
    CAPTURE(name_of(each));
    CHECK(MmaTile::supports(rule, rule.block) == (rule.scaling == MmaScaling::none));
    int wrong = 0;
    for (std::size_t k = 1; k <= 32; ++k) {
      if (!MmaTile::supports(rule, static_cast<int>(k))) continue;
      wrong += count_wrong(random, each, rule, k, 1 + k % 8);
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("the main instructions equal the model on a hundred thousand outputs") {
  for (const int sm : {80, 90}) {
    for (const DType& type : {isa::f16, isa::bf16}) {
      const MmaClass each{{sm, false}, type, type, isa::f32};
      Random random(static_cast<std::uint64_t>(sm));
      int wrong = 0;
      for (int i = 0; i < 200; ++i) wrong += count_wrong(random, each, *mma_rule(each), 16, 8);
      CAPTURE(name_of(each));
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("the kernel has room for the sum of the greatest products") {
  for (const auto& [each, rule] : float_classes()) {
    if (!MmaTile::supports(rule, 32)) continue;
    for (const std::uint64_t minus : {0, 1}) {
      const Codes a(512, max_code(each.a) | minus << (each.a.bits - 1));
      const std::uint64_t c = largest_beside_products(each) | minus << (each.accumulator.bits - 1);
      CAPTURE(name_of(each));
      CHECK(count_wrong(each, rule, a, Codes(96, max_code(each.b)), Codes(48, c)) == 0);
    }
  }
}

}  // namespace
}  // namespace tilevm::sim
