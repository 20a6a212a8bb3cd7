// Codes, names of near misses, and places in a source.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "isa/base/codes.h"
#include "isa/base/source.h"
#include "isa/base/suggest.h"

namespace tilevm {
namespace {

/// The lines of the longest paragraph: a code of several kinds has a paragraph for each.
std::size_t longest_paragraph(std::string_view text) {
  std::size_t longest = 0, lines = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines = end == 0 ? 0 : lines + 1;
    longest = std::max(longest, lines);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return longest;
}

TEST_CASE("every code has a title of its own and paragraphs of at most eight lines") {
  std::set<std::string> titles;
  for (const Code code : all_codes()) {
    const auto info = code_info(code);
    REQUIRE(info);
    INFO(to_string(code));
    CHECK(titles.insert(std::string(info->title)).second);
    CHECK_GE(std::ranges::count(info->explanation, '\n'), 2);
    CHECK_LE(longest_paragraph(info->explanation), 8);
    CHECK(info->explanation.find("\n    ") != std::string_view::npos);  // an example
    CHECK_NE(info->explanation.back(), '\n');
  }
  CHECK_GT(titles.size(), 60);
}

TEST_CASE("codes are listed in ascending order and read back from their text") {
  const std::vector<Code> codes = all_codes();
  CHECK(std::is_sorted(codes.begin(), codes.end()));
  for (const Code code : codes) CHECK(parse_code(to_string(code)) == code);
  CHECK_EQ(to_string(Code::unknown_layout), "TV0104");
}

TEST_CASE("a code may be written without its prefix and zeros; other text is not a code") {
  CHECK(parse_code("tv104") == Code::unknown_layout);
  CHECK(parse_code("104") == Code::unknown_layout);
  for (const char* text : {"", "TV", "TV0", "0", "99", "TV9999", "-1", "1x", "T104", "70000",
                           "99999999999999999999"}) {
    INFO(text);
    CHECK_FALSE(parse_code(text).has_value());
  }
  CHECK_FALSE(code_info(static_cast<Code>(99)).has_value());
}

TEST_CASE("the nearest name is found through typing errors, and only then") {
  const std::vector<std::string> names{"LoadGlobal", "LoadShared", "Dot", "column_local"};
  CHECK_EQ(nearest("LoadGlobl", names), "LoadGlobal");
  CHECK_EQ(nearest("laodshared", names), "LoadShared");
  CHECK_EQ(nearest("column", names), "column_local");
  CHECK_EQ(nearest("Dto", names), "Dot");
  CHECK_EQ(nearest("Multiply", names), "");
  CHECK_EQ(nearest("", names), "");
  CHECK_EQ(nearest("x", {}), "");
  CHECK_EQ(nearest("S", {"l", "x"}), "");  // all names of one letter are one change apart
  CHECK_EQ(nearest("n", {"x", "N"}), "N");
  CHECK_EQ(nearest("bb", {"b"}), "b");
}

TEST_CASE("one changed letter of a long name is always a near miss") {
  CHECK(rc::check("nearest", [](std::uint8_t at) {
    const std::string name = "CopyAsyncWaitGroup";
    std::string typed = name;
    typed[at % typed.size()] = '_';
    RC_ASSERT((nearest(typed, {name, "Synchronize"}) == name));
  }));
}

TEST_CASE("lines and columns count from one, in bytes, and end with the file") {
  const SourceFile source("s", "ab\r\n\ncd");
  CHECK_EQ(source.line_count(), 3);
  CHECK(source.locate(0) == LineColumn{1, 1});
  CHECK(source.locate(4) == LineColumn{2, 1});
  CHECK(source.locate(6) == LineColumn{3, 2});
  CHECK(source.locate(1000) == LineColumn{3, 3});
  CHECK_EQ(source.line(1), "ab");
  CHECK_EQ(source.line(2), "");
  CHECK_EQ(source.line(3), "cd");
  CHECK_EQ(source.line(0), "");
  CHECK_EQ(source.line(4), "");
  CHECK_EQ(source.text(Span{5, 900}), "cd");
  CHECK_EQ(source.text(Span{900, 1}), "");
}

TEST_CASE("a located offset is where its line begins plus its column") {
  CHECK(rc::check("locate", [](const std::string& text) {
    const SourceFile source("s", text);
    for (std::size_t i = 0; i < text.size(); ++i) {
      const LineColumn place = source.locate(i);
      const auto breaks =
          std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(i), '\n');
      RC_ASSERT((place.line == 1 + breaks));
      const std::size_t before = i == 0 ? std::string::npos : text.rfind('\n', i - 1);
      const std::size_t start = before == std::string::npos ? 0 : before + 1;
      RC_ASSERT((place.column == static_cast<int>(i - start) + 1));
    }
  }));
}

TEST_CASE("joining spans covers both") {
  CHECK(join({3, 5}, {1, 4}) == Span{1, 5});
  CHECK(join({1, 2}, {7, 9}) == Span{1, 9});
}

}  // namespace
}  // namespace tilevm
