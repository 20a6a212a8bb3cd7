// Approximate instructions on single elements: special values, the forms without `.ftz`, 16 and 64
// bits. What GPUs gave for all arguments is compared by tests/approximations.
#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "isa/type/approximation.h"
#include "isa/type/arith.h"

using namespace tilevm;
using namespace tilevm::isa;

namespace {

constexpr std::uint32_t inf = 0x7f800000, no_number = 0x7fffffff, minus = 0x80000000,
                        one = 0x3f800000;

std::uint32_t at(UnaryOp op, std::uint32_t x) {
  return static_cast<std::uint32_t>(apply(op, f32, x));
}
std::uint32_t bits(float value) { return std::bit_cast<std::uint32_t>(value); }
float value(std::uint32_t bits) { return std::bit_cast<float>(bits); }

}  // namespace

TEST_CASE("the truncated square misses the columns below 2^18") {
  for (const std::uint32_t x : {0U, 1U, 0x1ffU, 0x200U, 0x15555U, 0x1ffffU}) {
    std::uint64_t sum = 0;
    for (int i = 0; i < 17; ++i) {
      for (int j = 0; j < 17; ++j) {
        if (i + j >= 18) sum += std::uint64_t{(x >> i & 1) & (x >> j & 1)} << (i + j);
      }
    }
    CHECK(approximation::truncated_square(x) == sum >> 19);
  }
}

TEST_CASE("approximations of 0, -0, Inf, -Inf, subnormal numbers and NaN") {
  struct Row {
    UnaryOp op;
    std::uint32_t zero, minus_zero, infinity, minus_infinity, subnormal;
  };
  using enum UnaryOp;
  for (const Row& row : {Row{ex2_approx_ftz, one, one, inf, 0, one},
                         Row{lg2_approx_ftz, minus | inf, minus | inf, inf, no_number, minus | inf},
                         Row{rcp_approx_ftz, inf, minus | inf, 0, minus, inf},
                         Row{rsqrt_approx_ftz, inf, minus | inf, 0, no_number, inf},
                         Row{sqrt_approx_ftz, 0, minus, inf, no_number, 0},
                         Row{sin_approx_ftz, 0, minus, no_number, no_number, 0},
                         Row{cos_approx_ftz, one, one, no_number, no_number, one},
                         Row{tanh_approx, 0, minus, one, minus | one, 77}}) {
    CAPTURE(static_cast<int>(row.op));
    CHECK(at(row.op, 0) == row.zero);
    CHECK(at(row.op, minus) == row.minus_zero);
    CHECK(at(row.op, inf) == row.infinity);
    CHECK(at(row.op, minus | inf) == row.minus_infinity);
    CHECK(at(row.op, 77) == row.subnormal);
    CHECK(at(row.op, 0x7fc12345) == no_number);
    CHECK(at(row.op, 0xff800001) == no_number);
  }
}

TEST_CASE("without .ftz subnormal numbers are arguments and results") {
  CHECK(at(UnaryOp::ex2_approx, bits(-149.0F)) == 1);
  CHECK(at(UnaryOp::ex2_approx_ftz, bits(-149.0F)) == 0);
  CHECK(at(UnaryOp::rcp_approx, bits(0x1p127F)) == bits(0x1p-127F));
  CHECK(at(UnaryOp::rcp_approx_ftz, bits(0x1p127F)) == 0);
  CHECK(at(UnaryOp::rcp_approx, bits(0x1p-127F)) == bits(0x1p127F));
  CHECK(at(UnaryOp::lg2_approx, 1) == bits(-149.0F));
  CHECK(at(UnaryOp::sqrt_approx, 4) == bits(0x1.6a09e6p-74F));
  CHECK(at(UnaryOp::rsqrt_approx, minus | 1) == no_number);
}

TEST_CASE(
    "approximate quotients scale a divisor that the unit flushes or whose reciprocal it does") {
  const auto quotient = [](BinaryOp op, float a, float b) {
    return value(static_cast<std::uint32_t>(apply(op, f32, bits(a), bits(b))));
  };
  CHECK(quotient(BinaryOp::div_full, 0x1p127F, 0x1p127F) == 1);
  CHECK(quotient(BinaryOp::div_approx, 0x1p127F, 0x1p127F) == 0);
  CHECK(quotient(BinaryOp::div_full_ftz, 0x1p127F, 0x1p127F) == 1);
  CHECK(quotient(BinaryOp::div_approx, 0x1p-140F, 0x1p-141F) == 2);
  CHECK(std::isnan(quotient(BinaryOp::div_approx_ftz, 0x1p-140F, 0x1p-141F)));
  CHECK(quotient(BinaryOp::div_full, 3.0F, 0x1p-149F) == INFINITY);
}

TEST_CASE("types of other widths") {
  CHECK(apply(UnaryOp::ex2_approx, f16, 0x3800) == 0x3da8);  // sqrt(2), truncated
  CHECK(apply(UnaryOp::ex2_approx, f16, 0x4c00) == 0x7c00);  // 2^16
  CHECK(apply(UnaryOp::ex2_approx_ftz, bf16, 0x3f00) == 0x3fb5);
  CHECK(apply(UnaryOp::tanh_approx, f16, 0x7e00) == 0x7fff);
  CHECK(apply(UnaryOp::rcp_approx_ftz, f64, 0x4000000000000123) == 0x3fe0000000000000);
  CHECK(apply(UnaryOp::rcp_approx_ftz, f64, 0x7ff8000000000000) == 0x7fffffff00000000);
  CHECK(apply(UnaryOp::rsqrt_approx_ftz, f64, 0x4010000000000000) == 0x3fe0000000000000);
  CHECK_FALSE(is_defined(UnaryOp::ex2_approx, bf16));
  CHECK_FALSE(is_defined(UnaryOp::ex2_approx_ftz, f16));
  CHECK_FALSE(is_defined(UnaryOp::lg2_approx, f16));
  CHECK_FALSE(is_defined(UnaryOp::tanh_approx, f64));
  CHECK_FALSE(is_defined(UnaryOp::rcp_approx, f64));
  CHECK_FALSE(is_defined(UnaryOp::ex2_approx, tf32));
  CHECK_FALSE(is_defined(BinaryOp::div_full, f16));
}

TEST_CASE("errors are those that docs/reference/approximations.md has") {
  struct Row {
    UnaryOp op;
    double (*exact)(double);
    float begin, end;
    double most;  ///< ulp
  };
  for (const Row& row :
       {Row{UnaryOp::rcp_approx, [](double x) { return 1 / x; }, 1, 2, 0.98},
        Row{UnaryOp::rsqrt_approx, [](double x) { return 1 / std::sqrt(x); }, 1, 4, 1.51},
        Row{UnaryOp::sqrt_approx, [](double x) { return std::sqrt(x); }, 1, 4, 0.94},
        Row{UnaryOp::ex2_approx, [](double x) { return std::exp2(x); }, 1, 4, 1.40}}) {
    double worst = 0;
    for (std::uint32_t code = bits(row.begin); code < bits(row.end); code += 7) {
      const double exact = row.exact(value(code));
      const double ulp = std::ldexp(1.0, std::ilogb(exact) - 23);
      worst = std::max(worst, std::fabs(value(at(row.op, code)) - exact) / ulp);
    }
    CAPTURE(static_cast<int>(row.op));
    CHECK(worst <= row.most + 0.005);
    CHECK(worst > row.most - 0.1);
  }
}
