#include "vm/data/compare.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include "isa/type/bits.h"
#include "isa/type/number.h"
#include "vm/data/random.h"

namespace {

using namespace tilevm::vm;
namespace isa = tilevm::isa;

HostTensor tensor_of(const isa::DType& type, const std::vector<std::uint64_t>& codes) {
  HostTensor tensor = *make_tensor(type, {static_cast<std::int64_t>(codes.size())}, "t");
  for (std::size_t k = 0; k < codes.size(); ++k) tensor.set_code(k, codes[k]);
  return tensor;
}

}  // namespace

TEST_CASE("the distance of floats counts representable values") {
  CHECK(distance(isa::f16, 0x3c00, 0x3c00) == 0);
  CHECK(distance(isa::f16, 0x3c00, 0x3c01) == 1);
  CHECK(distance(isa::f16, 0x0000, 0x8000) == 1);  // +0 and -0 are neighbours
  CHECK(distance(isa::f16, 0x0001, 0x8001) == 3);  // over both zeros
  CHECK(distance(isa::f16, 0x7bff, 0x7c00) == 1);  // the largest number and Inf
  CHECK(distance(isa::f16, 0x7fff, 0x7c00) == infinitely_far);
  CHECK(distance(isa::f16, 0x7fff, 0x7fff) == 0);
  CHECK(distance(isa::tf32, 0x3f800000, 0x3f802000) == 1);
  CHECK(distance(isa::tf32, 0x00000000, 0x80000000) == 1);
  CHECK(distance(isa::signed_int(4), 0xf, 0x1) == 2);  // -1 and 1
  CHECK(distance(isa::u8, 0, 255) == 255);
  CHECK(distance(isa::f8e8m0, 44, 128) == 84);  // a scale has no sign
}

TEST_CASE("distance is symmetric and grows with the difference, in every type") {
  CHECK(rc::check("distance agrees with the order of the numbers", [] {
    const isa::DType type = *rc::gen::elementOf(isa::all_dtypes());
    const std::uint64_t dead = type == isa::tf32 ? isa::low_mask(13) : 0;
    const auto code = [&] {
      return *rc::gen::arbitrary<std::uint64_t>() & isa::low_mask(type.bits) & ~dead;
    };
    const std::uint64_t a = code(), b = code(), c = code();
    RC_ASSERT((distance(type, a, b) == distance(type, b, a)));
    RC_ASSERT(((distance(type, a, b) == 0) == (a == b)));
    const double x = isa::to_double(isa::decode(type, a));
    const double y = isa::to_double(isa::decode(type, b));
    const double z = isa::to_double(isa::decode(type, c));
    if (x < y && y < z) RC_ASSERT((distance(type, a, b) < distance(type, a, c)));
  }));
}

TEST_CASE("a comparison finds the first and the worst difference and counts them") {
  const HostTensor a = tensor_of(isa::f16, {0x3c00, 0x3c00, 0x3c00, 0x4000});
  const HostTensor b = tensor_of(isa::f16, {0x3c00, 0x3c01, 0x3c05, 0x4000});
  const Comparison comparison = compare(a, b);
  CHECK(comparison.elements == 4);
  CHECK(comparison.different == 2);
  CHECK(comparison.first->index == 1);
  CHECK(comparison.worst->index == 2);
  CHECK(comparison.worst->ulps == 5);
  CHECK(format_difference(a, *comparison.first) == "[1]: 0x3c00 (1) against 0x3c01 (1.001), 1 ulp");
}

TEST_CASE("the low bits of tf32 do not count") {
  const Comparison comparison =
      compare(tensor_of(isa::tf32, {0x3f800001}), tensor_of(isa::tf32, {0x3f800002}));
  CHECK(comparison.different == 0);
}

TEST_CASE("a range skips NaN and keeps the first of equals") {
  const auto range = summarize(tensor_of(isa::f16, {0x7fff, 0x3c00, 0xbc00, 0x3c00, 0x7c00})).range;
  REQUIRE(range);
  CHECK(range->lowest == 2);
  CHECK(range->highest == 4);
  CHECK_FALSE(summarize(tensor_of(isa::f16, {0x7fff})).range);
  CHECK_FALSE(summarize(tensor_of(isa::f16, {})).range);
}

TEST_CASE("a range goes from -0 to +0, wherever they are") {
  const auto range = summarize(tensor_of(isa::f16, {0x0000, 0x7fff, 0x8000})).range;
  REQUIRE(range);
  CHECK(range->lowest == 2);
  CHECK(range->highest == 0);
}

namespace {

/// As summarize, by the definition: one element at a time, in doubles.
Summary plain_summary(const HostTensor& tensor) {
  Summary summary;
  std::optional<double> lowest, highest;
  for (std::size_t k = 0; k < tensor.size(); ++k) {
    const double value = isa::to_double(isa::decode(tensor.dtype, tensor.code(k)));
    if (std::isnan(value)) {
      ++summary.nan;
      continue;
    }
    if (std::isinf(value)) ++summary.inf;
    const auto before = [](double a, double b) {
      return a < b || (a == 0 && b == 0 && std::signbit(a) && !std::signbit(b));
    };
    if (!summary.range) summary.range = Range{k, k};
    if (!lowest || before(value, *lowest)) lowest = value, summary.range->lowest = k;
    if (!highest || before(*highest, value)) highest = value, summary.range->highest = k;
  }
  return summary;
}

}  // namespace

TEST_CASE("a summary of any type, of several blocks, is that of its elements one by one") {
  for (const isa::DType& type : isa::all_dtypes()) {
    if (type.is_integer() && type.bits == 64) continue;  // doubles do not tell them apart
    CAPTURE(isa::to_string(type));
    for (const std::int64_t size : {1, 7, 5000, 9001}) {
      HostTensor tensor = *make_tensor(type, {size}, "t");
      fill_corner(tensor, static_cast<std::uint64_t>(size), "t");
      const Summary seen = summarize(tensor), wanted = plain_summary(tensor);
      CHECK(seen.nan == wanted.nan);
      CHECK(seen.inf == wanted.inf);
      REQUIRE(seen.range.has_value() == wanted.range.has_value());
      if (!seen.range) continue;
      CHECK(seen.range->lowest == wanted.range->lowest);
      CHECK(seen.range->highest == wanted.range->highest);
    }
  }
}

TEST_CASE("a range tells integers apart that no double does") {
  const std::uint64_t large = std::uint64_t{1} << 60;
  const auto range = summarize(tensor_of(isa::signed_int(64), {large + 1, large, large + 2})).range;
  REQUIRE(range);
  CHECK(range->lowest == 1);
  CHECK(range->highest == 2);
}
