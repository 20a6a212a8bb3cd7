// What a short program may make while it is bound: one budget of steps and of memory, wherever
// lists are made, copied or gone through. Each of these ran for minutes or took gigabytes.
#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

#include "frontend/bind/frontend.h"
#include "isa/base/source.h"

namespace tilevm::frontend {
namespace {

std::string repeat(const std::string& text, int times) {
  std::string result;
  for (int i = 0; i < times; ++i) result += text;
  return result;
}

/// The first fault of a program as "line TVnnnn message", or "".
std::string fault_of(const std::string& text) {
  Diagnostics diagnostics;
  auto source = std::make_shared<const SourceFile>("test.tile", text);
  (void)load(source, {}, diagnostics, &source);
  if (!diagnostics.has_errors()) return "";
  const Diagnostic first = diagnostics.sorted().front();
  return std::to_string(source->locate(first.span.begin).line) + " " + to_string(first.code) + " " +
         first.message;
}

std::string kernel(const std::string& body) { return "def f<1>(i32* p, i32 n):\n" + body; }

/// `lines`, each in the block of the line before.
std::string nested(const std::vector<std::string>& lines) {
  std::string text, indent = "    ";
  for (const std::string& line : lines) {
    text += indent + line + "\n";
    indent += "    ";
  }
  return text;
}

bool is_too_much(const std::string& fault, const std::string& line) {
  return fault.starts_with(line + " ") &&
         (fault.find("take too long to expand: more than 2000000 steps") != std::string::npos ||
          fault.find("the program's lists take more than 256 MiB") != std::string::npos);
}

TEST_CASE("lists of lists of lists count with all that they hold") {
  const std::string fault = fault_of(
      "const A = [[k for k in range(1000)] for j in range(1000)]\n"
      "const B = [A for i in range(1000)]\n"
      "const C = [B for i in range(1000)]\n" +
      kernel("    pass\n"));
  CAPTURE(fault);
  CHECK((is_too_much(fault, "1") || is_too_much(fault, "2")));
  CHECK(is_too_much(
      fault_of("const A = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]\n" +
               [] {
                 std::string text;
                 for (int i = 1; i < 12; ++i) {
                   const std::string last = i == 1 ? "A" : "A" + std::to_string(i - 1);
                   text += "const A" + std::to_string(i) + " = [" + repeat(last + ", ", 10) + "]\n";
                 }
                 return text;
               }() +
               kernel("    pass\n")),
      "6"));
}

TEST_CASE("loops over lists count, whatever their bodies do") {
  std::vector<std::string> lines;
  for (int i = 0; i < 10; ++i) {
    lines.push_back("for i" + std::to_string(i) + " in [" + repeat("1, ", 20) + "]:");
  }
  lines.emplace_back("pass");
  const std::string fault = fault_of(kernel(nested(lines)));
  CAPTURE(fault);
  CHECK(is_too_much(fault, "11"));
  const std::string pipeline =
      fault_of(kernel("    pass\n") + "pipeline main(a: i32[4]) -> (b: i32[4]):\n" +
               nested({"for i in range(60000):", "for j in range(60000):", "pass"}));
  CHECK(pipeline.find("take too long to expand") != std::string::npos);
}

TEST_CASE("an element of a list in a list costs no copies of the lists around it") {
  CHECK_EQ(fault_of("const A = [[k for k in range(1000)] for j in range(100)]\n" +
                    kernel("    for i in range(4):\n        x = A[3][5] + A[99][999]\n")),
           "");
  // Each level was asked for twice by the level above.
  const std::string deep = repeat("[", 100) + "1" + repeat("]", 100) + repeat("[0]", 100);
  CHECK_EQ(fault_of("const A = " + deep + "\n" + kernel("    x = A\n")), "");
}

TEST_CASE("an assignment to an element of a long list counts as the copy that it is") {
  const std::string fault =
      fault_of(kernel("    L = [i for i in range(60000)]\n    for i in L:\n        L[0] = i\n"));
  CAPTURE(fault);
  CHECK(is_too_much(fault, "4"));
}

TEST_CASE("names that stand for expressions double them only so often") {
  const std::string fault = fault_of(kernel("    L = [n]\n    for i in [" + repeat("1, ", 64) +
                                            "]:\n        L = [L[0] + L[0]]\n    x = L[0]\n"));
  CAPTURE(fault);
  CHECK(is_too_much(fault, "4"));
  std::string inner = "[n]";
  for (int i = 0; i < 60; ++i) inner = "[x + x for x in " + inner + "]";
  CHECK(fault_of(kernel("    y = " + inner + "[0]\n")).find("take too long to expand") !=
        std::string::npos);
}

TEST_CASE("an expression that grows through names is not deeper than those who read it bear") {
  const std::string fault = fault_of(
      kernel("    L = [n]\n    for i in range(4000):\n        pass\n    for i in [k for k in "
             "range(1500)]:\n        L = [L[0] + 1]\n    x = L[0]\n"));
  CAPTURE(fault);
  CHECK((fault.empty() || fault.find("levels deep") != std::string::npos ||
         fault.find("take too long") != std::string::npos));
}

TEST_CASE("min and max take a bounded number of values, of scalars and of tiles") {
  const std::string many = repeat(", n", 20000);
  CHECK_EQ(fault_of(kernel("    x = max(n" + many + ")\n")),
           "2 TV0109 `max` takes at most 256 values");
  CHECK_EQ(
      fault_of(kernel("    t = AllocateRegister(i32, layout=spatial(32), init=0)\n    x = min(t" +
                      many + ")\n")),
      "3 TV0109 `min` takes at most 256 values");
  CHECK_EQ(
      fault_of(kernel("    t = AllocateRegister(i32, layout=spatial(32), init=0)\n    x = max(1, "
                      "n, t, 3)\n")),
      "");
}

TEST_CASE("programs of usual sizes stay within the budget") {
  CHECK_EQ(fault_of("const A = [i * i for i in range(65536)]\n" +
                    kernel("    x = A[65535]\n    y = [a for a in A if a % 2 == 0][7]\n")),
           "");
}

}  // namespace
}  // namespace tilevm::frontend
