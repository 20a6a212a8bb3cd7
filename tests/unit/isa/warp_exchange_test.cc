// Exchanges inside a warp, carried out on words that hold the numbers of their elements.
#include "isa/layout/warp_exchange.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <string>
#include <utility>

#include "isa/layout/layout_ops.h"
#include "tests/unit/isa/layout_testing.h"

namespace {

using namespace tilevm::isa;
using namespace tilevm::isa::testing;
using Numbers = std::vector<std::int64_t>;

/// The elements of each thread, by their places.
std::vector<Numbers> elements_of(const RegisterLayout& layout) {
  std::vector<Numbers> threads(static_cast<std::size_t>(layout.num_threads()));
  for (std::int64_t t = 0; t < layout.num_threads(); ++t) {
    for (std::int64_t i = 0; i < layout.num_locals(); ++i) {
      threads[static_cast<std::size_t>(t)].push_back(ravel(layout.element(t, i), layout.shape()));
    }
  }
  return threads;
}

/// A lane's words, each of the elements that share it.
using Words = std::vector<Numbers>;

void swap_words(const std::vector<WarpExchange::Swap>& swaps, std::size_t lane, Words& words) {
  for (const auto& [bit, distance] : swaps) {
    if ((lane >> bit & 1) == 0) continue;
    for (std::size_t i = 0; i < words.size(); ++i) {
      const auto other = i ^ static_cast<std::size_t>(distance);
      if (i < other) std::swap(words[i], words[other]);
    }
  }
}

/// Lane 4 r + c has the halves 2 c and 2 c + 1 of row r, and gets those of row r of the transpose.
Numbers transposed(const std::vector<Words>& lanes, std::size_t lane, std::size_t word) {
  Numbers got;
  for (const std::size_t half : {0, 1}) {
    const std::size_t row = lane % 4 * 2 + half, column = lane / 4;
    const Numbers& from = lanes[row * 4 + column / 2][word];
    const std::size_t in_half = from.size() / 2;
    for (std::size_t i = 0; i < in_half; ++i) got.push_back(from[column % 2 * in_half + i]);
  }
  return got;
}

std::vector<Numbers> exchanged(const WarpExchange& plan, const std::vector<Numbers>& threads,
                               std::size_t places) {
  std::vector<Numbers> result(threads.size(), Numbers(places, -1));
  const auto in_word = static_cast<std::size_t>(plan.in_word);
  for (std::size_t warp = 0; warp < threads.size(); warp += 32) {
    std::vector<Words> sent(32, Words(static_cast<std::size_t>(plan.sent)));
    std::vector<Words> got(32, Words(static_cast<std::size_t>(plan.got)));
    for (std::size_t lane = 0; lane < 32; ++lane) {
      for (std::size_t i = 0; i < plan.from.size(); ++i) {
        sent[lane][i / in_word].push_back(
            threads[warp + lane][static_cast<std::size_t>(plan.from[i])]);
      }
      swap_words(plan.before, lane, sent[lane]);
    }
    for (const WarpExchange::Round& round : plan.rounds) {
      const auto from = static_cast<std::size_t>(round.sent),
                 to = static_cast<std::size_t>(round.got);
      for (std::size_t lane = 0; lane < 32; ++lane) {
        std::size_t source = 0;
        for (const auto& bit : plan.base) source |= (lane >> bit.from & 1) << bit.to;
        source ^= static_cast<std::size_t>(round.lanes);
        if (plan.stays(round)) CHECK(source == lane);
        got[lane][to] = plan.transposes ? transposed(sent, lane, from) : sent[source][from];
      }
    }
    for (std::size_t lane = 0; lane < 32; ++lane) {
      swap_words(plan.after, lane, got[lane]);
      for (std::size_t i = 0; i < plan.to.size(); ++i) {
        result[warp + lane][static_cast<std::size_t>(plan.to[i])] =
            got[lane][i / in_word][i % in_word];
      }
    }
  }
  return result;
}

void check_exchange(const RegisterLayout& from, const RegisterLayout& to,
                    const WarpExchange& plan) {
  CAPTURE(to_string(from));
  CAPTURE(to_string(to));
  CHECK(exchanged(plan, elements_of(from), static_cast<std::size_t>(to.num_locals())) ==
        elements_of(to));
}

/// A layout over whole warps whose bits are dealt to lanes and places at random.
RegisterLayout random_bits(std::mt19937& random, int replicas, int warps) {
  // An index of 2^4 x 2^5 elements, of which lanes have 5 bits less the replicas.
  std::vector<LayoutDigit> bits;
  for (int b = 0; b < 4; ++b) bits.push_back({0, 2, std::int64_t{1} << b});
  for (int b = 0; b < 5; ++b) bits.push_back({1, 2, std::int64_t{1} << b});
  std::shuffle(bits.begin(), bits.end(), random);
  std::vector<LayoutDigit> lanes(bits.begin(), bits.begin() + 5 - replicas);
  const std::vector<LayoutDigit> places(bits.begin() + 5 - replicas, bits.end());
  for (int r = 0; r < replicas; ++r) lanes.push_back({-1, 2, 0});
  std::shuffle(lanes.begin(), lanes.end(), random);
  const auto layout = RegisterLayout::from_digits({16, 32}, lanes, places);
  REQUIRE(layout.ok());
  return *compose(*spatial({warps, 1}), *layout);
}

}  // namespace

