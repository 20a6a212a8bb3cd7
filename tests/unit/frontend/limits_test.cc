// Programs come from strangers: whatever the text, one clean message, no crash and no hang.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "frontend/print/print.h"
#include "frontend/syntax/lines.h"
#include "tests/unit/frontend/parsing.h"

namespace tilevm::frontend {
namespace {

std::string repeat(const std::string& text, int times) {
  std::string result;
  for (int i = 0; i < times; ++i) result += text;
  return result;
}

/// The codes of the faults in `const A = <text>`.
std::vector<Code> codes_of_value(const std::string& text) {
  const Parsed parsed = parse_text("const A = " + text + "\n");
  std::vector<Code> codes;
  for (const Diagnostic& d : parsed.diagnostics.sorted()) codes.push_back(d.code);
  return codes;
}

const std::vector<Code> none;
const std::vector<Code> too_deep{Code::nesting_too_deep};

TEST_CASE("brackets nest 256 deep and no deeper") {
  CHECK_EQ(codes_of_value(repeat("(", 256) + "1" + repeat(")", 256)), none);
  CHECK_EQ(codes_of_value(repeat("(", 257) + "1" + repeat(")", 257)), too_deep);
  CHECK_EQ(codes_of_value(repeat("(", 20000) + "1" + repeat(")", 20000)), too_deep);
  CHECK_EQ(codes_of_value(repeat("[", 20000)), too_deep);
  CHECK_EQ(codes_of_value(repeat("f(", 20000) + repeat(")", 20000)), too_deep);
}

TEST_CASE("the fault of deep brackets is at the first that is too deep") {
  const Parsed parsed = parse_text("const A = " + repeat("(", 300) + "1" + repeat(")", 300));
  REQUIRE_EQ(parsed.diagnostics.error_count(), 1);
  CHECK_EQ(parsed.diagnostics.sorted().front().span, Span{10 + 256, 10 + 257});
}

TEST_CASE("a tree is at most 256 high, however it is written") {
  CHECK_EQ(codes_of_value("1" + repeat(" + 1", 255)), none);
  CHECK_EQ(codes_of_value("1" + repeat(" + 1", 256)), too_deep);
  CHECK_EQ(codes_of_value("1" + repeat("+1", 30000)), too_deep);
  CHECK_EQ(codes_of_value(repeat("-", 255) + "1"), none);
  CHECK_EQ(codes_of_value(repeat("-", 30000) + "1"), too_deep);
  CHECK_EQ(codes_of_value(repeat("not ", 30000) + "1"), too_deep);
  CHECK_EQ(codes_of_value("a" + repeat(".f()", 30000)), too_deep);
  CHECK_EQ(codes_of_value(repeat("f(", 255) + "1" + repeat(")", 255)), none);
  CHECK_EQ(codes_of_value(repeat("1+(", 200) + "1" + repeat(")+1", 200)), too_deep);
}

TEST_CASE("the highest tree can be printed and compared") {
  const auto tree = expression_of(repeat("[1 + ", 127) + "1" + repeat("]", 127));
  REQUIRE(tree);
  const auto again = expression_of(print(*tree));
  REQUIRE(again);
  CHECK(*again == *tree);
}

TEST_CASE("blocks nest 256 deep and no deeper") {
  const auto nested = [](int depth) {
    std::string text = "def f<1>():\n";
    for (int i = 1; i < depth; ++i) {
      text += std::string(static_cast<std::size_t>(i), ' ') + "while a:\n";
    }
    return text + std::string(static_cast<std::size_t>(depth), ' ') + "pass\n";
  };
  CHECK_EQ(faults_of(nested(256)).size(), 0);
  REQUIRE_EQ(faults_of(nested(257)).size(), 1);
  CHECK(faults_of(nested(2000)).front().find("TV0004 blocks nest more than 256 deep") !=
        std::string::npos);
}

TEST_CASE("long lists and long files are not depth") {
  CHECK_EQ(codes_of_value("[" + repeat("1, ", 30000) + "]"), none);
  CHECK_EQ(faults_of(repeat("const A = 1\n", 20000)).size(), 0);
  CHECK_EQ(faults_of("def f<1>():\n" + repeat("    if a:\n        pass\n", 20000)).size(), 0);
}

TEST_CASE("many brackets that are never closed end the reading early") {
  CHECK_LE(faults_of(repeat("x = (\n1\n", 30000)).size(), 40);
  CHECK_LE(faults_of(repeat("const A = (\n", 30000)).size(), 40);
}

TEST_CASE("what is not text is refused once") {
  using Messages = std::vector<std::string>;
  CHECK_EQ(faults_of(std::string("const A = 1\n\0\0\0", 15)),
           Messages{"2:1 TV0007 byte 0x00 at offset 12 is not UTF-8 text; is this a program?"});
  CHECK_EQ(faults_of("const A = 1  # \x1b[2J\n"),
           Messages{"1:16 TV0007 byte 0x1b at offset 15 is a control character; programs are text, "
                    "and strings write it as `\\x1b`"});
  CHECK_EQ(faults_of("# \xc2\x9b\n").size(), 1);  // an escape sequence begins so, too
  CHECK_EQ(faults_of("const A = 1\t# tab\r\n").size(), 0);
  CHECK_EQ(faults_of("# \xff\xfe\n").size(), 1);
  CHECK_EQ(faults_of("# \xed\xa0\x80\n").size(), 1);  // a surrogate
  CHECK_EQ(faults_of("# \xc0\xaf\n").size(), 1);      // an overlong slash
  CHECK_EQ(faults_of("# \xf4\x90\x80\x80\n").size(), 1);
  CHECK_EQ(faults_of("# \xe2\x82").size(), 1);
  CHECK_EQ(faults_of("# \xe2\x82\xac \xf0\x9f\x98\x80\n").size(), 0);
}

TEST_CASE("a file of more than 4 MiB is refused") {
  const std::string line = "const A = 1  # ..........................................\n";
  std::string text = repeat(line, static_cast<int>(max_file_bytes / line.size()));
  CHECK_EQ(faults_of(text).size(), 0);
  text.resize(max_file_bytes + 1, '\n');
  REQUIRE_EQ(faults_of(text).size(), 1);
  CHECK(faults_of(text).front().find("TV0005") != std::string::npos);
}

TEST_CASE("numbers beyond their range are refused") {
  const std::vector<Code> bad{Code::bad_number};
  CHECK_EQ(codes_of_value("18446744073709551615"), none);
  CHECK_EQ(codes_of_value("18446744073709551616"), bad);
  CHECK_EQ(codes_of_value("0xffffffffffffffff"), none);
  CHECK_EQ(codes_of_value("0x10000000000000000"), bad);
  CHECK_EQ(codes_of_value("1e308"), none);
  CHECK_EQ(codes_of_value("1e309"), bad);
  for (const char* text : {"0x", "0b12", "12ab", "1__0", "1_", "017", "1.5f", "3.local(1)"}) {
    INFO(text);
    CHECK_EQ(codes_of_value(text), bad);
  }
}

}  // namespace
}  // namespace tilevm::frontend
