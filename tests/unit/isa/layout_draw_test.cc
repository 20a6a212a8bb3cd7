// Pictures: exact text tables.
#include <doctest/doctest.h>

#include <algorithm>

#include "isa/layout/draw.h"
#include "tests/unit/isa/layout_testing.h"

using namespace tilevm;
using namespace tilevm::isa;
using namespace tilevm::isa::testing;

namespace {

std::size_t count(const std::string& text, std::string_view part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

}  // namespace

TEST_CASE("a text picture shows thread and local place of each element") {
  CHECK(draw_text(read_layout("column_local(2, 3).column_spatial(4, 2)")) ==
        "0:0  4:0  0:2  4:2  0:4  4:4\n"
        "1:0  5:0  1:2  5:2  1:4  5:4\n"
        "2:0  6:0  2:2  6:2  2:4  6:4\n"
        "3:0  7:0  3:2  7:2  3:4  7:4\n"
        "0:1  4:1  0:3  4:3  0:5  4:5\n"
        "1:1  5:1  1:3  5:3  1:5  5:5\n"
        "2:1  6:1  2:3  6:3  2:5  6:5\n"
        "3:1  7:1  3:3  7:3  3:5  7:5\n");
  CHECK(draw_text(RegisterLayout()) == "0:0\n");
}

TEST_CASE("a text picture folds vectors and stacks what has more than two dimensions") {
  CHECK(draw_text(read_layout("spatial(12)")) ==
        "0:0   1:0   2:0   3:0   4:0   5:0   6:0   7:0\n"
        "8:0   9:0   10:0  11:0\n");
  CHECK(draw_text(read_layout("local(2, 1, 2).spatial(1, 2, 1)")) ==
        "[0, :, :]\n0:0  0:1\n1:0  1:1\n"
        "\n[1, :, :]\n0:2  0:3\n1:2  1:3\n");
}

TEST_CASE("a text picture shows all replicas, runs and many of them shortly") {
  CHECK(draw_text(read_layout("replicated(2).spatial(4)")) == "0,4:0  1,5:0  2,6:0  3,7:0\n");
  CHECK(draw_text(read_layout("local(2).replicated(4)")) == "0..3:0  0..3:1\n");
  CHECK(draw_text(read_layout("spatial(2).replicated(2)")) == "0,1:0  2,3:0\n");
  CHECK(draw_text(read_layout("replicated(2).spatial(2).replicated(4)")) ==
        "0..3,8..11:0   4..7,12..15:0\n");
  CHECK(draw_text(read_layout("replicated(16).spatial(2)")) == "0,2,4,6,..:0  1,3,5,7,..:0\n");
}

TEST_CASE("a text picture is cut where it is too large and says so") {
  CHECK(draw_text(read_layout("spatial(4, 8)"), false, 17) ==
        "0:0   1:0   2:0   3:0   4:0   5:0   6:0   7:0\n"
        "8:0   9:0   10:0  11:0  12:0  13:0  14:0  15:0\n"
        "... 16 more elements\n");
  CHECK(draw_text(read_layout("spatial(4, 8)"), false, 3) ==
        "0:0  1:0  2:0\n... 29 more elements\n");
  CHECK(draw_text(read_layout("spatial(20)"), false, 12) ==
        "0:0  1:0  2:0  3:0  4:0  5:0  6:0  7:0\n... 12 more elements\n");
  CHECK(draw_text(read_layout("local(3, 2, 2)"), false, 6) ==
        "[0, :, :]\n0:0  0:1\n0:2  0:3\n\n[1, :, :]\n0:4  0:5\n... 6 more elements\n");
  const auto huge = must(compose(*replicated(1 << 20), *local({1 << 10, 1 << 10})));
  CHECK(draw_text(huge).ends_with("more elements\n"));
  CHECK(draw_text(huge).size() < (1U << 20));
}

TEST_CASE("colour marks threads and leaves the text as it is") {
  const auto l = read_layout("spatial(2, 32)");
  std::string text = draw_text(l, true);
  CHECK(count(text, "\x1b[30;48;5;110m") == 8);
  CHECK(count(text, "\x1b[30;48;5;209m") == 8);
  while (text.find('\x1b') != std::string::npos) {
    const auto at = text.find('\x1b');
    text.erase(at, text.find('m', at) - at + 1);
  }
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  std::string plain = draw_text(l);
  plain.erase(std::remove(plain.begin(), plain.end(), ' '), plain.end());
  CHECK(text == plain);
}

TEST_CASE("a description names the numbers of a layout") {
  CHECK(describe(read_layout("local(2, 1).spatial(8, 4).local(1, 2)")) ==
        "local(2, 1).spatial(8, 4).local(1, 2): shape [16, 8], 128 elements, 32 threads x 4 local "
        "elements; modes [2, 8, 4, 2], spatial modes [1, 2], local modes [0, 3]; runs of 2 along "
        "dimension 1 in each thread");
  CHECK(describe(read_layout("replicated(4).local(3)")).find("each element in 4 threads") !=
        std::string::npos);
}

TEST_CASE("a memory layout is drawn as offsets, with banks if the width is known") {
  CHECK(draw_text(*column_major({2, 3})) == "0  2  4\n1  3  5\n");
  CHECK(draw_text(*strided({2, 3}, {16, 1}), 32) == "0@0    1@1    2@2\n16@16  17@17  18@18\n");
  CHECK(draw_text(*strided({2, 2}, {64, 2}), 16) == "0@0   2@1\n64@0  66@1\n");
  CHECK(draw_text(*swizzled(*row_major({2, 4}), {0, 1, 2})) == "0  1  2  3\n5  4  7  6\n");
}
