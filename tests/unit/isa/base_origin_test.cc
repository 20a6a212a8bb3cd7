// `#line`: where the statements of a generated program come from.
#include <doctest/doctest.h>

#include <string>

#include "isa/base/origin.h"
#include "isa/base/render.h"

namespace tilevm {
namespace {

/// "file:line text" of the statement that a word of the text begins, or "none".
std::string from(const SourceFile& source, const std::string& statement) {
  const auto origin = origin_at(source, source.text().find(statement));
  if (!origin) return "none";
  return std::string(origin->file) + ":" + std::to_string(origin->line) + " " +
         std::string(origin->text);
}

TEST_CASE("a line of a comment is read, or it is another comment") {
  const auto origin = parse_origin("    #line 14 \"a/kernel.py\" acc = tl.dot(x, y, acc) ");
  REQUIRE(origin);
  CHECK_EQ(*origin, Origin{"a/kernel.py", 14, "acc = tl.dot(x, y, acc)"});
  CHECK_EQ(origin_text(*origin), "kernel.py:14");
  for (const char* other : {"#line", "# line 14 \"k.py\"", "#line 0 \"k.py\"", "#line -3 \"k.py\"",
                            "#line 14", "#line 14 k.py", "#line 14 \"\"", "#line 14 \"k.py",
                            "#line 99999999999 \"k.py\"", "#lines 14 \"k.py\"", "x = 1"}) {
    CHECK_FALSE(parse_origin(other));
  }
}

TEST_CASE("a comment holds up to the next one, and no further than its function") {
  const SourceFile source("k.tile",
                          "def f<1>(f32* p):\n"
                          "    first = 0\n"
                          "    #line 3 \"k.py\" a = 1\n"
                          "    second = 0\n"
                          "    for i in range(2):\n"
                          "        #line 4 \"k.py\"\n"
                          "        third = 0\n"
                          "    fourth = 0\n"
                          "    #line\n"
                          "    fifth = 0\n"
                          "    #line 9 \"k.py\" b = 2\n"
                          "    sixth = 0\n"
                          "\n"
                          "def g(x):\n"
                          "    seventh = 0\n");
  CHECK_EQ(from(source, "first"), "none");
  CHECK_EQ(from(source, "second"), "k.py:3 a = 1");
  CHECK_EQ(from(source, "for i"), "k.py:3 a = 1");
  CHECK_EQ(from(source, "third"), "k.py:4 ");
  CHECK_EQ(from(source, "fourth"), "k.py:4 ");
  CHECK_EQ(from(source, "fifth"), "none");
  CHECK_EQ(from(source, "sixth"), "k.py:9 b = 2");
  CHECK_EQ(from(source, "seventh"), "none");
  CHECK_EQ(first_from(source, "k.py", 4), source.text().find("        third"));
  CHECK_EQ(first_from(source, "k.py", 5), source.text().find("    sixth"));
  CHECK_FALSE(first_from(source, "k.py", 10));
  CHECK_FALSE(first_from(source, "y", 1));
}

TEST_CASE("an inlined function without an origin of its own has that of its call") {
  SourceFile source("k.tile",
                    "def g(x):\n"
                    "    body = x\n"
                    "def f<1>(f32* p):\n"
                    "    #line 7 \"k.py\" a = g(1)\n"
                    "    a = g(1)\n");
  const auto body = static_cast<std::uint32_t>(source.text().find("    body"));
  const auto call = static_cast<std::uint32_t>(source.text().find("g(1)\n"));
  const auto call_in_code = static_cast<std::uint32_t>(source.text().rfind("g(1)"));
  CHECK_NE(call, call_in_code);
  const auto shift = source.add_call({body, body + 12}, "g", {call_in_code, call_in_code + 4});
  REQUIRE(shift);
  const auto origin = origin_at(source, body + 4 + *shift);
  REQUIRE(origin);
  CHECK_EQ(origin->line, 7);
}

TEST_CASE("a report shows the line that a statement comes from") {
  const SourceFile source("k.tile",
                          "def f<1>(f32* p):\n"
                          "    #line 7 \"dir/k.py\" a = tl.load(p)\n"
                          "    a = oops\n");
  const auto at = static_cast<std::uint32_t>(source.text().find("oops"));
  const Diagnostic diagnostic{
      Code::unknown_layout, Severity::error, {at, at + 4}, "unknown `oops`", "", {}};
  CHECK_EQ(render(diagnostic, source, false),
           "k.tile:3:9: error: unknown `oops` [TV0104]\n"
           "    a = oops\n"
           "        ^~~~\n"
           "dir/k.py:7: a = tl.load(p)\n");
}

}  // namespace
}  // namespace tilevm
