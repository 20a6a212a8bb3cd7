// The canonical form, by example.
#include <doctest/doctest.h>

#include <string>

#include "frontend/print/print.h"
#include "tests/unit/frontend/parsing.h"

namespace tilevm::frontend {
namespace {

std::string formatted(const std::string& text) {
  const Parsed parsed = parse_text(text);
  return parsed.program ? print(*parsed.program) : messages(parsed).front();
}

/// An expression, formatted.
std::string expression(const std::string& text) { return print(*expression_of(text)); }

TEST_CASE("parentheses stay only where the tree needs them") {
  CHECK_EQ(expression("((a + b)) * (c * d)"), "(a + b) * (c * d)");
  CHECK_EQ(expression("(a * b) + (c * d)"), "a * b + c * d");
  CHECK_EQ(expression("(a - b) - c"), "a - b - c");
  CHECK_EQ(expression("a - (b - c)"), "a - (b - c)");
  CHECK_EQ(expression("(a < b) == c"), "(a < b) == c");
  CHECK_EQ(expression("-(a + b)"), "-(a + b)");
  CHECK_EQ(expression("!(a == b) && c"), "not a == b and c");
  CHECK_EQ(expression("(!a) == b"), "(not a) == b");
  CHECK_EQ(expression("(a + b).f(1)"), "(a + b).f(1)");
  CHECK_EQ(expression("(3).f( )"), "(3).f()");
  CHECK_EQ(expression("f(x=a,[b :,c],)"), "f(x=a, [b:, c])");
  CHECK_EQ(expression("a//b"), "a / b");
}

TEST_CASE("a line of more than 100 columns breaks after the commas least nested") {
  CHECK_EQ(formatted("def f<1>(f16* p):\n"
                     "  a = LoadGlobal(ga, layout=column_local(2, 2).spatial(8, 4).local(1, 2), "
                     "offset=[bi * BM:, bk * BK:])\n"),
           "def f<1>(f16* p):\n"
           "    a = LoadGlobal(ga, layout=column_local(2, 2).spatial(8, 4).local(1, 2),\n"
           "        offset=[bi * BM:, bk * BK:])\n");
  CHECK_EQ(formatted("def f<1>(f16* a_first_pointer, f16* a_second_pointer, f16* a_third_pointer, "
                     "f16* a_fourth_and_last_pointer):\n  pass\n"),
           "def f<1>(f16* a_first_pointer, f16* a_second_pointer, f16* a_third_pointer,\n"
           "        f16* a_fourth_and_last_pointer):\n"
           "    pass\n");
}

TEST_CASE("a line that fits is joined") {
  CHECK_EQ(formatted("const A = f(1,\n  2\n) + \\\n  3\n"), "const A = f(1, 2) + 3\n");
}

TEST_CASE("comments keep their place, and their depth where it is a block's") {
  CHECK_EQ(formatted("# top\n"
                     "def f<1>():   # header\n"
                     "  # first\n"
                     "  if a:#why\n"
                     "    b = 1\n"
                     "    # in the if\n"
                     "   # not deep enough for it\n"
                     "  # after it\n"
                     "  c = g(a, # of a\n"
                     "        # of b\n"
                     "        b)\n"
                     "  # the end of f\n"
                     "# the end\n"),
           "# top\n"
           "def f<1>():  # header\n"
           "    # first\n"
           "    if a:  #why\n"
           "        b = 1\n"
           "        # in the if\n"
           "    # not deep enough for it\n"
           "    # after it\n"
           "    c = g(a,  # of a\n"
           "        # of b\n"
           "        b)\n"
           "    # the end of f\n"
           "\n"
           "# the end\n");
}

TEST_CASE("one empty line stays, and stands around kernels and pipelines") {
  CHECK_EQ(formatted("\n\nconst A = 1\n\n\n\nconst B = 2\n# of f\ndef f<1>():\n\n    a = 1\n\n\n"
                     "    b = 2\nconst C = 3\n\n"),
           "const A = 1\n"
           "\n"
           "const B = 2\n"
           "\n"
           "# of f\n"
           "def f<1>():\n"
           "    a = 1\n"
           "\n"
           "    b = 2\n"
           "\n"
           "const C = 3\n");
}

TEST_CASE("an empty file and a file of comments print as what they are") {
  CHECK_EQ(formatted(""), "");
  CHECK_EQ(formatted("\n\n"), "");
  CHECK_EQ(formatted("\n  # a\n\n\n#b"), "# a\n\n#b\n");
}

TEST_CASE("every construct has one form") {
  const std::string canonical =
      "const A, B: i32 = 1, 0x2\n"
      "const C in [1, 2] = 1\n"
      "require A == B, \"why \\\"not\\\"\"\n"
      "\n"
      "@threads(128)\n"
      "@fast\n"
      "def f<M / A, (N > 1) + 1>(f16* p, i32 n):\n"
      "    while true:\n"
      "        for i in range(1, n, 2):\n"
      "            continue\n"
      "        break\n"
      "    if a or b:\n"
      "        pass\n"
      "    elif c:\n"
      "        x, y = g()\n"
      "    else:\n"
      "        g(x, z=~y)\n"
      "\n"
      "pipeline main(a: f16[M, K], n: i32) -> (c: f16[M]):\n"
      "    f(a, n, c)\n";
  CHECK_EQ(formatted(canonical), canonical);
}

}  // namespace
}  // namespace tilevm::frontend
