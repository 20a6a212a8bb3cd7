// Min, max, absolute values, comparisons, bits and shifts against plain numbers.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <bit>
#include <cmath>

#include "isa/type/arith.h"
#include "isa/type/number.h"
#include "tests/unit/isa/type_oracle.h"

namespace tilevm::isa {
namespace {

oracle::Real value_of(const DType& type, std::uint64_t code) {
  if (type == f64) return std::bit_cast<double>(code);
  if (type == f32) return std::bit_cast<float>(static_cast<std::uint32_t>(code));
  return oracle::value(type, code);
}

bool holds(BinaryOp op, oracle::Real a, oracle::Real b) {
  switch (op) {
    case BinaryOp::eq:
      return a == b;
    case BinaryOp::ne:
      return a != b;
    case BinaryOp::lt:
      return a < b;
    case BinaryOp::le:
      return a <= b;
    case BinaryOp::gt:
      return a > b;
    default:
      return a >= b;
  }
}

/// The smaller one; -0 is less than +0, and NaN is greater than all.
oracle::Real smaller(oracle::Real a, oracle::Real b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) ? b : a;
  if (a == b) return std::signbit(a) ? a : b;
  return a < b ? a : b;
}
oracle::Real larger(oracle::Real a, oracle::Real b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) ? b : a;
  if (a == b) return std::signbit(a) ? b : a;
  return a < b ? b : a;
}

/// Whether a code is that of a value, sign of zero and NaN included.
bool is_code_of(const DType& type, std::uint64_t code, oracle::Real value) {
  if (std::isnan(value)) return code == canonical_nan(type);
  const oracle::Real got = value_of(type, code);
  return got == value && std::signbit(got) == std::signbit(value);
}

std::uint64_t count_wrong(const DType& type, std::uint64_t a, std::uint64_t b) {
  const oracle::Real x = value_of(type, a), y = value_of(type, b);
  std::uint64_t wrong = 0;
  for (const BinaryOp op :
       {BinaryOp::eq, BinaryOp::ne, BinaryOp::lt, BinaryOp::le, BinaryOp::gt, BinaryOp::ge}) {
    wrong += apply(op, type, a, b) != (holds(op, x, y) ? 1U : 0U);
  }
  wrong += !is_code_of(type, apply(BinaryOp::min, type, a, b), smaller(x, y));
  wrong += !is_code_of(type, apply(BinaryOp::max, type, a, b), larger(x, y));
  return wrong;
}

TEST_CASE("comparisons, min and max are those of the values, on every pair of narrow codes") {
  for (const DType& type : all_dtypes()) {
    if (type.bits > 8 || type.is_bipolar()) continue;
    std::uint64_t wrong = 0;
    for (std::uint64_t a = 0; a < oracle::code_count(type); ++a) {
      for (std::uint64_t b = 0; b < oracle::code_count(type); ++b) {
        wrong += count_wrong(type, a, b);
      }
    }
    CAPTURE(to_string(type));
    CHECK(wrong == 0);
  }
}

TEST_CASE("comparisons, min and max are those of the values of wide types") {
  for (const DType& type : {f16, bf16, f32, f64, i16, u16, i32, u32, i64, u64}) {
    CHECK(rc::check("as values", [&](std::uint64_t a, std::uint64_t b) {
      const std::uint64_t mask =
          type.bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << type.bits) - 1;
      const auto near = *rc::gen::inRange<int>(0, 4);
      if (near == 0) b = a ^ (std::uint64_t{1} << (type.bits - 1));
      if (near == 1) b = a + *rc::gen::inRange(0, 3) - 1;
      if (*rc::gen::inRange(0, 8) == 0) a = std::uint64_t{1} << (type.bits - 1);
      RC_ASSERT((count_wrong(type, a & mask, b & mask) == 0));
    }));
  }
}

