// The portable prelude against isa: every cast that an emitted program may contain.
#include <doctest/doctest.h>

#include <random>
#include <set>
#include <string>
#include <vector>

#include "isa/type/number.h"
#include "tests/unit/backend/emit_prelude_types.h"

namespace tilevm::backend {
namespace {

/// Codes at which something changes: powers of two and their neighbours, all of either sign, and
/// random ones. For a float, one power of two per exponent.
template <class T>
std::vector<std::uint64_t> interesting_codes(int random_count) {
  std::vector<std::uint64_t> codes{0};
  const std::uint64_t mask = tv::low_mask<T::bits>();
  for (int bit = 0; bit < T::bits; ++bit) {
    const std::uint64_t power = std::uint64_t{1} << bit;
    for (const std::uint64_t code : {power - 1, power, power + 1}) {
      codes.push_back(code & mask);
      codes.push_back(~code & mask);
    }
  }
  std::mt19937_64 random(1);
  for (int i = 0; i < random_count; ++i) {
    // Few significant bits and any exponent, so that ties and small integers occur.
    const std::uint64_t code = random();
    codes.push_back(code & mask);
    codes.push_back(code & mask & (~std::uint64_t{0} << (random() % T::bits)));
  }
  if (T::kind != tv::floating) return codes;
  for (int field = 0; field < 1 << T::exponent; ++field) {
    const std::uint64_t power = static_cast<std::uint64_t>(field) << (T::mantissa + T::unused);
    for (const std::uint64_t code : {power, power + 1, power - 1, power + (power >> 1)}) {
      codes.push_back(code & mask);
      codes.push_back((code | std::uint64_t{1} << (T::bits - 1)) & mask);
    }
  }
  return codes;
}

/// A cast of the prelude as a value, so that checking is compiled once and not for every pair.
struct AnyCast {
  isa::DType from, to;
  std::uint64_t (*fast)(std::uint64_t);
  std::uint64_t (*exact)(std::uint64_t);
};

template <class From, class To>
AnyCast any_cast() {
  return {dtype_of<From>(), dtype_of<To>(),
          [](std::uint64_t code) -> std::uint64_t {
            return tv::cast<From, To>(static_cast<tv::Code<From::bits>>(code));
          },
          [](std::uint64_t code) -> std::uint64_t {
            return tv::cast_exact<From, To>(static_cast<tv::Code<From::bits>>(code));
          }};
}

template <class From>
std::vector<AnyCast> casts_from() {
  std::vector<AnyCast> casts;
  for_each_type<AllTypes>([&]<class To>() { casts.push_back(any_cast<From, To>()); });
  return casts;
}

void check_cast(const AnyCast& cast, std::uint64_t code) {
  const std::uint64_t wanted = isa::cast(cast.from, cast.to, code);
  const std::uint64_t fast = cast.fast(code), exact = cast.exact(code);
  if (fast == wanted && exact == wanted) return;
  const std::string from = to_string(cast.from), to = to_string(cast.to);
  INFO(from, " -> ", to, " of code ", code);
  CHECK(fast == wanted);
  CHECK(exact == wanted);
}

void check_all_codes(const AnyCast& cast) {
  for (std::uint64_t code = 0; code < std::uint64_t{1} << cast.from.bits; ++code) {
    check_cast(cast, code);
  }
}

TEST_CASE("the prelude's list of types is the list of element types" * doctest::skip(!every_type)) {
  std::set<std::string> names;
  for_each_type<AllTypes>([&]<class T>() { names.insert(to_string(dtype_of<T>())); });
  std::set<std::string> wanted;
  for (const isa::DType& type : isa::all_dtypes()) wanted.insert(to_string(type));
  CHECK(names == wanted);
  for_each_type<AllTypes>([&]<class T>() {
    if (T::kind != tv::floating) return;
    CHECK(static_cast<int>(dtype_of<T>().specials()) == static_cast<int>(T::special));
  });
}

TEST_CASE("the prelude casts every code of every type of 8 bits or fewer as isa does") {
  for_each_type<NarrowTypes>([]<class From>() {
    for (const AnyCast& cast : casts_from<From>()) check_all_codes(cast);
  });
}

TEST_CASE("the prelude casts codes of wide types as isa does") {
  for_each_type<WideTypes>([]<class From>() {
    const auto codes = interesting_codes<From>(500);
    for (const AnyCast& cast : casts_from<From>()) {
      for (const std::uint64_t code : codes) check_cast(cast, code);
    }
  });
}

TEST_CASE("the prelude casts every code of f16 and bf16 as isa does") {
  using F16 = tv::Float<16, 5, 10>;
  using BF16 = tv::Float<16, 8, 7>;
  check_all_codes(any_cast<F16, tv::Float<8, 4, 3, tv::nan_only>>());
  check_all_codes(any_cast<F16, tv::Float<6, 3, 2, tv::all_finite>>());
  check_all_codes(any_cast<F16, tv::Bipolar<3>>());
  check_all_codes(any_cast<F16, BF16>());
  check_all_codes(any_cast<BF16, F16>());
  check_all_codes(any_cast<BF16, tv::Float<8, 5, 2>>());
  check_all_codes(any_cast<BF16, tv::Int<5>>());
}

}  // namespace
}  // namespace tilevm::backend
