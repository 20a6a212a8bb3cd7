// Where elements stand while they change their threads: each in a place of its own, readers find
// them, and threads of a warp meet no bank conflict.
#include "isa/layout/exchange_order.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "isa/layout/layout_ops.h"

namespace {

using namespace tilevm::isa;
using Digits = std::vector<LayoutDigit>;

/// What a thread reads first.
std::int64_t first_of(const ExchangeOrder& order, std::int64_t thread) {
  std::int64_t sum = 0;
  for (const auto& term : order.threads) sum += thread / term.divisor % term.size * term.stride;
  return sum;
}

/// Wavefronts of one access of each warp by elements of 4 bytes, beyond one.
template <class Place>
std::int64_t conflicts(std::int64_t threads, Place&& place) {
  std::int64_t sum = 0;
  for (std::int64_t first = 0; first < threads; first += 32) {
    std::map<std::int64_t, std::set<std::int64_t>> banks;
    for (std::int64_t t = first; t < std::min(first + 32, threads); ++t) {
      banks[place(t) % 32].insert(place(t));
    }
    std::size_t most = 0;
    for (const auto& [bank, words] : banks) most = std::max(most, words.size());
    sum += static_cast<std::int64_t>(most) - 1;
  }
  return sum;
}

struct Conflicts {
  std::int64_t writes = 0, reads = 0;
};

Conflicts check_order(const RegisterLayout& from, const RegisterLayout& to,
                      const ExchangeOrder& order) {
  CAPTURE(to_string(from));
  CAPTURE(to_string(to));
  std::set<std::int64_t> places;
  for (std::int64_t offset = 0; offset < from.size(); ++offset) places.insert(order.place(offset));
  CHECK(static_cast<std::int64_t>(places.size()) == from.size());
  CHECK(*places.rbegin() == from.size() - 1);
  const auto written = [&](std::int64_t t, std::int64_t i) {
    return order.place(order.elements.offset(from.element(t, i)));
  };
  const auto read = [&](std::int64_t t, std::int64_t i) {
    return order.place(first_of(order, t) + i * order.holders);
  };
  Conflicts found;
  for (std::int64_t i = 0; i < from.num_locals(); ++i) {
    found.writes += conflicts(from.num_threads(), [&](std::int64_t t) { return written(t, i); });
  }
  for (std::int64_t i = 0; i < to.num_locals(); ++i) {
    found.reads += conflicts(to.num_threads(), [&](std::int64_t t) { return read(t, i); });
    for (std::int64_t t = 0; t < to.num_threads(); ++t) {
      CHECK(read(t, i) == order.place(order.elements.offset(to.element(t, i))));
    }
  }
  return found;
}

/// A layout of 32 x 64 elements whose bits are dealt to `lanes` bits of threads and to places.
RegisterLayout random_bits(std::mt19937& random, std::ptrdiff_t lanes) {
  Digits bits;
  for (int b = 0; b < 5; ++b) bits.push_back({0, 2, std::int64_t{1} << b});
  for (int b = 0; b < 6; ++b) bits.push_back({1, 2, std::int64_t{1} << b});
  std::shuffle(bits.begin(), bits.end(), random);
  const auto layout =
      RegisterLayout::from_digits({32, 64}, Digits(bits.begin(), bits.begin() + lanes),
                                  Digits(bits.begin() + lanes, bits.end()));
  REQUIRE(layout.ok());
  return *layout;
}

}  // namespace

TEST_CASE("the result of attention comes to the order of memory without a bank conflict") {
  // Rows of 8 queries, columns of 128: as decode.tile has them for 4 bits and four warps
  const auto from = RegisterLayout::make({8, 128}, {4, 2, 8, 4, 4}, {3, 2, 0}, {1, 4});
  const auto to = compose(*spatial({8, 16}), *local({1, 8}));
  REQUIRE(from.ok());
  REQUIRE(to.ok());
  const ExchangeOrder order = exchange_order(*from, *to, 4);
  CHECK(order.spread.size() == 2);
  const Conflicts found = check_order(*from, *to, order);
  CHECK(found.writes == 0);
  CHECK(found.reads == 0);
  ExchangeOrder plain = order;
  plain.spread.clear();
  CHECK(check_order(*from, *to, plain).writes ==
        96);  // three more wavefronts for each of 32 stores
}

TEST_CASE(
    "whatever bits change, places are different, readers find them, and conflicts get fewer") {
  std::mt19937 random(5);
  std::int64_t before = 0, after = 0;
  for (int round = 0; round < 60; ++round) {
    const std::ptrdiff_t lanes = 5 + round % 3;
    const RegisterLayout from = random_bits(random, lanes), to = random_bits(random, lanes);
    const ExchangeOrder order = exchange_order(from, to, 4);
    const Conflicts found = check_order(from, to, order);
    CHECK(found.reads == 0);
    ExchangeOrder plain = order;
    plain.spread.clear();
    const Conflicts old = check_order(from, to, plain);
    CHECK(found.writes <= old.writes);
    before += old.writes, after += found.writes;
  }
  CHECK(after * 20 < before);
}

TEST_CASE("of elements that are not multiples of a line, none is moved") {
  const auto from = column_spatial({4, 6});
  const auto to = spatial({4, 6});
  REQUIRE(from.ok());
  REQUIRE(to.ok());
  CHECK(exchange_order(*from, *to, 4).spread.empty());
  check_order(*from, *to, exchange_order(*from, *to, 4));
}