TEST_CASE("edges of the order") {
  CHECK(apply(BinaryOp::min, f32, 0x80000000, 0) == 0x80000000);
  CHECK(apply(BinaryOp::max, f32, 0x80000000, 0) == 0);
  CHECK(apply(BinaryOp::eq, f32, 0x80000000, 0) == 1);
  CHECK(apply(BinaryOp::min, f32, 0x7f800001, 0xff800000) == 0xff800000);
  CHECK(apply(BinaryOp::max, f16, 0x7e01, 0xfc00) == 0xfc00);
  CHECK(apply(BinaryOp::max, f16, 0x7e01, 0xfe00) == 0x7fff);
  CHECK(apply(BinaryOp::ne, f8e4m3, 0x7f, 0x7f) == 1);
  CHECK(apply(BinaryOp::max, f8e5m2, 0x7c, 0x7b) == 0x7c);  // Inf is not a sum, so it stays
  CHECK(apply(BinaryOp::max, tf32, 0x3f801fff, 0x3f800000) == 0x3f800000);
  CHECK(apply(BinaryOp::eq, tf32, 0x3f801fff, 0x3f800000) == 1);
  CHECK(apply(BinaryOp::min, tf32, 0x7f802000, 0xffffffff) == 0x7fffe000);
  CHECK(result_type(BinaryOp::lt, f64) == u1);
  CHECK(result_type(BinaryOp::min, f64) == f64);
}

TEST_CASE("absolute values") {
  for (const DType& type : all_dtypes()) {
    if (type.bits > 8) continue;
    std::uint64_t wrong = 0;
    for (std::uint64_t code = 0; code < oracle::code_count(type); ++code) {
      const oracle::Real x = oracle::value(type, code);
      const std::uint64_t got = apply(UnaryOp::abs, type, code);
      const bool wraps = type.is_signed_int() && code == lowest_code(type);
      wrong += wraps ? got != code : !is_code_of(type, got, std::fabs(x));
    }
    CAPTURE(to_string(type));
    CHECK(wrong == 0);
  }
  CHECK(apply(UnaryOp::abs, f32, 0xffc12345) == 0x7fffffff);
  CHECK(apply(UnaryOp::abs, f64, 0x8000000000000000) == 0);
  CHECK(apply(UnaryOp::abs, i64, ~std::uint64_t{4}) == 5);
  CHECK(apply(UnaryOp::abs, u32, 0xffffffff) == 0xffffffff);
  CHECK(apply(UnaryOp::abs, tf32, 0xbf801fff) == 0x3f800000);
}

TEST_CASE("bits and shifts of integers of every width") {
  for (const DType& type : all_dtypes()) {
    if (!type.is_integer()) continue;
    CHECK(rc::check("bits", [&](std::uint64_t x, std::uint64_t y) {
      const unsigned n = type.bits;
      const std::uint64_t mask = n == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << n) - 1;
      const std::uint64_t a = x & mask, b = y & mask;
      RC_ASSERT((apply(BinaryOp::bit_and, type, a, b) == (a & b)));
      RC_ASSERT((apply(BinaryOp::bit_or, type, a, b) == (a | b)));
      RC_ASSERT((apply(BinaryOp::bit_xor, type, a, b) == (a ^ b)));
      const std::uint64_t count = *rc::gen::inRange(0, 3) == 0 ? b : b % (n + 2) & mask;
      const auto left = apply(BinaryOp::shl, type, a, count);
      const auto right = apply(BinaryOp::shr, type, a, count);
      for (unsigned i = 0; i < n; ++i) {  // bit by bit
        const bool top = type.is_signed_int() && (a >> (n - 1) & 1) != 0;
        const bool from_below = i >= count && (a >> (i - count) & 1) != 0;
        const bool from_above = count < n - i ? (a >> (i + count) & 1) != 0 : top;
        RC_ASSERT(((left >> i & 1) == (from_below ? 1U : 0U)));
        RC_ASSERT(((right >> i & 1) == (from_above ? 1U : 0U)));
      }
      RC_ASSERT((left <= mask && right <= mask));
    }));
  }
  CHECK(apply(BinaryOp::shr, i32, 0x80000000, 0xffffffff) == 0xffffffff);
  CHECK(apply(BinaryOp::shl, i8, 1, 0xff) == 0);
  CHECK_FALSE(is_defined(BinaryOp::bit_and, f32));
  CHECK_FALSE(is_defined(BinaryOp::max, bipolar(2)));
}

}  // namespace
}  // namespace tilevm::isa
