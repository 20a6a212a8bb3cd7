// The words of the debugger: whatever is typed, wherever the run is, gets an answer.
#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "vm/debug/debugger.h"
#include "vm/debug/expression_text.h"
#include "vm/debug/open.h"
#include "vm/debug/target.h"
#include "vm/debug/words.h"

namespace {

using namespace tilevm;
using namespace tilevm::vm;

std::unique_ptr<sim::debug::Session> open(const std::string& program,
                                          const std::vector<std::string>& defines) {
  TargetRequest request;
  request.path = std::string(TILEVM_SOURCE_DIR) + "/" + program;
  request.defines = defines;
  Result<FoundTarget> found = find_target(request);
  REQUIRE(found.ok());
  REQUIRE(found->target.has_value());
  auto session = open_session(found->target->program, found->target->entry,
                              std::move(found->target->tensors), {});
  REQUIRE(session.ok());
  return *std::move(session);
}

TEST_CASE("debug: Tab completes words, topics and names") {
  const auto session = open("programs/matmul_f16_pipelined.tile", {"M=64", "N=64", "K=64"});
  using Words = std::vector<std::string>;
  CHECK(complete_line(*session, "reverse-n") == Words{"reverse-next"});
  CHECK(complete_line(*session, "info b") == Words{"breakpoints", "blocks", "barriers"});
  CHECK(complete_line(*session, "help reverse-n") == Words{"reverse-next"});
  CHECK(complete_line(*session, "print a") == Words{"a"});
  CHECK(complete_line(*session, "print nothing").empty());
}

TEST_CASE("debug: any line gets an answer") {
  std::vector<std::string> parts{
      "a",         "acc",      "sa",          "ga",          "c",       "bi",         "b1",
      "k",         "[",        "]",           ",",           "0",       "3",          "99999",
      "-1",        ":",        "@",           "5",           "/x",      "/t",         "/q",
      "if",        "==",       "+",           "(",           ")",       "Dot",        "LoadShared",
      "wrote",     "did",      "last change", "via",         "levels",  "=",          "0x1f",
      "1e400",     "a[0, 0]",  "acc[3, 5]",   "sa[0, 1, 2]", "c[1, 1]", "ga[0, 0:3]", "acc@5",
      "acc@-1",    "$c[0, 0]", "nan(acc)",    "\xff",        "\"",      "blocks",     "races",
      "groups",    "barriers", "stats",       "cost",        "scalars", "tensors",    "breakpoints",
      "snapshots", "all",      "ignore 2"};
  std::vector<std::string> names;
  for (const Word& word : debug_words()) {
    // `source` and `diff` reach out of the session.
    if (word.name != "quit" && word.name != "source" && word.name != "diff") {
      names.emplace_back(word.name);
    }
  }
  std::ostringstream out;
  Debugger debugger(open("programs/matmul_f16_pipelined.tile", {"M=64", "N=64", "K=64"}), out, {});
  std::mt19937 random(1);
  for (int i = 0; i < 3000; ++i) {
    std::string line = names[random() % names.size()];
    for (std::uint32_t n = random() % 5; n > 0; --n) {
      line += (random() % 4 == 0 ? "" : " ") + parts[random() % parts.size()];
    }
    CAPTURE(line);
    out.str("");
    CHECK(debugger.line(line));
    const bool comment = line.empty();
    CHECK((comment || !out.str().empty()));
  }
}

TEST_CASE("debug: words are distinguished by their beginnings") {
  std::set<std::string_view> seen;
  for (const Word& word : debug_words()) {
    CAPTURE(word.name);
    CHECK(seen.insert(word.name).second);
    for (const std::string_view alias : word.aliases) CHECK(seen.insert(alias).second);
    CHECK(word.form.starts_with(word.name));
    const Result<const Word*> found = find_word(word.name);
    REQUIRE(found.ok());
    CHECK((*found)->name == word.name);
  }
  CHECK((*find_word("fini"))->name == "finish");
  CHECK_FALSE(find_word("re").ok());
  CHECK_FALSE(find_word("").ok());
}

TEST_CASE("debug: expressions") {
  for (const char* const good :
       {"1", "0x1f", "-3", "1.5e3", "a + b * 2", "not a", "!(a == b) and c < 2 || d", "$x",
        "T[0, i + 1] > 2.5", "nan(T) + inf(T[0, 0])", "((((1))))", "a<<2>>1", "~7"}) {
    CAPTURE(good);
    CHECK(parse_debug_expression(good).ok());
  }
  for (const char* const bad :
       {"", "1 +", "(1", "T[", "T[]", "sin(T)", "1 2", "a b", "&", "0x", "T[0", "nan(1)"}) {
    CAPTURE(bad);
    CHECK_FALSE(parse_debug_expression(bad).ok());
  }
  CHECK_FALSE(parse_debug_expression(std::string(1000, '(')).ok());
  CHECK_FALSE(parse_debug_expression(std::string(1000, '-') + "1").ok());
}

/// "1 + 1 + .." with so many terms.
std::string sum(std::size_t terms) {
  std::string text = "1";
  for (std::size_t i = 1; i < terms; ++i) text += " + 1";
  return text;
}

TEST_CASE("debug: long and deep expressions are refused, whatever takes them") {
  const auto small = parse_debug_expression(sum(500));
  REQUIRE(small.ok());
  CHECK((*small)->text == sum(500));
  for (const std::size_t terms : {12'000, 200'000}) {
    const auto large = parse_debug_expression(sum(terms));
    REQUIRE_FALSE(large.ok());
    CHECK(large.error().message.find("at most") != std::string::npos);
    CHECK(large.error().message.size() < 200);
    for (const std::string word : {"print ", "break 12 if ", "watch acc if ", "set bk = "}) {
      CHECK_FALSE(parse_line(word + sum(terms)).ok());
    }
  }
  CHECK_FALSE(parse_debug_expression(std::string(2000, '(') + "1" + std::string(2000, ')')).ok());
  CHECK_FALSE(parse_debug_expression(std::string(2000, '-') + "1").ok());
  std::string nested = "0";
  for (int i = 0; i < 100; ++i) nested = "a[" + nested + "]";
  CHECK_FALSE(parse_debug_expression(nested).ok());
  const auto wrong = parse_debug_expression(std::string(5000, 'x') + " $$");
  REQUIRE_FALSE(wrong.ok());
  CHECK(wrong.error().message.size() < 400);
}

TEST_CASE("debug: names in a condition are its operands, each once") {
  const auto condition = parse_debug_expression("i == 3 && acc[0, i] > 1.5 || nan(acc) && i > 0");
  REQUIRE(condition.ok());
  std::vector<std::string> texts;
  for (const auto& operand : sim::debug::operands_of(*condition)) texts.push_back(operand->text);
  CHECK(texts == std::vector<std::string>{"i", "acc[0, i]", "nan(acc)"});
}

TEST_CASE("debug: a breakpoint takes no longer because there are others") {
  std::ostringstream out;
  Debugger debugger(open("programs/figure2.tile", {"M=16", "N=8", "K=32"}), out, {});
  constexpr int count = 100'000;  // a minute and more, if each looked at all others
  for (int i = 0; i < count; ++i)
    debugger.line(i % 2 == 0 ? "break 22 if bk == 5" : "break Cast if 0");
  for (int i = 1; i < count; ++i) debugger.line("delete " + std::to_string(i));
  out.str({});
  debugger.line("info breakpoints");
  CHECK(out.str() == "100000  break Cast if 0, 0 hits\n");
}

TEST_CASE("debug: words of gdb are answered by what does the same here") {
  for (const std::string word : {"display x", "ptype acc", "up", "condition 1 i == 2", "info args",
                                 "info registers", "x/4xw s", "x/s s", "cuda block 1"}) {
    const auto input = parse_line(word);
    REQUIRE_FALSE(input.ok());
    CHECK(input.error().message.find('`') != std::string::npos);
    CHECK(input.error().message.find("is not a command") == std::string::npos);
  }
  for (const std::string word :
       {"stepi", "nexti 3", "advance 12", "backtrace", "frame", "inspect a", "x/8x s[0, 0]", "x s",
        "info locals", "set var i = 3", "set height 0", "set pagination off", "reverse-stepi"}) {
    CHECK(parse_line(word).ok());
  }
}

TEST_CASE("debug: a long answer is cut, and says so") {
  std::ostringstream out;
  DebuggerOptions options;
  options.height = 4;
  Debugger debugger(open("programs/figure2.tile", {"M=16", "N=8", "K=32"}), out, options);
  debugger.line("help");
  const std::string cut = out.str();
  CHECK(std::count(cut.begin(), cut.end(), '\n') == 5);
  CHECK(cut.find("more lines; `set height 0` shows all") != std::string::npos);
  debugger.line("set height 0");
  out.str({});
  debugger.line("help");
  const std::string whole = out.str();
  CHECK(std::count(whole.begin(), whole.end(), '\n') > 30);
}

}  // namespace
