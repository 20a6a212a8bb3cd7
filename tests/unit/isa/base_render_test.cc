// Diagnostics as text: the layout that compilers have taught people to read.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <string>
#include <vector>

#include "isa/base/render.h"

namespace tilevm {
namespace {

Diagnostic error_at(std::uint32_t begin, std::uint32_t end) {
  return {Code::unknown_layout, Severity::error, {begin, end}, "unknown layout `column`", "", {}};
}

std::string rendered(const std::string& text, std::uint32_t begin, std::uint32_t end) {
  return render(error_at(begin, end), SourceFile("prog.tile", text), false);
}

TEST_CASE("a fault shows its line, carets under it, the fix and the notes") {
  const SourceFile source("prog.tile", "first line\nx = f(layout=column(2, 2),\n");
  Diagnostic d = error_at(24, 30);
  d.fix = "column_local";
  add_note(d, "begun here", Span{11, 12});
  add_note(d, "a plain remark");
  CHECK_EQ(render(d, source, false),
           "prog.tile:2:14: error: unknown layout `column` [TV0104]\n"
           "x = f(layout=column(2, 2),\n"
           "             ^~~~~~\n"
           "             column_local\n"
           "prog.tile:2:1: note: begun here\n"
           "x = f(layout=column(2, 2),\n"
           "^\n"
           "note: a plain remark\n");
}

TEST_CASE("a span over several lines is underlined on its first") {
  CHECK_EQ(rendered("ab cd\nef\n", 3, 8),
           "prog.tile:1:4: error: unknown layout `column` [TV0104]\nab cd\n   ^~\n");
}

TEST_CASE("carets follow tabs, and count a letter of several bytes as one column") {
  CHECK_EQ(rendered("\tab\tcd\n", 4, 6),
           "prog.tile:1:5: error: unknown layout `column` [TV0104]\n\tab\tcd\n\t  \t^~\n");
  CHECK_EQ(
      rendered("\xc3\xa9\xe2\x82\xac x y\n", 6, 7),
      "prog.tile:1:7: error: unknown layout `column` [TV0104]\n\xc3\xa9\xe2\x82\xac x y\n   ^\n");
}

TEST_CASE("the end of a line and of the file can be pointed at") {
  CHECK(rendered("ab\r\ncd", 2, 2).ends_with("\nab\n  ^\n"));
  CHECK(rendered("ab\r\ncd", 6, 6)
            .ends_with(":2:3: error: unknown layout `column` [TV0104]\ncd\n  ^\n"));
  CHECK(
      rendered("ab\n", 900, 950).ends_with(":2:1: error: unknown layout `column` [TV0104]\n\n^\n"));
}

TEST_CASE("bytes that would act on a terminal are shown as ?") {
  CHECK(rendered("a\x1b[31m \x80 \xc2\x9b b\x7f\n", 0, 1).find("\na?[31m ? ?? b?\n^\n") !=
        std::string::npos);
  Diagnostic d = error_at(0, 1);
  d.message = "bad \x1b[0m name";
  d.fix = "\x07";
  CHECK_EQ(render(d, SourceFile("a\nb", "x"), false),
           "a?b:1:1: error: bad ?[0m name [TV0104]\nx\n^\n?\n");
}

TEST_CASE("a long line is cut around the caret") {
  const std::string line = std::string(500, 'a') + "XYZ" + std::string(500, 'b');
  const std::string text = rendered(line + "\n", 500, 503);
  const std::size_t first = text.find('\n') + 1;
  const std::size_t second = text.find('\n', first) + 1;
  const std::string shown = text.substr(first, second - first - 1);
  const std::string carets = text.substr(second);
  CHECK_LE(shown.size(), 130);
  CHECK(shown.starts_with("...aaa"));
  CHECK(shown.ends_with("bbb..."));
  CHECK_EQ(shown.find("XYZ"), carets.find("^~~\n"));
}

TEST_CASE("without a place the file's name stands alone") {
  const Diagnostic d{Code::bad_define, Severity::error, {}, "`M` is not a type", "", {}};
  CHECK_EQ(render(d, SourceFile("prog.tile", "x = 1\n"), false),
           "prog.tile: error: `M` is not a type [TV0117]\n");
}

TEST_CASE("all faults are sorted by place and counted") {
  const SourceFile source("p", "ab\ncd\n");
  Diagnostics diagnostics(2);
  CHECK_EQ(render(diagnostics, source, false), "");
  diagnostics.error(Code::syntax_error, {3, 4}, "second");
  diagnostics.warning(Code::syntax_error, {0, 1}, "first");
  const std::string text = render(diagnostics, source, false);
  CHECK_LT(text.find("warning: first"), text.find("error: second"));
  CHECK(text.ends_with("\n1 error, 1 warning\n"));
  diagnostics.error(Code::syntax_error, {4, 5}, "third");
  CHECK(render(diagnostics, source, false)
            .ends_with("\n2 errors, 1 warning (the last 1 error not shown)\n"));
}

TEST_CASE("colour adds escapes and nothing else") {
  const SourceFile source("prog.tile", "x = column\n");
  Diagnostic d = error_at(4, 10);
  d.fix = "column_local";
  add_note(d, "remark");
  std::string plain;
  const std::string colored = render(d, source, true);
  CHECK(colored.find("\x1b[1;31m") != std::string::npos);
  for (std::size_t i = 0; i < colored.size(); ++i) {
    if (colored[i] == '\x1b') {
      i = colored.find('m', i);
    } else {
      plain += colored[i];
    }
  }
  CHECK_EQ(plain, render(d, source, false));
}

TEST_CASE("any span of any bytes is rendered, with the caret inside the shown line") {
  CHECK(rc::check("render", [](const std::string& text, std::uint16_t a, std::uint16_t b) {
    const std::string out = rendered(text, a % 300U, b % 300U);
    RC_ASSERT((out.ends_with("\n")));
    RC_ASSERT((out.find('\x1b') == std::string::npos));
  }));
}

}  // namespace
}  // namespace tilevm
