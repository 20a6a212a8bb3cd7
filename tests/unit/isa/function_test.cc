// The functions against the host's double precision, and their laws. With TILEVM_EXHAUSTIVE set, on
// every f32.
#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "isa/inst/elementwise.h"
#include "isa/type/arith.h"

namespace tilevm::isa {
namespace {

std::uint32_t bits(float x) { return std::bit_cast<std::uint32_t>(x); }
float value(std::uint64_t code) { return std::bit_cast<float>(static_cast<std::uint32_t>(code)); }
std::uint32_t at(UnaryOp op, std::uint32_t x) {
  return static_cast<std::uint32_t>(apply(op, f32, x));
}

struct Case {
  UnaryOp op;
  std::function<double(double)> exact;
  double most_ulp;  ///< bound that docs/reference/arithmetic.md states
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all{
      {UnaryOp::exp2, [](double x) { return std::exp2(x); }, 0.95},
      {UnaryOp::exp, [](double x) { return std::exp(x); }, 1.06},
      {UnaryOp::log2, [](double x) { return std::log2(x); }, 1.22},
      {UnaryOp::log, [](double x) { return std::log(x); }, 0.96},
      {UnaryOp::sin, [](double x) { return std::sin(x); }, 1.50},
      {UnaryOp::cos, [](double x) { return std::cos(x); }, 1.50},
      {UnaryOp::tanh, [](double x) { return std::tanh(x); }, 1.37},
      {UnaryOp::sigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }, 2.41},
      {UnaryOp::erf, [](double x) { return std::erf(x); }, 1.15},
      {UnaryOp::sqrt, [](double x) { return std::sqrt(x); }, 0.5},
      {UnaryOp::rsqrt, [](double x) { return 1 / std::sqrt(x); }, 0.5},
      {UnaryOp::rcp, [](double x) { return 1 / x; }, 0.5},
  };
  return all;
}

/// The distance of a result from the exact one in units of the last place of f32 there.
double error_in_ulp(float got, double exact) {
  constexpr double largest = 0x1.fffffep127, last_place = 0x1p104;
  if (std::isinf(got) && std::fabs(exact) > largest) return 0;
  if (std::isinf(got)) return (largest + last_place - std::fabs(exact)) / last_place;
  int exponent = 0;
  std::frexp(exact, &exponent);
  return std::fabs(got - exact) / std::ldexp(1.0, std::max(exponent - 24, -149));
}

/// Whether the result is canonical where there is none, and near the exact one else.
bool is_near(const Case& test, std::uint32_t x) {
  const std::uint32_t got = at(test.op, x);
  const double exact = test.exact(static_cast<double>(value(x)));
  if (std::isnan(exact)) return got == 0x7fffffff;
  if (std::isnan(value(got))) return false;
  if (std::isinf(exact)) return value(got) == static_cast<float>(exact);
  return error_in_ulp(value(got), exact) <= test.most_ulp + 1e-6;
}

TEST_CASE("functions are as near to the exact result as the reference says") {
  const bool everything = std::getenv("TILEVM_EXHAUSTIVE") != nullptr;
  const std::uint64_t step = everything ? 1 : 40009;
  for (const Case& test : cases()) {
    const std::string name(describe(test.op).mnemonic);
    CAPTURE(name);
    std::uint64_t wrong = 0, first = 0;
    for (std::uint64_t x = 0; x < std::uint64_t{1} << 32; x += step) {
      if (is_near(test, static_cast<std::uint32_t>(x))) continue;
      if (wrong++ == 0) first = x;
    }
    CAPTURE(first);
    CHECK(wrong == 0);
  }
}

TEST_CASE("functions at the edges") {
  constexpr std::uint32_t inf = 0x7f800000, minus = 0x80000000, nan = 0x7fffffff;
  struct Row {
    UnaryOp op;
    std::uint32_t zero, minus_zero, infinity, minus_infinity;
  };
  constexpr std::uint32_t one = 0x3f800000, half = 0x3f000000;
  for (const Row& row :
       {Row{UnaryOp::exp2, one, one, inf, 0}, Row{UnaryOp::exp, one, one, inf, 0},
        Row{UnaryOp::log2, minus | inf, minus | inf, inf, nan},
        Row{UnaryOp::log, minus | inf, minus | inf, inf, nan},
        Row{UnaryOp::sin, 0, minus, nan, nan}, Row{UnaryOp::cos, one, one, nan, nan},
        Row{UnaryOp::tanh, 0, minus, one, minus | one}, Row{UnaryOp::sigmoid, half, half, one, 0},
        Row{UnaryOp::erf, 0, minus, one, minus | one},
        Row{UnaryOp::exp2_approximate, one, one, inf, 0}, Row{UnaryOp::sqrt, 0, minus, inf, nan},
        Row{UnaryOp::rsqrt, inf, minus | inf, 0, nan},
        Row{UnaryOp::rcp, inf, minus | inf, 0, minus}}) {
    const std::string name(describe(row.op).mnemonic);
    CAPTURE(name);
    CHECK(at(row.op, 0) == row.zero);
    CHECK(at(row.op, minus) == row.minus_zero);
    CHECK(at(row.op, inf) == row.infinity);
    CHECK(at(row.op, minus | inf) == row.minus_infinity);
    for (const std::uint32_t code : {0x7f800001U, 0x7fc00000U, 0xff800001U, 0xffffffffU}) {
      CHECK(at(row.op, code) == nan);
    }
  }
  CHECK(at(UnaryOp::exp2, bits(-150.0F)) == 0);
  CHECK(at(UnaryOp::exp2, bits(-149.0F)) == 1);
  CHECK(at(UnaryOp::exp, bits(-104.0F)) == 0);
  CHECK(at(UnaryOp::exp, bits(89.0F)) == inf);
  CHECK(at(UnaryOp::log, 1) == bits(-103.278929F));
  CHECK(at(UnaryOp::sin, 1) == 1);
  CHECK(at(UnaryOp::tanh, minus | 1) == (minus | 1));
  CHECK(at(UnaryOp::rcp, 1) == inf);
  CHECK(at(UnaryOp::sqrt, minus | 1) == nan);
}

TEST_CASE("the approximate exponential has 13 bits") {
  double worst = 0;
  for (std::uint64_t x = 0; x < std::uint64_t{1} << 32; x += 40009) {
    const auto code = static_cast<std::uint32_t>(x);
    const double argument = static_cast<double>(value(code));
    const auto got = static_cast<double>(value(at(UnaryOp::exp2_approximate, code)));
    if (argument >= 128) CHECK(std::isinf(got));
    if (!(argument > -150) || argument >= 128) continue;
    const double exact = std::exp2(argument), error = std::fabs(got - exact);
    if (exact < 0x1p-126) {
      CHECK(error <= 0x1p-127);
    } else {
      worst = std::max(worst, error / exact);
    }
  }
  CHECK(worst < 1.02e-4);
  CHECK(worst > 1.0e-4);  // as docs/reference/arithmetic.md says
  for (int n = -126; n <= 127; ++n) {
    CHECK(at(UnaryOp::exp2_approximate, bits(static_cast<float>(n))) == bits(std::ldexp(1.0F, n)));
  }
}

TEST_CASE("powers are as near to the exact result as the reference says") {
  const auto power = [](float x, float y) {
    return value(apply(BinaryOp::pow, f32, bits(x), bits(y)));
  };
  std::uint32_t state = 1;
  const auto next = [&] { return state = state * 1664525 + 1013904223; };
  std::uint64_t wrong = 0;
  for (int i = 0; i < 400000; ++i) {
    float x = value(next()), y = value(next());
    if (i % 2 == 0) {  // near powers that are numbers
      x = std::ldexp(1.0F + static_cast<float>(next() >> 9) * 0x1p-23F,
                     static_cast<int>(next() % 9) - 4);
      y = static_cast<float>(static_cast<std::int32_t>(next())) * 0x1p-26F;
    }
    const long double exact = std::pow(static_cast<long double>(x), static_cast<long double>(y));
    const float got = power(x, y);
    if (std::isnan(exact) || std::isnan(got)) {
      wrong += std::isnan(exact) != std::isnan(got);
    } else if (std::isinf(exact)) {
      wrong += !std::isinf(got) || std::signbit(got) != std::signbit(exact);
    } else {
      wrong += error_in_ulp(got, static_cast<double>(exact)) > 1.1;
      wrong += got != 0 && std::signbit(got) != std::signbit(exact);
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("powers at the edges are those of IEEE 754") {
  constexpr float inf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const float x : {0.0F, -0.0F, 1.0F, -1.0F, 2.0F, -2.0F, 0.5F, -0.5F, inf, -inf, nan,
                        0x1p-149F, -0x1p-149F, 0x1.fffffep127F, -0x1.fffffep127F}) {
    for (const float y : {0.0F, -0.0F, 1.0F, -1.0F, 2.0F, -2.0F, 3.0F, -3.0F, 0.5F, -0.5F, inf,
                          -inf, nan, 0x1.fffffep23F, -0x1.fffffep23F, 0x1p24F, 0x1.fffffep22F}) {
      CAPTURE(x);
      CAPTURE(y);
      const float want = std::pow(x, y);
      const auto got = static_cast<std::uint32_t>(apply(BinaryOp::pow, f32, bits(x), bits(y)));
      const std::uint32_t code = std::isnan(want) ? 0x7fffffff : bits(want);
      const bool is_special = std::isnan(want) || std::isinf(want) || want == 0;
      CHECK((got == code || (!is_special && (got == code + 1 || got + 1 == code))));
    }
  }
  CHECK_FALSE(is_defined(BinaryOp::pow, f64));
  CHECK_FALSE(is_defined(BinaryOp::pow, i32));
  CHECK(is_defined(BinaryOp::pow, f8e4m3));
}

TEST_CASE("laws: powers of two are exact, sines and tangents odd, cosines even") {
  for (int n = -149; n <= 127; ++n) {
    const std::uint32_t power = bits(std::ldexp(1.0F, n));
    CHECK(at(UnaryOp::exp2, bits(static_cast<float>(n))) == power);
    CHECK(at(UnaryOp::log2, power) == bits(static_cast<float>(n)));
  }
  std::uint64_t wrong = 0;
  for (std::uint64_t x = 0; x < 0x7f800000; x += 99991) {
    const auto positive = static_cast<std::uint32_t>(x), negative = positive | 0x80000000;
    for (const UnaryOp op : {UnaryOp::sin, UnaryOp::tanh, UnaryOp::rcp}) {
      wrong += at(op, negative) != (at(op, positive) ^ 0x80000000);
    }
    wrong += at(UnaryOp::cos, negative) != at(UnaryOp::cos, positive);
  }
  CHECK(wrong == 0);
}

TEST_CASE("roots and reciprocals round correctly, whatever the exponent") {
  for (const Case& test : cases()) {
    if (test.most_ulp != 0.5) continue;
    std::uint64_t wrong = 0;
    for (std::uint64_t x = 1; x < 0x7f800000; x += 9973) {
      const auto code = static_cast<std::uint32_t>(x);
      wrong += at(test.op, code) != bits(static_cast<float>(test.exact(value(code))));
    }
    CHECK(wrong == 0);
  }
  CHECK(at(UnaryOp::rsqrt, 0x4009f038) == 0x3f2e6055);  // where one step of Newton fails
}

TEST_CASE("functions of other types are those of f32, rounded once more") {
  CHECK(apply(UnaryOp::exp, f16, 0x3c00) == 0x4170);   // e
  CHECK(apply(UnaryOp::exp2, f8e4m3, 0x7e) == 0x7e);   // saturates
  CHECK(apply(UnaryOp::log, bf16, 0xbf80) == 0x7fff);  // of -1
  CHECK(apply(UnaryOp::rcp, f8e5m2, 0) == 0x7b);       // Inf saturates
  CHECK(apply(UnaryOp::sqrt, f64, 0x4000000000000000) == 0x3ff6a09e667f3bcd);
  CHECK(apply(UnaryOp::rcp, f64, 0x7ff0000000000001) == 0x7fffffffffffffff);
  CHECK(is_defined(UnaryOp::exp, tf32));
  CHECK_FALSE(is_defined(UnaryOp::exp, f64));
  CHECK_FALSE(is_defined(UnaryOp::sqrt, i32));
}

}  // namespace
}  // namespace tilevm::isa
