// Pow against MPFR: the largest error that docs/reference/arithmetic.md promises on 2^19 pairs
// whose power is worth a look, and the special cases of IEEE 754 bit for bit on all pairs of
// special values.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <array>
#include <bit>
#include <cmath>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "sim/arithmetic/element_loops.h"
#include "tests/oracles/mpfr_support.h"
#include "tests/oracles/sampling.h"

namespace tilevm::oracles {
namespace {

constexpr std::uint32_t infinity = 0x7f800000, canonical_nan = 0x7fffffff;

struct Pair {
  std::uint32_t a, b;
};

std::vector<std::uint32_t> powers(const std::vector<Pair>& pairs) {
  std::vector<std::uint32_t> a, b, got(pairs.size());
  for (const Pair& pair : pairs) {
    a.push_back(pair.a);
    b.push_back(pair.b);
  }
  const sim::LaneLoop2 loop = sim::binary_loop(isa::BinaryOp::pow, isa::f32);
  loop(reinterpret_cast<const std::uint8_t*>(a.data()),
       reinterpret_cast<const std::uint8_t*>(b.data()), reinterpret_cast<std::uint8_t*>(got.data()),
       pairs.size());
  return got;
}

/// The distance from the power in units of the last place; infinite where a NaN, an Inf or a sign
/// is wrong.
class Judge {
 public:
  double error_of(const Pair& pair, std::uint32_t got) {
    mpfr_set_flt(a_, std::bit_cast<float>(pair.a), MPFR_RNDN);
    mpfr_set_flt(b_, std::bit_cast<float>(pair.b), MPFR_RNDN);
    mpfr_pow(exact_, a_, b_, MPFR_RNDN);
    const auto value = std::bit_cast<float>(got);
    if (mpfr_nan_p(exact_) != 0) return got == canonical_nan ? 0 : HUGE_VAL;
    if (std::isnan(value)) return HUGE_VAL;
    const bool negative = mpfr_signbit(exact_) != 0;
    if (mpfr_inf_p(exact_) != 0) {
      return got == (infinity | (negative ? 0x80000000 : 0)) ? 0 : HUGE_VAL;
    }
    if (value == 0 && std::signbit(value) != negative) return HUGE_VAL;
    return error_in_ulp(value, exact_, scratch_);
  }

 private:
  Real a_{24}, b_{24}, exact_{80}, scratch_{80};
};

/// The error that the reference promises: "errors of up to 1.1 ulp".
double promised_error() {
  std::ifstream file(TILEVM_SOURCE_DIR "/docs/reference/arithmetic.md");
  std::stringstream text;
  text << file.rdbuf();
  const std::string words = text.str(),
                    begin = "`Pow(a, b)` is a to the power of b, with errors of up to ";
  const std::size_t at = words.find(begin);
  REQUIRE(at != std::string::npos);
  return std::stod(words.substr(at + begin.size()));
}

std::uint32_t code_of(float value) { return std::bit_cast<std::uint32_t>(value); }

/// In turn: any two numbers; a base near 1 and an exponent that keeps the power finite; a result of
/// any exponent, down to the subnormals; a negative base and a small integer.
Pair random_pair(Random& random, std::uint64_t i) {
  const auto any = [&] {
    return static_cast<std::uint32_t>(stratified(random, isa::f32, random.next()));
  };
  const auto unit = [&] { return static_cast<float>(random.next() >> 40) * 0x1p-24F; };
  switch (i % 4) {
    case 0:
      return {any(), any()};
    case 1: {
      const int distance = 1 + random.below(23);
      const float base = 1 + (unit() - 0.5F) * std::ldexp(1.0F, -distance);
      const float most = 150 / std::fabs(std::log2(base == 1 ? 1.5F : base));
      return {code_of(base), code_of((2 * unit() - 1) * most)};
    }
    case 2: {
      const float base = std::ldexp(1 + unit(), random.below(253) - 126);
      const float most = 151 / std::fabs(std::log2(base) + 1e-3F);
      return {code_of(base), code_of((2 * unit() - 1) * most)};
    }
    default:
      return {any() | 0x80000000, code_of(static_cast<float>(random.below(129) - 64))};
  }
}

}  // namespace

TEST_CASE("powers are as near to MPFR as the reference says") {
  const double most = promised_error();
  const std::uint64_t count = (std::uint64_t{1} << 19) / fewer;
  std::vector<Pair> pairs;
  Random random(11);
  for (std::uint64_t i = 0; i < count; ++i) pairs.push_back(random_pair(random, i));
  const std::vector<std::uint32_t> got = powers(pairs);
  Judge judge;
  std::uint64_t wrong = 0;
  double worst = 0;
  Pair at{}, first{};
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const double error = judge.error_of(pairs[i], got[i]);
    if (!(error <= most) && wrong++ == 0) first = pairs[i];
    if (error > worst) worst = error, at = pairs[i];
  }
  mpfr_free_cache();
  CAPTURE(first.a);
  CAPTURE(first.b);
  CHECK(wrong == 0);
  CHECK(worst > 0.5);  // not every power is rounded correctly, and the sample finds one
  std::cout << fmt::format("Pow: {} pairs, at most {:.4f} ulp, of {:08x} to the {:08x}\n", count,
                           worst, at.a, at.b);
}

TEST_CASE("powers of special values are those of IEEE 754") {
  std::vector<std::uint32_t> values{0,          1,          0x007fffff, 0x00800000, 0x3effffff,
                                    0x3f000000, 0x3f7fffff, 0x3f800000, 0x3f800001, 0x3fc00000,
                                    0x40000000, 0x40400000, 0x40490fdb, 0x4b7fffff, 0x4b800000,
                                    0x4b800001, 0x4c000000, 0x7f7fffff, infinity,   canonical_nan};
  const std::size_t positive = values.size();
  for (std::size_t i = 0; i < positive; ++i) values.push_back(values[i] | 0x80000000);
  std::vector<Pair> pairs;
  for (const std::uint32_t a : values) {
    for (const std::uint32_t b : values) pairs.push_back({a, b});
  }
  const std::vector<std::uint32_t> got = powers(pairs);
  Judge judge;
  const double most = promised_error();
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    CAPTURE(pairs[i].a);
    CAPTURE(pairs[i].b);
    CAPTURE(got[i]);
    CHECK(judge.error_of(pairs[i], got[i]) <= most);
  }
  mpfr_free_cache();
}

}  // namespace tilevm::oracles
