// Files that include others, and functions that are inlined: what messages show of both.
#include <doctest/doctest.h>

#include <map>
#include <memory>
#include <string>

#include "frontend/bind/frontend.h"
#include "frontend/syntax/grammar.h"
#include "frontend/syntax/includes.h"
#include "isa/base/render.h"

namespace tilevm::frontend {
namespace {

using Files = std::map<std::string, std::string>;

std::shared_ptr<const SourceFile> source_of(const Files& files) {
  const auto own = std::make_shared<const SourceFile>("main.tile", files.at("main.tile"));
  return with_includes(own, "main.tile",
                       [&](const std::string& path, const std::string&) -> Result<FoundFile> {
                         const auto found = files.find(path);
                         if (found != files.end()) return FoundFile{path, path, found->second};
                         return Error{ErrorKind::program, "there is no file `" + path + "`"};
                       });
}

/// What is said of a program, or "".
std::string messages_of(const Files& files) {
  std::shared_ptr<const SourceFile> source = source_of(files);
  Diagnostics diagnostics;
  (void)load(source, {}, diagnostics, &source);
  return render(diagnostics, *source, false);
}

const std::string kernel = "def f<1>(f32* p):\n    x = AllocateRegister(f32, layout=L, init=0)\n";

TEST_CASE("a message about an included file names it, with its own lines") {
  CHECK_EQ(messages_of({{"main.tile", "include \"layouts.tile\"\n" + kernel},
                        {"layouts.tile", "# layouts\nconst L: layout = lokal(4)\n"}}),
           "layouts.tile:2:19: error: unknown layout `lokal`; did you mean `local`? [TV0104]\n"
           "const L: layout = lokal(4)\n"
           "                  ^~~~~\n"
           "                  local\n"
           "1 error\n");
}

TEST_CASE(
    "a message about the body of a function shows the calls that led to it, the inner first") {
  const std::string text =
      "def inner(x) -> tile:\n    return Nothing(x)\n"
      "def outer(x) -> tile:\n    return inner(x)\n"
      "def f<1>(f32* p):\n"
      "    x = AllocateRegister(f32, layout=local(4), init=0)\n"
      "    y = outer(x)\n    z = outer(x)\n";
  CHECK_EQ(messages_of({{"main.tile", text}}),
           "main.tile:2:12: error: unknown instruction `Nothing` [TV0102]\n"
           "    return Nothing(x)\n"
           "           ^~~~~~~\n"
           "main.tile:4:12: note: in `inner`, which is called here\n"
           "    return inner(x)\n"
           "           ^~~~~~~~\n"
           "main.tile:7:9: note: in `outer`, which is called here\n"
           "    y = outer(x)\n"
           "        ^~~~~~~~\n"
           "1 error\n");
}

TEST_CASE("a file is included once, and never by itself") {
  const Files twice = {{"main.tile", "include \"a.tile\"\ninclude \"b.tile\"\n" + kernel},
                       {"a.tile", "include \"b.tile\"\nconst M = 4\n"},
                       {"b.tile", "const L: layout = local(4)\n"}};
  CHECK_EQ(messages_of(twice), "");
  const std::string text = messages_of({{"main.tile", "include \"a.tile\"\n" + kernel},
                                        {"a.tile", "include \"b.tile\"\n"},
                                        {"b.tile", "include \"a.tile\"\n"}});
  CHECK(text.find("b.tile:1:9: error: a file cannot include itself: `a.tile` includes `b.tile` "
                  "includes `a.tile` [TV0009]") != std::string::npos);
}

TEST_CASE(
    "what follows a requirement that fails is in the order of the program, not of its files") {
  // a.tile is before b.tile, whose requirement fails, in the program, but includes it first.
  const Files files = {
      {"main.tile", "const BEFORE = 1 / 0\ninclude \"a.tile\"\nconst AFTER = 2 / 0\n" + kernel},
      {"a.tile", "include \"b.tile\"\nconst L: layout = local(3 / 0)\n"},
      {"b.tile", "const N = 4\nrequire N > 4, \"N is too small\"\n"}};
  const std::string text = messages_of(files);
  CHECK(text.find("main.tile:1:16: error: division by zero") != std::string::npos);
  CHECK(text.find("b.tile:2:9: error: N is too small") != std::string::npos);
  CHECK(text.find("2 errors\n") != std::string::npos);
}

TEST_CASE("a text that is not a file includes the standard library only") {
  const auto own = std::make_shared<const SourceFile>(
      "text", "include \"std/reduce.tile\"\ninclude \"a.tile\"\ndef f<1>():\n    pass\n");
  Diagnostics diagnostics;
  CHECK_FALSE(load(with_standard_library(own), {}, diagnostics).has_value());
  REQUIRE_EQ(diagnostics.error_count(), 1);
  CHECK(diagnostics.sorted()[0].message.starts_with("`a.tile` cannot be found: this text is no"));
}

TEST_CASE("a flattened program stands alone and is the same") {
  const auto source = source_of(
      {{"main.tile", "const N = 2  # first\ninclude \"a.tile\"\ninclude \"a.tile\"\n" + kernel},
       {"a.tile", "const L: layout = local(N)"}});
  const std::string text = flattened(*source);
  CHECK_EQ(text.find("include"), std::string::npos);
  const auto alone = std::make_shared<const SourceFile>("alone.tile", text);
  Diagnostics diagnostics;
  CHECK(load(alone, {}, diagnostics).has_value());
}

TEST_CASE("what expands without end is refused in time") {
  const auto code_of = [](const std::string& text) {
    Diagnostics diagnostics;
    const auto source = std::make_shared<const SourceFile>("text", text);
    CHECK_FALSE(load(source, {}, diagnostics).has_value());
    return diagnostics.error_count() > 0 ? diagnostics.sorted()[0].code : Code::no_entry;
  };
  std::string calls = "def g0(x) -> tile:\n    return x + x\n";
  for (int i = 1; i < 40; ++i) {  // 2^40 additions
    const std::string before = "g" + std::to_string(i - 1);
    calls += "def g" + std::to_string(i) + "(x) -> tile:\n    return " + before + "(" + before +
             "(x))\n";
  }
  CHECK_EQ(code_of(calls + kernel + "    y = g39(x)\nconst L: layout = local(4)\n"),
           Code::program_too_large);
  CHECK_EQ(code_of("const A = [i for i in range(60000)]\nconst B = [len(A) for i in A]\n" + kernel),
           Code::program_too_large);
  CHECK_EQ(code_of("const A = [len([j for j in range(60000)]) for i in range(60000)]\n" + kernel),
           Code::program_too_large);
}

}  // namespace
}  // namespace tilevm::frontend
