// Tables in registers: byte permutes and chains of choices give what the index says.
#include <doctest/doctest.h>

#include <array>
#include <random>

#include "tests/unit/backend/emit_host_prelude.h"

namespace {

/// Random tables of `entries` entries of n bits, and `count` indices of w bits.
template <int n, int entries, int w, int count>
void check_lookups() {
  CAPTURE(n);
  CAPTURE(entries);
  CAPTURE(w);
  CAPTURE(count);
  std::mt19937 random(1);
  for (int round = 0; round < 20; ++round) {
    std::array<tv::u32, (entries * n + 31) / 32 + 1> table{};
    std::array<tv::u32, (count * w + 31) / 32 + 1> index{};
    std::array<tv::u32, (count * n + 31) / 32 + 1> result{};
    for (tv::u32& word : table) word = random();
    for (int i = 0; i < count; ++i) {
      tv::put<w>(index.data(), i, static_cast<tv::Code<w>>(random() % entries));
    }
    tv::look_up<n, entries, w, count>(result.data(), table.data(), index.data());
    for (int i = 0; i < count; ++i) {
      const auto entry = static_cast<int>(tv::get<w>(index.data(), i));
      REQUIRE(tv::get<n>(result.data(), i) == tv::get<n>(table.data(), entry));
    }
  }
}

}  // namespace

TEST_CASE("a lookup takes the entry that the index says") {
  check_lookups<16, 2, 1, 32>();
  check_lookups<16, 4, 2, 16>();
  check_lookups<16, 3, 2,
                39>();  // words of two bits, four codes of the third, and three by choices
  check_lookups<8, 4, 2, 20>();
  check_lookups<32, 4, 2, 12>();
  check_lookups<16, 16, 2, 17>();  // a table that two bits do not reach the end of
  check_lookups<16, 8, 3, 8>();
  check_lookups<16, 8, 3, 47>();  // sixteen at once, eight, four, and three by choices
  check_lookups<32, 7, 3, 32>();
  check_lookups<16, 8, 3, 5>();  // four at once, and one
  check_lookups<16, 8, 3, 3>();
  check_lookups<16, 16, 4, 7>();
  check_lookups<8, 16, 4, 12>();
  check_lookups<8, 5, 3, 40>();  // codes that cross words
  check_lookups<32, 16, 4, 6>();
  check_lookups<32, 1, 16, 4>();
  check_lookups<16, 11, 8, 9>();  // wide indices
  check_lookups<16, 32, 5, 9>();  // by choices
  check_lookups<64, 4, 2, 5>();
  check_lookups<5, 8, 3, 9>();
}

TEST_CASE("the places of a thread are combined as a tree of neighbours") {
  using Sum = tv::Combining<tv::Add, tv::Single>;
  const std::array<float, 6> values{16777216.0F, 1, 1, -16777216.0F, 3, 4};
  std::array<tv::u32, 6> codes{};
  for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = tv::f32_bits(values[i]);
  // (2^24 + 1) + (1 - 2^24) is 1, then 3 + 4.
  CHECK(tv::f32_value(tv::combine_places<Sum, 6>(codes.data())) == 8);
  using Largest = tv::Combining<tv::Max, tv::Single>;
  const tv::u32 nan = 0xffc00001U;
  const std::array<tv::u32, 2> all{nan, nan};
  CHECK(Largest::result(tv::combine_places<Largest, 2>(all.data())) == 0x7fffffffU);
}
