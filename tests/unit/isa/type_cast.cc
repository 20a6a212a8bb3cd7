#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <bit>
#include <cmath>
#include <limits>

#include "isa/type/number.h"
#include "tests/unit/isa/type_oracle.h"

namespace tilevm::isa {
namespace {

using oracle::Caster;

std::uint64_t from_f32(const DType& to, std::uint32_t bits) { return cast(f32, to, bits); }

TEST_CASE("casts between all types up to 16 bits agree with a search, on every code") {
  for (const DType& to : oracle::types()) {
    const Caster caster(to);
    for (const DType& from : oracle::types()) {
      const bool wraps = from.is_integer() && to.is_integer();
      std::uint64_t wrong = 0;
      for (std::uint64_t code = 0; code < oracle::code_count(from); ++code) {
        const oracle::Real value = oracle::value(from, code);
        const std::uint64_t expected =
            wraps ? caster.cast_wrapping(static_cast<std::int64_t>(value)) : caster.cast(value);
        wrong += cast(from, to, code) != expected;
      }
      if (wrong != 0) FAIL_CHECK(to_string(from), " -> ", to_string(to), ": ", wrong, " wrong");
    }
  }
}

/// Casts x, its neighbours and their negatives from f64, and from f32 where they are f32s.
std::uint64_t count_wrong_around(const DType& to, const Caster& caster, double x) {
  std::uint64_t wrong = 0;
  for (const double near : {std::nextafter(x, 0.0), x, std::nextafter(x, HUGE_VAL)}) {
    for (const double v : {near, -near}) {
      wrong += cast(f64, to, std::bit_cast<std::uint64_t>(v)) != caster.cast(v);
    }
  }
  const auto narrow = static_cast<float>(x);
  for (const float v : {std::nextafter(narrow, 0.0f), narrow, std::nextafter(narrow, HUGE_VALF)}) {
    wrong += from_f32(to, std::bit_cast<std::uint32_t>(v)) != caster.cast(v);
    wrong += from_f32(to, std::bit_cast<std::uint32_t>(-v)) != caster.cast(-v);
  }
  return wrong;
}

TEST_CASE("every middle between neighbours, and what lies beside it, rounds once") {
  for (const DType& to : oracle::types()) {
    const Caster caster(to);
    std::uint64_t wrong = 0;
    // Positive codes of floats ascend; for the others this still visits every value.
    for (std::uint64_t code = 0; code <= max_code(to); ++code) {
      const auto low = static_cast<double>(oracle::value(to, code));
      const bool last = code == max_code(to);
      const double gap = last ? low - static_cast<double>(oracle::value(to, code - (code > 0)))
                              : static_cast<double>(oracle::value(to, code + 1)) - low;
      wrong += count_wrong_around(to, caster, std::fabs(low + gap / 2));
      wrong += count_wrong_around(to, caster, std::fabs(low));
    }
    CAPTURE(to_string(to));
    CHECK(wrong == 0);
  }
}

TEST_CASE("f64 to f32 is the host's rounding") {
  CHECK(rc::check("f64 -> f32", [](std::uint64_t bits) {
    const int exponent = *rc::gen::inRange(1023 - 152, 1023 + 130);
    bits = (bits & 0x800fffffffffffff) | (static_cast<std::uint64_t>(exponent) << 52);
    const auto expected = static_cast<float>(std::bit_cast<double>(bits));
    RC_ASSERT((cast(f64, f32, bits) == std::bit_cast<std::uint32_t>(expected)));
  }));
  CHECK(cast(f64, f32, 0x3ff0000010000000) == 0x3f800000);  // tie to even
}

TEST_CASE("integers to f32 round once") {
  CHECK(rc::check("i64 -> f32", [](std::int64_t x) {
    const int shift = *rc::gen::inRange(0, 64);
    const std::int64_t value = x >> shift;
    RC_ASSERT((cast(i64, f32, static_cast<std::uint64_t>(value)) ==
               std::bit_cast<std::uint32_t>(static_cast<float>(value))));
  }));
  CHECK(rc::check("u64 -> f32", [](std::uint64_t x) {
    const std::uint64_t value = x >> *rc::gen::inRange(0, 64);
    RC_ASSERT((cast(u64, f32, value) == std::bit_cast<std::uint32_t>(static_cast<float>(value))));
  }));
}

TEST_CASE("f32 to integers truncates and saturates") {
  CHECK(rc::check("f32 -> i32", [](std::uint32_t bits) {
    const double v = std::bit_cast<float>(bits);
    RC_PRE((!std::isnan(v)));
    const double clamped = std::fmin(std::fmax(std::trunc(v), -0x1p31), 0x1p31 - 1);
    RC_ASSERT(
        (cast(f32, i32, bits) == static_cast<std::uint32_t>(static_cast<std::int64_t>(clamped))));
  }));
  CHECK(cast(f64, i64, std::bit_cast<std::uint64_t>(0x1p63)) == 0x7fffffffffffffff);
  CHECK(cast(f64, i64, std::bit_cast<std::uint64_t>(-0x1p63)) == 0x8000000000000000);
  CHECK(cast(f64, i64, std::bit_cast<std::uint64_t>(-0x1.8p63)) == 0x8000000000000000);
  CHECK(cast(f64, u64, std::bit_cast<std::uint64_t>(0x1p64)) == ~std::uint64_t{0});
  CHECK(cast(f64, u64, std::bit_cast<std::uint64_t>(0x1.fffffffffffffp63)) == 0xfffffffffffff800);
  CHECK(cast(f64, u64, std::bit_cast<std::uint64_t>(-1.0)) == 0);
}

TEST_CASE("NaN becomes zero in every integer type") {
  for (const DType& type : all_dtypes()) {
    if (!type.is_integer()) continue;
    CHECK(cast(f64, type, 0x7ff8000000000000) == 0);
    CHECK(cast(f32, type, 0xffc00001) == 0);
    CHECK(cast(f16, type, 0x7e00) == 0);
  }
}

TEST_CASE("f32 to f16 and bf16 give what an H200 gives") {
  CHECK(from_f32(f16, 0x477ff000) == 0x7c00);  // 65520
  CHECK(from_f32(f16, 0x33000000) == 0x0000);  // 2^-25, a tie
  CHECK(from_f32(f16, 0x33000001) == 0x0001);
  CHECK(from_f32(f16, 0xffc00001) == 0x7fff);
  CHECK(from_f32(bf16, 0x3f808000) == 0x3f80);  // a tie
  CHECK(from_f32(bf16, 0x7f7fffff) == 0x7f80);
  CHECK(from_f32(bf16, 0x7f800001) == 0x7fff);
}

TEST_CASE("f32 to tf32: ties away, NaN before rounding") {
  CHECK(from_f32(tf32, 0x3f801000) == 0x3f802000);
  CHECK(from_f32(tf32, 0xbf801000) == 0xbf802000);
  CHECK(from_f32(tf32, 0x3f803000) == 0x3f804000);
  CHECK(from_f32(tf32, 0x3f800fff) == 0x3f800000);
  CHECK(from_f32(tf32, 0x7f7fffff) == 0x7f800000);
  CHECK(from_f32(tf32, 0x00001000) == 0x00002000);  // half the least subnormal
  CHECK(from_f32(tf32, 0x00000fff) == 0x00000000);
  // The hardware's conversion turns this NaN into Inf; ours must not.
  CHECK(from_f32(tf32, 0x7f800001) == 0x7fffe000);
  CHECK(from_f32(tf32, 0xffc12345) == 0x7fffe000);
}

TEST_CASE("tf32 agrees with rounding by adding half a unit") {
  CHECK(rc::check("f32 -> tf32", [](std::uint32_t bits) {
    RC_PRE((!decode(f32, bits).is_nan()));
    RC_ASSERT((from_f32(tf32, bits) ==
               (((bits & 0x7fffffff) + 0x1000) & 0x7fffe000) + (bits & 0x80000000)));
  }));
}

TEST_CASE("f32 to fp8 gives what an H200 gives") {
  CHECK(from_f32(f8e4m3, 0x43e80000) == 0x7e);  // 464
  CHECK(from_f32(f8e4m3, 0x7f800000) == 0x7e);
  CHECK(from_f32(f8e4m3, 0xff800000) == 0xfe);
  CHECK(from_f32(f8e4m3, 0xffc00000) == 0x7f);
  CHECK(from_f32(f8e4m3, 0x3a800000) == 0x00);  // 2^-10, a tie
  CHECK(from_f32(f8e4m3, 0xba800000) == 0x80);
  CHECK(from_f32(f8e4m3, 0x3ac00000) == 0x01);
  CHECK(from_f32(f8e5m2, 0x47700000) == 0x7b);  // 61440
  CHECK(from_f32(f8e5m2, 0x7fc00000) == 0x7f);
}

TEST_CASE("widening keeps values; a NaN becomes the canonical one") {
  CHECK(cast(f16, f32, 0x7c01) == 0x7fffffff);
  CHECK(cast(bf16, f32, 0x7f81) == 0x7fffffff);
  CHECK(cast(bf16, f32, 0x0001) == 0x00010000);
  CHECK(cast(f8e4m3, f16, 0xff) == 0x7fff);
  CHECK(cast(tf32, f32, 0x7f802000) == 0x7fffffff);
  CHECK(cast(f32, f64, 0xffc00000) == 0x7fffffffffffffff);
  CHECK(cast(f64, f32, 0xfff8000000000123) == 0x7fffffff);
}

TEST_CASE("integers wrap, bipolar values saturate") {
  CHECK(cast(i32, signed_int(4), static_cast<std::uint32_t>(-9)) == 7);
  CHECK(cast(i32, u64, static_cast<std::uint32_t>(-1)) == ~std::uint64_t{0});
  CHECK(cast(u32, i64, 0xffffffff) == 0xffffffff);
  CHECK(cast(signed_int(1), i8, 1) == 0xff);
  CHECK(cast(bipolar(8), i8, 0xff) == 0x7f);  // 255
  CHECK(cast(i32, bipolar(2), 0) == 2);       // 0 ties upward, to 1
  CHECK(cast(i32, bipolar(2), static_cast<std::uint32_t>(-2)) == 1);
  CHECK(cast(i32, bipolar(2), 100) == 3);
  CHECK(cast(i64, bipolar(8), std::uint64_t{1} << 63) == 0);
  CHECK(cast(f32, bipolar(1), 0xffc00000) == 1);
}

}  // namespace
}  // namespace tilevm::isa
