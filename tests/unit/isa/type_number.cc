#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "isa/type/number.h"
#include "tests/unit/isa/type_oracle.h"

namespace tilevm::isa {
namespace {

oracle::Real real(const Number& n) {
  if (n.is_nan()) return oracle::nan();
  const oracle::Real magnitude =
      n.is_inf() ? oracle::infinity()
                 : std::ldexp(static_cast<oracle::Real>(n.significand), n.exponent);
  return n.negative ? -magnitude : magnitude;
}

bool same(oracle::Real a, oracle::Real b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return a == b && std::signbit(a) == std::signbit(b);
}

/// What encode makes of a decoded code: NaN becomes canonical, and the Infs of f8e5m2 saturate, as
/// in every cast to a small float.
std::uint64_t canonical(const DType& type, std::uint64_t code) {
  const Number number = decode(type, code);
  if (number.is_nan()) return canonical_nan(type);
  if (number.is_inf() && type.bits <= 8) return number.negative ? 0xfb : 0x7b;
  return code;
}

TEST_CASE("every code of every type up to 16 bits has the value of its definition") {
  for (const DType& type : oracle::types()) {
    std::uint64_t wrong = 0;
    for (std::uint64_t code = 0; code < oracle::code_count(type); ++code) {
      wrong += !same(real(decode(type, code)), oracle::value(type, code));
    }
    CAPTURE(to_string(type));
    CHECK(wrong == 0);
  }
}

TEST_CASE("encoding a decoded code gives it back, but for NaN and the Inf of f8e5m2") {
  for (const DType& type : oracle::types()) {
    std::uint64_t wrong = 0;
    for (std::uint64_t code = 0; code < oracle::code_count(type); ++code) {
      wrong += encode(type, decode(type, code)) != canonical(type, code);
    }
    CAPTURE(to_string(type));
    CHECK(wrong == 0);
  }
}

TEST_CASE("the same for the wide types, on codes of every pattern") {
  for (const DType& type : {i32, u32, i64, u64, f32, f64}) {
    CHECK(rc::check("encode inverts decode", [&](std::uint64_t random) {
      const int ones = *rc::gen::inRange(0, 64);
      const std::uint64_t shaped = random ^ (~std::uint64_t{0} >> ones);
      const std::uint64_t code = type.bits == 64 ? shaped : shaped >> 32;
      RC_ASSERT((encode(type, decode(type, code)) == canonical(type, code)));
    }));
  }
}

TEST_CASE("f32 decodes as the host does") {
  CHECK(rc::check("f32 equals float", [](std::uint32_t code) {
    RC_ASSERT((same(real(decode(f32, code)), std::bit_cast<float>(code))));
  }));
}

TEST_CASE("tf32 ignores its low 13 bits") {
  CHECK(encode(tf32, decode(tf32, 0x3f801fff)) == 0x3f800000);
  CHECK(decode(tf32, 0x7f800001).is_inf());
  CHECK(decode(tf32, 0x7f802000).is_nan());
  CHECK(decode(tf32, 0x00001fff).is_zero());
  CHECK(to_double(decode(tf32, 0x00002000)) == 0x1p-136);
  CHECK(canonical_nan(tf32) == 0x7fffe000);
}

TEST_CASE("canonical NaNs") {
  CHECK(canonical_nan(f16) == 0x7fff);
  CHECK(canonical_nan(bf16) == 0x7fff);
  CHECK(canonical_nan(f32) == 0x7fffffff);
  CHECK(canonical_nan(f64) == 0x7fffffffffffffff);
  CHECK(canonical_nan(f8e4m3) == 0x7f);
  CHECK(canonical_nan(f8e5m2) == 0x7f);
  CHECK(canonical_nan(f8e8m0) == 0xff);
  CHECK(canonical_nan(f7e4m3u) == 0x7f);
}

TEST_CASE("bits above a type's width do not count") {
  CHECK(decode(signed_int(4), 0xff7).significand == 7);
  CHECK(decode(f16, 0xabcd3c00).significand == decode(f16, 0x3c00).significand);
}

TEST_CASE("encode takes any Number, however far outside") {
  for (const DType& type : all_dtypes()) {
    for (const int exponent : {std::numeric_limits<int>::min(), -70000, -65, -64, -63, 63, 64,
                               70000, std::numeric_limits<int>::max()}) {
      for (const std::uint64_t significand : {std::uint64_t{1}, ~std::uint64_t{0}}) {
        for (const bool negative : {false, true}) {
          const Number number{Number::Class::finite, negative, significand, exponent};
          const std::uint64_t code = encode(type, number);
          const bool huge = exponent > 1024, tiny = exponent < -70000;
          CAPTURE(to_string(type));
          CAPTURE(exponent);
          if (huge && type.bits <= 8)
            CHECK(code == (negative ? lowest_code(type) : max_code(type)));
          if (tiny && type == f8e8m0) CHECK(code == 0);
          if (tiny && !type.is_bipolar() && type != f8e8m0) CHECK(decode(type, code).is_zero());
          if (tiny && type.is_bipolar())
            CHECK(to_double(decode(type, code)) == (negative ? -1 : 1));
          CHECK(code <=
                (type.bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << type.bits) - 1));
        }
      }
    }
  }
}

TEST_CASE("host values convert exactly") {
  CHECK(rc::check("double", [](double x) { RC_ASSERT((to_double(number_from(x)) == x)); }));
  CHECK(rc::check("int64", [](std::int64_t x) {
    RC_ASSERT((real(number_from(x)) == static_cast<oracle::Real>(x)));
  }));
  CHECK(real(number_from(std::numeric_limits<std::int64_t>::min())) == -0x1p63L);
  CHECK(to_double(number_from(~std::uint64_t{0})) == 0x1p64);
  CHECK(to_double(number_from(std::uint64_t{0x20000000000001})) == 0x1p53);  // tie to even
  CHECK(std::signbit(to_double(number_from(-0.0))));
  CHECK(std::isinf(to_double(number_from(std::numeric_limits<double>::infinity()))));
}

TEST_CASE("representable means: nothing is lost") {
  CHECK(representable(signed_int(6), number_from(std::int64_t{-32})));
  CHECK(!representable(signed_int(6), number_from(std::int64_t{32})));
  CHECK(!representable(signed_int(6), number_from(0.5)));
  CHECK(representable(signed_int(6), number_from(-0.0)));
  CHECK(representable(f16, number_from(65504.0)));
  CHECK(!representable(f16, number_from(65505.0)));
  CHECK(!representable(f16, number_from(1e9)));
  CHECK(representable(f16, number_from(0x1p-24)));
  CHECK(!representable(f16, number_from(0x1p-25)));
  CHECK(representable(f8e4m3, number_from(std::nan(""))));
  CHECK(!representable(f8e4m3, number_from(std::numeric_limits<double>::infinity())));
  CHECK(!representable(small_float(3, 2), number_from(std::nan(""))));
  CHECK(representable(bipolar(2), number_from(std::int64_t{-3})));
  CHECK(!representable(bipolar(2), number_from(std::int64_t{0})));
  CHECK(!representable(u8, number_from(std::nan(""))));
}

TEST_CASE("text of values is short and reads back") {
  CHECK(format_value(signed_int(4), 9) == "-7");
  CHECK(format_value(f16, 0x3800) == "0.5");
  CHECK(format_value(f16, 0x2e66) == "0.1");
  CHECK(format_value(f16, 0x7bff) == "65504");
  CHECK(format_value(f16, 0x7c00) == "inf");
  CHECK(format_value(f16, 0xfc00) == "-inf");
  CHECK(format_value(f16, 0xfe00) == "nan");
  CHECK(format_value(f16, 0x8000) == "-0");
  CHECK(format_value(f32, 0x3dcccccd) == "0.1");
  CHECK(format_value(f64, 0x3fd5555555555555) == "0.3333333333333333");
  CHECK(format_value(bipolar(3), 0) == "-7");
  CHECK(format_value(u64, ~std::uint64_t{0}) == "18446744073709551615");
  CHECK(format_value(i64, std::uint64_t{1} << 63) == "-9223372036854775808");
  CHECK(format_value(f8e4m3, 0x7e) == "448");
}

TEST_CASE("text of every value of the small floats reads back") {
  for (const DType& type : all_dtypes()) {
    if (!type.is_float() || type.bits > 16) continue;
    const std::uint64_t step = type.bits == 16 ? 7 : 1;
    std::uint64_t wrong = 0;
    for (std::uint64_t code = 0; code < oracle::code_count(type); code += step) {
      const double read = std::strtod(format_value(type, code).c_str(), nullptr);
      wrong += encode(type, number_from(read)) != canonical(type, code);
    }
    CAPTURE(to_string(type));
    CHECK(wrong == 0);
  }
}

TEST_CASE("text of wide floats reads back") {
  CHECK(rc::check("f64", [](double x) {
    const auto code = std::bit_cast<std::uint64_t>(x);
    RC_ASSERT((std::strtod(format_value(f64, code).c_str(), nullptr) == x));
  }));
  CHECK(rc::check("f32", [](std::uint32_t code) {
    RC_PRE((!decode(f32, code).is_nan()));
    RC_ASSERT(
        (std::strtof(format_value(f32, code).c_str(), nullptr) == std::bit_cast<float>(code)));
  }));
}

}  // namespace
}  // namespace tilevm::isa
