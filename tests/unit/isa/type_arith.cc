#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <bit>
#include <cmath>

#include "isa/type/arith.h"
#include "isa/type/number.h"
#include "tests/unit/isa/type_oracle.h"

namespace tilevm::isa {
namespace {

constexpr BinaryOp all_ops[] = {BinaryOp::add, BinaryOp::sub, BinaryOp::mul, BinaryOp::div,
                                BinaryOp::mod};

/// a - b * trunc(a / b), by subtracting the largest b * 2^n that is left to subtract.
oracle::Real remainder(oracle::Real a, oracle::Real b) {
  if (std::isnan(a) || std::isnan(b) || std::isinf(a) || b == 0) return oracle::nan();
  if (std::isinf(b)) return a;
  const oracle::Real divisor = std::fabs(b);
  oracle::Real rest = std::fabs(a), step = divisor;
  while (step <= rest) step *= 2;
  for (; step >= divisor; step /= 2) {
    if (rest >= step) rest -= step;
  }
  return std::copysign(rest, a);
}

oracle::Real exact(BinaryOp op, oracle::Real a, oracle::Real b) {
  switch (op) {
    case BinaryOp::add:
      return a + b;
    case BinaryOp::sub:
      return a - b;
    case BinaryOp::mul:
      return a * b;
    case BinaryOp::div:
      return a / b;
    default:
      break;
  }
  return remainder(a, b);
}

TEST_CASE("f16 and bf16 results are the exact ones, rounded once") {
  for (const DType& type : {f16, bf16}) {
    const oracle::Caster caster(type);
    CHECK(rc::check("rounded once", [&](std::uint16_t a, std::uint16_t random) {
      // Bring the exponents together, or sums are rarely interesting.
      const bool near = *rc::gen::arbitrary<bool>();
      const auto b = static_cast<std::uint16_t>(near ? a ^ (random & 0x87ff) : random);
      const oracle::Real x = oracle::value(type, a), y = oracle::value(type, b);
      for (const BinaryOp op : all_ops) {
        // 64 bits hold every product, remainder, and sum of f16, and enough of every quotient; a
        // bf16 sum whose terms are further apart may round twice here, but not to a middle.
        RC_ASSERT((apply(op, type, a, b) == caster.cast(exact(op, x, y))));
      }
    }));
  }
}

TEST_CASE("bf16 products near and below the least subnormal round once") {
  const oracle::Caster caster(bf16);
  std::uint64_t wrong = 0;
  for (std::uint32_t a = 0; a < 0x400; ++a) {
    for (std::uint32_t b = 0x3e00; b < 0x3f81; ++b) {
      wrong += apply(BinaryOp::mul, bf16, a, b) !=
               caster.cast(oracle::value(bf16, a) * oracle::value(bf16, b));
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("arithmetic gives what an H200 gives") {
  CHECK(apply(BinaryOp::add, f32, 0x7f800001, 0x3f800000) == 0x7fffffff);
  CHECK(apply(BinaryOp::add, f32, 0x7f800000, 0xff800000) == 0x7fffffff);
  CHECK(apply(BinaryOp::add, f32, 0x00000001, 0x00000001) == 0x00000002);
  CHECK(apply(BinaryOp::mul, f32, 0x00800000, 0x3f000000) == 0x00400000);
  CHECK(apply(BinaryOp::mul, f32, 0x7f800000, 0x00000000) == 0x7fffffff);
  CHECK(apply(UnaryOp::neg, f32, 0x7fc12345) == 0x7fffffff);
  CHECK(apply(BinaryOp::add, f16, 0x7bff, 0x4c00) == 0x7c00);
  CHECK(apply(BinaryOp::add, bf16, 0x3f80, 0x3b80) == 0x3f80);
  CHECK(apply(BinaryOp::mul, f16, 0x0400, 0x3800) == 0x0200);
  CHECK(apply(BinaryOp::add, f16, 0x7e01, 0x3c00) == 0x7fff);
  CHECK(apply(BinaryOp::add, bf16, 0x7fc1, 0x3f80) == 0x7fff);
}

TEST_CASE("f64 NaNs are canonical") {
  CHECK(apply(BinaryOp::add, f64, 0x7ff0000000000001, 0x3ff0000000000000) == 0x7fffffffffffffff);
  CHECK(apply(BinaryOp::sub, f64, 0x7ff0000000000000, 0x7ff0000000000000) == 0x7fffffffffffffff);
  CHECK(apply(UnaryOp::neg, f64, 0x7ff8000000000000) == 0x7fffffffffffffff);
  CHECK(apply(BinaryOp::add, f64, std::bit_cast<std::uint64_t>(0.1),
              std::bit_cast<std::uint64_t>(0.2)) == std::bit_cast<std::uint64_t>(0.1 + 0.2));
}

TEST_CASE("integers of every width wrap") {
  for (const DType& type : all_dtypes()) {
    if (!type.is_integer()) continue;
    CHECK(rc::check("modulo 2^n", [&](std::uint64_t x, std::uint64_t y) {
      const std::uint64_t mask =
          type.bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << type.bits) - 1;
      const std::uint64_t a = x & mask, b = y & mask;
      RC_ASSERT((apply(BinaryOp::add, type, a, b) == ((a + b) & mask)));
      RC_ASSERT((apply(BinaryOp::sub, type, a, b) == ((a - b) & mask)));
      RC_ASSERT((apply(BinaryOp::mul, type, a, b) == ((a * b) & mask)));
      RC_ASSERT((apply(UnaryOp::neg, type, a) == ((0 - a) & mask)));
    }));
  }
  CHECK(apply(UnaryOp::neg, i32, 0x80000000) == 0x80000000);
  CHECK(apply(UnaryOp::neg, signed_int(1), 1) == 1);
}

TEST_CASE("narrow types convert, operate and convert back, on every pair of codes") {
  for (const DType& type : all_dtypes()) {
    if (type.bits > 8 || type.is_integer()) continue;
    const oracle::Caster caster(type);
    std::uint64_t wrong = 0;
    for (std::uint64_t a = 0; a < oracle::code_count(type); ++a) {
      for (std::uint64_t b = 0; b < oracle::code_count(type); ++b) {
        for (const BinaryOp op : all_ops) {
          // f32 holds sums and products of two small floats; e6m1 sums reach too far for it to
          // be exact, but round there first by definition.
          oracle::Real result = exact(op, oracle::value(type, a), oracle::value(type, b));
          if (type.is_bipolar()) result = std::trunc(result);  // computed in i32
          wrong += apply(op, type, a, b) != caster.cast(static_cast<float>(result));
        }
      }
    }
    CAPTURE(to_string(type));
    CHECK(wrong == 0);
  }
}

TEST_CASE("negation flips the sign of every float but NaN") {
  for (const DType& type : oracle::types()) {
    if (!type.is_float() || type.is_unsigned_float()) continue;
    const std::uint64_t sign = std::uint64_t{1} << (type.bits - 1);
    std::uint64_t wrong = 0;
    for (std::uint64_t code = 0; code < oracle::code_count(type); ++code) {
      const bool nan = std::isnan(oracle::value(type, code));
      wrong += apply(UnaryOp::neg, type, code) != (nan ? canonical_nan(type) : code ^ sign);
    }
    CAPTURE(to_string(type));
    CHECK(wrong == 0);
  }
  CHECK(apply(UnaryOp::neg, bipolar(3), 0) == 7);
  CHECK(apply(UnaryOp::neg, tf32, 0x3f801fff) == 0xbf800000);
}

TEST_CASE("without a sign, negation gives the least value, and a magnitude is the value") {
  for (const DType& type : {f8e8m0, f7e4m3u}) {
    CAPTURE(to_string(type));
    const std::uint64_t nan = canonical_nan(type);
    for (std::uint64_t code = 0; code < nan; ++code) {
      CHECK(apply(UnaryOp::neg, type, code) == 0);
      CHECK(apply(UnaryOp::abs, type, code) == code);
    }
    CHECK(apply(UnaryOp::neg, type, nan) == nan);
    CHECK(apply(UnaryOp::abs, type, nan) == nan);
  }
}

TEST_CASE("tf32 computes in f32 and rounds back with ties away") {
  CHECK(apply(BinaryOp::add, tf32, 0x3f800000, 0x3a000000) == 0x3f802000);  // 1 + 2^-11
  CHECK(apply(BinaryOp::add, tf32, 0x3f800000, 0x39ffe000) == 0x3f800000);
}

/// The quotient as the number of times the divisor can be taken away.
std::int64_t quotient(std::int64_t a, std::int64_t b) {
  std::int64_t count = 0;
  for (std::int64_t rest = std::abs(a); rest >= std::abs(b); rest -= std::abs(b)) ++count;
  return (a < 0) == (b < 0) ? count : -count;
}

TEST_CASE("integer quotients truncate and remainders have the sign of the dividend") {
  for (const DType& type : all_dtypes()) {
    if (!type.is_integer() || type.bits > 8) continue;
    const oracle::Caster caster(type);
    std::uint64_t wrong = 0;
    for (std::uint64_t a = 0; a < oracle::code_count(type); ++a) {
      for (std::uint64_t b = 1; b < oracle::code_count(type); ++b) {
        const auto x = static_cast<std::int64_t>(oracle::value(type, a));
        const auto y = static_cast<std::int64_t>(oracle::value(type, b));
        const std::int64_t q = quotient(x, y);
        wrong += apply(BinaryOp::div, type, a, b) != caster.cast_wrapping(q);
        wrong += apply(BinaryOp::mod, type, a, b) != caster.cast_wrapping(x - q * y);
      }
    }
    CAPTURE(to_string(type));
    CHECK(wrong == 0);
  }
}

TEST_CASE("wide quotients and remainders are the host's") {
  CHECK(rc::check("i64, u64, i16", [](std::int64_t a, std::int64_t b) {
    b >>= *rc::gen::inRange(0, 63);
    RC_PRE(b != 0 && b != -1);
    const auto x = static_cast<std::uint64_t>(a), y = static_cast<std::uint64_t>(b);
    RC_ASSERT((apply(BinaryOp::div, i64, x, y) == static_cast<std::uint64_t>(a / b)));
    RC_ASSERT((apply(BinaryOp::mod, i64, x, y) == static_cast<std::uint64_t>(a % b)));
    RC_ASSERT((apply(BinaryOp::div, u64, x, y) == x / y));
    RC_ASSERT((apply(BinaryOp::mod, u64, x, y) == x % y));
    const auto s = static_cast<std::int16_t>(a), t = static_cast<std::int16_t>(b);
    RC_PRE(t != 0);
    RC_ASSERT(
        (apply(BinaryOp::div, i16, x & 0xffff, y & 0xffff) == static_cast<std::uint16_t>(s / t)));
  }));
  constexpr std::uint64_t least = std::uint64_t{1} << 63;
  CHECK(apply(BinaryOp::div, i64, least, ~std::uint64_t{0}) == least);
  CHECK(apply(BinaryOp::mod, i64, least, ~std::uint64_t{0}) == 0);
  CHECK(apply(BinaryOp::div, i32, 0x80000000, 0xffffffff) == 0x80000000);
  CHECK(apply(BinaryOp::div, signed_int(4), 8, 15) == 8);
  CHECK(faults_on_zero(BinaryOp::div, u8));
  CHECK(faults_on_zero(BinaryOp::mod, i64));
  CHECK_FALSE(faults_on_zero(BinaryOp::div, f32));
  CHECK_FALSE(faults_on_zero(BinaryOp::mul, i32));
}

TEST_CASE("float quotients and remainders at their edges") {
  CHECK(apply(BinaryOp::div, f32, 0x3f800000, 0x80000000) == 0xff800000);  // 1 / -0
  CHECK(apply(BinaryOp::div, f32, 0x80000000, 0x00000000) == 0x7fffffff);
  CHECK(apply(BinaryOp::div, f32, 0x00000001, 0x40000000) == 0x00000000);  // ties to even
  CHECK(apply(BinaryOp::div, f32, 0x00000003, 0x40000000) == 0x00000002);
  CHECK(apply(BinaryOp::mod, f32, 0xc0a00000, 0x40400000) == 0xc0000000);  // -5 mod 3
  CHECK(apply(BinaryOp::mod, f32, 0xc0c00000, 0x40400000) == 0x80000000);  // -6 mod 3
  CHECK(apply(BinaryOp::mod, f32, 0x3f800000, 0xff800000) == 0x3f800000);  // 1 mod -Inf
  CHECK(apply(BinaryOp::mod, f32, 0x7f800000, 0x3f800000) == 0x7fffffff);
  CHECK(apply(BinaryOp::mod, f32, 0x3f800000, 0x80000000) == 0x7fffffff);
  CHECK(apply(BinaryOp::mod, f64, 0x7fefffffffffffff, 0x0000000000000003) ==
        apply(BinaryOp::mod, f64, 0x7fefffffffffffff, 0x8000000000000003));
  CHECK(apply(BinaryOp::div, f8e4m3, 0x38, 0x00) == 0x7e);  // Inf saturates
  CHECK(apply(BinaryOp::mod, f8e4m3, 0x38, 0x00) == 0x7f);
}

TEST_CASE("where arithmetic happens") {
  CHECK(compute_type(signed_int(6)) == i32);
  CHECK(compute_type(unsigned_int(6)) == u32);
  CHECK(compute_type(i16) == i32);
  CHECK(compute_type(i64) == i64);
  CHECK(compute_type(u64) == u64);
  CHECK(compute_type(f16) == f16);
  CHECK(compute_type(bf16) == bf16);
  CHECK(compute_type(tf32) == f32);
  CHECK(compute_type(f64) == f64);
  CHECK(compute_type(f8e4m3) == f32);
  CHECK(compute_type(bipolar(2)) == i32);
}

}  // namespace
}  // namespace tilevm::isa
