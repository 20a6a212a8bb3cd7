#include "vm/run/unwritten.h"

#include <doctest/doctest.h>

using namespace tilevm;
using namespace tilevm::vm;

namespace {

std::pair<std::size_t, std::size_t> uncovered(std::vector<sim::BitRange> ranges,
                                              std::size_t elements, unsigned bits) {
  const Uncovered found = find_uncovered(std::move(ranges), elements, bits);
  return {found.count, found.first};
}

using Found = std::pair<std::size_t, std::size_t>;

}  // namespace

TEST_CASE("an element that is covered in part is not covered") {
  CHECK(uncovered({{0, 80}}, 10, 8) == Found{0, 0});
  CHECK(uncovered({}, 10, 8) == Found{10, 0});
  CHECK(uncovered({{0, 72}}, 10, 8) == Found{1, 9});
  CHECK(uncovered({{0, 70}}, 10, 8) == Found{2, 8});
  CHECK(uncovered({{3, 80}}, 10, 8) == Found{1, 0});
  CHECK(uncovered({{0, 3}, {6, 30}}, 10, 3) == Found{1, 1});  // elements of 3 bits
}

TEST_CASE("ranges of several launches may overlap and come in any order") {
  CHECK(uncovered({{40, 80}, {0, 48}}, 10, 8) == Found{0, 0});
  CHECK(uncovered({{0, 80}, {8, 16}}, 10, 8) == Found{0, 0});
  CHECK(uncovered({{60, 80}, {0, 20}}, 10, 8) == Found{6, 2});  // 20 to 60: elements 2 to 7
  CHECK(uncovered({{0, 4}, {4, 8}, {8, 80}}, 10, 8) == Found{0, 0});
}

TEST_CASE("a quotient that rounds down has one that rounds up") {
  CHECK(rounded_up("M / BM") == "(M + BM - 1) / BM");
  CHECK(rounded_up("M/64") == "(M + 64 - 1) / 64");
  CHECK(rounded_up("(M + BM - 1) / BM").empty());
  CHECK(rounded_up("M").empty());
  CHECK(rounded_up("M / A / B").empty());
}
