#include "vm/data/random.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cmath>
#include <set>

#include "isa/type/bits.h"
#include "isa/type/number.h"

namespace isa = tilevm::isa;
using namespace tilevm::vm;

namespace {

HostTensor blank(const isa::DType& dtype, std::int64_t count) {
  return *make_tensor(dtype, {count}, "t");
}

std::vector<std::uint64_t> codes_of(const HostTensor& tensor) {
  std::vector<std::uint64_t> codes;
  for (std::size_t k = 0; k < tensor.size(); ++k) codes.push_back(tensor.code(k));
  return codes;
}

std::vector<std::uint64_t> rand_codes(const isa::DType& dtype, std::int64_t count) {
  HostTensor tensor = blank(dtype, count);
  fill_rand(tensor, 1, "a_ptr");
  return codes_of(tensor);
}

std::vector<std::uint64_t> wild_codes(const isa::DType& dtype, std::int64_t count) {
  HostTensor tensor = blank(dtype, count);
  fill_wild(tensor, 1, "a_ptr");
  return codes_of(tensor);
}

using Codes = std::vector<std::uint64_t>;

}  // namespace

TEST_CASE("SplitMix64 gives the published sequences") {
  CHECK(splitmix64(0, 0) == 0xe220a8397b1dcdaf);
  CHECK(splitmix64(0, 1) == 0x6e789e6aa1b965f4);
  CHECK(splitmix64(0, 2) == 0x06c45d188009454f);
  CHECK(splitmix64(1234567, 0) == 6457827717110365317u);
  CHECK(splitmix64(1234567, 4) == 16408922859458223821u);
}

// Computed by a second implementation in another language; every recorded result rests on these.
TEST_CASE("rand gives the recorded codes") {
  CHECK(random_key(1, "a_ptr") == 0xee766b91edb5d7a4);
  CHECK(rand_codes(isa::f64, 4) ==
        Codes{0xbfd693e3711d0270, 0xbfe5930b50d99d22, 0x3fe371fcb65781b2, 0xbfd147335c235450});
  CHECK(rand_codes(isa::f32, 4) == Codes{0xbeb49f1c, 0xbf2c985b, 0x3f1b8fe6, 0xbe8a399b});
  CHECK(rand_codes(isa::f16, 4) == Codes{0xb5a5, 0xb965, 0x38dc, 0xb452});
  CHECK(rand_codes(isa::signed_int(6), 4) == Codes{0x14, 0x0a, 0x33, 0x17});
}

TEST_CASE("wild gives the recorded codes") {
  CHECK(wild_codes(isa::f64, 4) ==
        Codes{0xa966ef0b51213249, 0x94d74e2120fc25d0, 0xe6d71ced816d8477, 0x2eb2f58a48301e57});
  CHECK(wild_codes(isa::f16, 4) == Codes{0xa820, 0x9433, 0xe3ac, 0x2d43});
  CHECK(wild_codes(isa::small_float(3, 2), 4) == Codes{0x2a, 0x25, 0x39, 0x0b});
  CHECK(wild_codes(isa::tf32, 4) == Codes{0xa942a000, 0x94c50000, 0xe67d0000, 0x2e8a0000});
  CHECK(wild_codes(isa::f8e4m3, 4) == Codes{0xa9, 0x94, 0xe6, 0x2e});
}

TEST_CASE("rand stays in [-1, 1] for every float type") {
  for (const isa::DType& dtype : isa::all_dtypes()) {
    if (!dtype.is_float()) continue;
    HostTensor tensor = blank(dtype, 500);
    fill_rand(tensor, 3, "x");
    for (const std::uint64_t code : codes_of(tensor)) {
      CHECK(std::abs(isa::to_double(isa::decode(dtype, code))) <= 1.0);
    }
  }
}

