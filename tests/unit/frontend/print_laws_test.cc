// The printer's laws: what it prints parses to the same tree and the same comments, and printing
// that again changes nothing.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "frontend/print/print.h"
#include "tests/unit/frontend/parsing.h"
#include "tests/unit/frontend/random_tree.h"

namespace tilevm::frontend {
namespace {

std::vector<std::string> comment_texts(const ast::Program& program) {
  std::vector<std::string> result;
  for (const ast::Comment& comment : program.comments) result.push_back(comment.text);
  return result;
}

/// Whether `text` parses and obeys the laws; says why not.
std::string broken_law(const std::string& text) {
  const Parsed first = parse_text(text);
  if (!first.program) return "does not parse: " + messages(first).front() + "\n" + text;
  const std::string printed = print(*first.program);
  const Parsed second = parse_text(printed);
  if (!second.program) return "print does not parse: " + messages(second).front() + "\n" + printed;
  if (!(*second.program == *first.program)) return "another tree:\n" + text + "\n" + printed;
  if (comment_texts(*second.program) != comment_texts(*first.program)) {
    return "other comments:\n" + text + "\n" + printed;
  }
  const std::string again = print(*second.program);
  return again == printed ? "" : "not idempotent:\n" + printed + "\n" + again;
}

/// Puts comments and empty lines at random places where they are possible.
std::string with_comments(const std::string& text, RandomTree& random) {
  std::string result;
  int number = 0;
  const auto comment = [&number] { return "# comment " + std::to_string(++number); };
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    while (random.below(4) == 0) result += "\n";
    while (random.below(4) == 0) {
      result += std::string(static_cast<std::size_t>(random.below(14)), ' ') + comment() + "\n";
    }
    result += text.substr(begin, end - begin);
    if (random.below(3) == 0) result += " " + comment();
    result += "\n";
    begin = end + 1;
  }
  return random.below(2) == 0 ? result : result + "    " + comment();
}

/// Breaks lines after some commas and brackets, with comments there.
std::string with_breaks(const std::string& text, RandomTree& random) {
  std::string result;
  bool in_string = false;
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    result += c;
    if (c == '\\') result += text[++i];
    if (c == '"') in_string = !in_string;
    if (in_string) continue;
    if (c == '(' || c == '[') ++depth;
    if (c == ')' || c == ']') --depth;
    if (depth > 0 && (c == '(' || c == '[' || c == ',') && random.below(4) == 0) {
      if (random.below(2) == 0) result += " # here";
      result += "\n  ";
      if (random.below(3) == 0) result += "  # own line\n ";
    }
  }
  return result;
}

TEST_CASE("a printed random tree parses to the same tree") {
  CHECK(rc::check("parse(print(tree)) == tree", [](std::uint64_t seed) {
    const ast::Program tree = RandomTree(seed).program();
    const std::string text = print(tree);
    const Parsed parsed = parse_text(text);
    if (!parsed.program) RC_FAIL(messages(parsed).front() + "\n" + text);
    if (!(*parsed.program == tree)) RC_FAIL("another tree:\n" + text);
  }));
}

TEST_CASE("printing is idempotent and keeps every comment") {
  CHECK(rc::check("laws with comments", [](std::uint64_t seed) {
    RandomTree random(seed);
    const std::string text = with_comments(with_breaks(print(random.program()), random), random);
    const std::string fault = broken_law(text);
    if (!fault.empty()) RC_FAIL(fault);
  }));
}

TEST_CASE("a printed random expression parses to the same expression") {
  CHECK(rc::check("parse_expression(print(e)) == e", [](std::uint64_t seed) {
    const ast::Expr tree = RandomTree(seed).expression(6);
    const std::string text = print(tree);
    const std::optional<ast::Expr> parsed = expression_of(text);
    if (!parsed || !(*parsed == tree)) RC_FAIL(text);
  }));
}

TEST_CASE("every program of the repository obeys the laws") {
  int count = 0;
  const std::filesystem::path folder = std::filesystem::path(TILEVM_SOURCE_DIR) / "programs";
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".tile") continue;
    std::ifstream file(entry.path());
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    INFO(entry.path().string());
    CHECK_EQ(broken_law(text), "");
    ++count;
  }
  CHECK_GT(count, 0);
}

}  // namespace
}  // namespace tilevm::frontend
