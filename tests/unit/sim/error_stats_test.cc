// Errors in ulps, and sums that do not depend on their order.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "sim/api/error_stats.h"

using namespace tilevm;
using namespace tilevm::sim;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

ErrorStats compare(const isa::DType& type, double result, double reference) {
  ErrorStats stats;
  ErrorMeter(type).add(result, reference, {}, stats);
  return stats;
}

FixedSum sum_of(const std::vector<double>& terms) {
  FixedSum sum;
  for (const double term : terms) sum.add(term);
  return sum;
}

}  // namespace

TEST_CASE("an ulp is the distance of neighbours") {
  const ErrorMeter f16(isa::f16), f32(isa::f32), e4m3(isa::f8e4m3), tf32(isa::tf32);
  CHECK(f16.ulp(1) == 0x1p-10);
  CHECK(f16.ulp(-1.999) == 0x1p-10);
  CHECK(f16.ulp(2) == 0x1p-9);
  CHECK(f32.ulp(1) == 0x1p-23);
  CHECK(tf32.ulp(1) == 0x1p-10);
  CHECK(e4m3.ulp(448) == 32);
}

TEST_CASE("below the least normal number it stays as it is there, above the largest too") {
  const ErrorMeter f16(isa::f16), e4m3(isa::f8e4m3), e2m1(isa::small_float(2, 1));
  for (const double tiny : {0.0, 0x1p-24, 0x1.8p-20, 0x1p-14, 1e-300}) {
    CHECK(f16.ulp(tiny) == 0x1p-24);
  }
  CHECK(f16.ulp(65504) == 32);
  CHECK(f16.ulp(1e30) == 32);
  CHECK(e4m3.ulp(1000) == 32);
  CHECK(e2m1.ulp(6) == 2);  // 4 and 6 are its largest
  CHECK(e2m1.ulp(1e9) == 2);
}

TEST_CASE("integers are compared by their difference") {
  const ErrorStats stats = compare(isa::u8, 44, 300);
  CHECK(stats.ulp.max == 256);
  CHECK(stats.relative.max == doctest::Approx(256.0 / 300));
  CHECK(compare(isa::i32, -3, -2.5).ulp.max == 0.5);
}

TEST_CASE("what is not finite is counted apart, unless both are alike") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double value : {infinity, -infinity, nan}) {
    const ErrorStats stats = compare(isa::f16, value, value);
    CHECK(stats.exact());
    CHECK(stats.ulp.count == 1);
  }
  const std::vector<std::pair<double, double>> unlike{
      {infinity, 1e6}, {1, nan}, {nan, 1}, {infinity, -infinity}, {nan, infinity}};
  for (const auto& [result, reference] : unlike) {
    const ErrorStats stats = compare(isa::f16, result, reference);
    CHECK(stats.not_finite == 1);
    CHECK(stats.elements == 1);
    CHECK(stats.ulp.count == 0);
    CHECK_FALSE(stats.exact());
  }
}

TEST_CASE("no error is relative to zero") {
  const ErrorStats stats = compare(isa::f32, 1, 0);
  CHECK(stats.ulp.max == 0x1p149);
  CHECK(stats.relative.count == 0);
  CHECK(compare(isa::f32, -0.0, 0).exact());
}

TEST_CASE("of equal errors the earliest block's first is kept") {
  const ErrorMeter meter(isa::f32);
  ErrorStats late, early;
  meter.add(1, 2, {{0, 1, 0}, 7}, late);
  meter.add(1, 2, {{0, 1, 0}, 3}, late);
  meter.add(1, 2, {{5, 0, 0}, 9}, early);
  CHECK(late.ulp.worst == ErrorLocation{{0, 1, 0}, 7});
  ErrorStats sum = late;
  sum += early;
  CHECK(sum.ulp.worst == ErrorLocation{{5, 0, 0}, 9});
  early += late;
  CHECK(early == sum);
}

TEST_CASE("a sum does not depend on the order of its terms") {
  rc::check([](const std::vector<std::uint32_t>& codes) {
    std::vector<double> terms;
    for (const std::uint32_t code : codes) {
      terms.push_back(std::ldexp(code & 0xffffff, static_cast<int>(code >> 26) - 50));
    }
    const FixedSum sum = sum_of(terms);
    double expected = 0;
    for (const double term : terms) expected += term;
    RC_ASSERT(std::abs(sum.value() - expected) <= 1e-9 * expected + 1e-15);
    std::reverse(terms.begin(), terms.end());
    RC_ASSERT(sum_of(terms) == sum);
    const auto middle = terms.begin() + static_cast<std::ptrdiff_t>(terms.size() / 2);
    FixedSum parts = sum_of({terms.begin(), middle});
    parts += sum_of({middle, terms.end()});
    RC_ASSERT(parts == sum);
  });
}

TEST_CASE("a term that is too large makes a sum infinite, for good") {
  CHECK(sum_of({0x1p62, 0.5}).value() == 0x1p62 + 0.5);
  CHECK(sum_of({0x1p63, 1}).value() == infinity);
  CHECK(sum_of({infinity}).value() == infinity);
  CHECK(sum_of({0x1.8p62, 0x1.8p62, 0x1.8p62}).value() == infinity);
}
