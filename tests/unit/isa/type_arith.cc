#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <bit>
#include <cmath>

#include "isa/type/arith.h"
#include "isa/type/number.h"
#include "tests/unit/isa/type_oracle.h"

namespace tilevm::isa {
namespace {

constexpr BinaryOp all_ops[] = {BinaryOp::add, BinaryOp::sub, BinaryOp::mul};

oracle::Real exact(BinaryOp op, oracle::Real a, oracle::Real b) {
  return op == BinaryOp::add ? a + b : op == BinaryOp::sub ? a - b : a * b;
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
        // 64 bits hold every product, and every sum of f16; a bf16 sum whose terms are further
        // apart may round twice here, but not to a middle.
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
          const auto in_f32 =
              static_cast<float>(exact(op, oracle::value(type, a), oracle::value(type, b)));
          wrong += apply(op, type, a, b) != caster.cast(in_f32);
        }
      }
    }
    CAPTURE(to_string(type));
    CHECK(wrong == 0);
  }
}

TEST_CASE("negation flips the sign of every float but NaN") {
  for (const DType& type : oracle::types()) {
    if (!type.is_float()) continue;
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

TEST_CASE("tf32 computes in f32 and rounds back with ties away") {
  CHECK(apply(BinaryOp::add, tf32, 0x3f800000, 0x3a000000) == 0x3f802000);  // 1 + 2^-11
  CHECK(apply(BinaryOp::add, tf32, 0x3f800000, 0x39ffe000) == 0x3f800000);
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
