// The words of the debugger: whatever is typed, wherever the run is, gets an answer.
#include <doctest/doctest.h>

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

TEST_CASE("debug: words are told apart by their beginnings") {
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

}  // namespace