TEST_CASE("elements come to their lanes and places, whatever bits change") {
  std::mt19937 random(7);
  int shuffled = 0;
  for (int i = 0; i < 240; ++i) {
    const int warps = 1 + i % 3;
    const RegisterLayout from = random_bits(random, i % 4, warps),
                         to = random_bits(random, i / 4 % 4, warps);
    for (const int bits : {1, 6, 8, 16, 32, 64}) {
      const auto plan = plan_warp_exchange(from, to, bits);
      if (!plan) continue;
      ++shuffled;
      check_exchange(from, to, *plan);
    }
  }
  CHECK(shuffled > 200);
}

TEST_CASE("8 x 8 matrices are transposed by movmatrix") {
  const RegisterLayout c = read_layout("local(2, 1).spatial(8, 4).local(1, 2)"),
                       b = read_layout("local(2, 1).column_spatial(4, 8).local(2, 1)");
  for (const auto& [from, to] : {std::pair(c, b), std::pair(b, c)}) {
    for (const int bits : {1, 8, 16}) {
      const auto plan = plan_warp_exchange(from, to, bits);
      REQUIRE(plan);
      CHECK(plan->transposes);
      CHECK(plan->sent == (bits == 16 ? 2 : 1));
      check_exchange(from, to, *plan);
    }
    const auto plan = plan_warp_exchange(from, to, 32);
    REQUIRE(plan);
    CHECK_FALSE(plan->transposes);
    check_exchange(from, to, *plan);
  }
}

TEST_CASE("what leaves its warp, or is not a power of two, has no plan") {
  const RegisterLayout a = read_layout("spatial(8, 8).local(2, 2)");
  CHECK_FALSE(plan_warp_exchange(a, read_layout("column_spatial(8, 8).local(2, 2)"), 32));
  CHECK_FALSE(plan_warp_exchange(read_layout("spatial(4, 8).local(3, 1)"),
                                 read_layout("local(3, 1).column_spatial(4, 8)"), 32));
  CHECK_FALSE(plan_warp_exchange(read_layout("spatial(4, 4).local(1, 2)"),
                                 read_layout("local(1, 2).spatial(4, 4)"), 32));
}

TEST_CASE("words that stay in their lanes are not shuffled") {
  // One bit of the place becomes the bit of the lane that it replaces: half of the words stay.
  const auto plan = plan_warp_exchange(read_layout("spatial(8, 4).local(1, 2)"),
                                       read_layout("spatial(8, 2).local(1, 2).spatial(1, 2)"), 32);
  REQUIRE(plan);
  CHECK(plan->rounds.size() == 2);
  CHECK(plan->shuffles() == 1);
  CHECK(plan->selections() == 4);
}