TEST_CASE("wild never gives Inf or NaN, and every code of a small float but those") {
  for (const isa::DType& dtype : isa::all_dtypes()) {
    if (!dtype.is_float()) continue;
    HostTensor tensor = blank(dtype, 20000);
    fill_wild(tensor, 3, "x");
    const Codes codes = codes_of(tensor);
    for (const std::uint64_t code : codes) {
      const isa::Number value = isa::decode(dtype, code);
      if (value.is_nan() || value.is_inf()) FAIL_CHECK(isa::to_string(dtype) << " " << code);
    }
    if (dtype.bits > 8) continue;
    std::size_t finite = 0;
    for (std::uint64_t code = 0; code <= isa::low_mask(dtype.bits); ++code) {
      const isa::Number value = isa::decode(dtype, code);
      finite += !value.is_nan() && !value.is_inf() ? 1 : 0;
    }
    CHECK_MESSAGE(std::set(codes.begin(), codes.end()).size() == finite, isa::to_string(dtype));
  }
}

TEST_CASE("wild meets every exponent of f16 and bf16") {
  for (const isa::DType& dtype : {isa::f16, isa::bf16}) {
    HostTensor tensor = blank(dtype, 50000);
    fill_wild(tensor, 0, "x");
    std::set<std::uint64_t> exponents;
    for (const std::uint64_t code : codes_of(tensor)) exponents.insert(code >> dtype.mantissa_bits);
    // Two signs; the highest exponent is Inf and NaN.
    CHECK(exponents.size() == 2 * ((std::size_t{1} << dtype.exponent_bits) - 1));
  }
}

TEST_CASE("integers take every value of a narrow type") {
  for (const isa::DType& dtype : {isa::signed_int(6), isa::u8, isa::bipolar(3), isa::u1}) {
    const Codes codes = rand_codes(dtype, 20000);
    CHECK(std::set(codes.begin(), codes.end()).size() == std::size_t{1} << dtype.bits);
    CHECK(codes == wild_codes(dtype, 20000));
  }
}

TEST_CASE("the same seed gives other data under another name, and another seed too") {
  HostTensor a = blank(isa::f32, 64), b = a, c = a, d = a;
  fill_rand(a, 7, "a");
  fill_rand(b, 7, "b");
  fill_rand(c, 8, "a");
  fill_rand(d, 7, "a");
  CHECK(a != b);
  CHECK(a != c);
  CHECK(a == d);
}

TEST_CASE("an element does not depend on how many there are") {
  CHECK(rc::check("rand of n elements begins rand of more", [] {
    const auto dtype = *rc::gen::elementOf(isa::all_dtypes());
    const auto n = *rc::gen::inRange<std::int64_t>(0, 40);
    HostTensor small = blank(dtype, n), large = blank(dtype, n + 9);
    const auto seed = *rc::gen::arbitrary<std::uint64_t>();
    fill_rand(small, seed, "t");
    fill_rand(large, seed, "t");
    for (std::size_t k = 0; k < small.size(); ++k) RC_ASSERT((small.code(k) == large.code(k)));
  }));
}

TEST_CASE("large tensors, which several threads fill, have the same elements") {
  HostTensor tensor = blank(*isa::parse_dtype("u3"), 5'000'003);
  fill_rand(tensor, 9, "t");
  const std::uint64_t key = random_key(9, "t");
  std::size_t wrong = 0;
  for (std::size_t k = 0; k < tensor.size(); ++k) {
    if (tensor.code(k) != splitmix64(key, k) >> 61) ++wrong;
  }
  CHECK(wrong == 0);
}

TEST_CASE("rand rounds as Cast does, in every float type") {
  for (const isa::DType& dtype : isa::all_dtypes()) {
    if (!dtype.is_float()) continue;
    const std::uint64_t key = random_key(1, "a_ptr");
    const Codes codes = rand_codes(dtype, 20'000);
    std::size_t wrong = 0;
    for (std::size_t k = 0; k < codes.size(); ++k) {
      const double value = static_cast<double>(splitmix64(key, k) >> 11) * 0x1p-52 - 1.0;
      wrong += codes[k] != isa::encode(dtype, isa::number_from(value)) ? 1 : 0;
    }
    CHECK_MESSAGE(wrong == 0, isa::to_string(dtype));
  }
}
