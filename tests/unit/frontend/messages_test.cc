// What people read when a program is wrong: one message a fault, at its place, and no echoes.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "tests/unit/frontend/parsing.h"

namespace tilevm::frontend {
namespace {

using Messages = std::vector<std::string>;

/// The only message about `line` as the second line of a kernel, without its line number.
std::string fault_in_body(const std::string& line) {
  const Messages all = faults_of("def f<1>():\n    " + line + "\n    pass\n");
  return all.size() == 1 ? all.front() : "not one message: " + std::to_string(all.size());
}

std::string fault_at_top(const std::string& line) {
  const Messages all = faults_of(line + "\nconst A = 1\n");
  return all.size() == 1 ? all.front() : "not one message: " + std::to_string(all.size());
}

TEST_CASE("a missing comma is found where it is missing") {
  CHECK_EQ(fault_in_body("x = foo(a b)"),
           "2:15 TV0001 expected `,` or `)` to close the `(`, but found `b`");
}

TEST_CASE("a bracket that was opened on another line is named with its line") {
  CHECK_EQ(fault_in_body("x = foo(a,\n        [1 2])"),
           "3:12 TV0001 expected `,` or `]` to close the `[`, but found `2`");
  CHECK_EQ(fault_in_body("x = foo(a,\n        b c)"),
           "3:11 TV0001 expected `,` or `)` to close the `(` at line 2, but found `c`");
}

TEST_CASE("an operand that is missing is asked for by what it is") {
  CHECK_EQ(fault_in_body("x ="), "2:8 TV0001 expected an expression, but the line ends here");
  CHECK_EQ(fault_in_body("f(a, *)"), "2:10 TV0001 expected an argument, but found `*`");
  CHECK_EQ(fault_in_body("f(, a)"),
           "2:7 TV0001 expected an argument or `)` to close the `(`, but found `,`");
  CHECK_EQ(fault_in_body("x = a.b"),
           "2:12 TV0001 expected `(` and arguments, but the line ends here");
  CHECK_EQ(fault_in_body("x = for"),
           "2:9 TV0001 expected an expression, but found the keyword `for`");
}

TEST_CASE("a header without its colon is said, and its body is still read") {
  const Messages all = faults_of("def f<1>()\n    for i in range(3)\n        x = 1 +\n    y = \n");
  CHECK_EQ(all, Messages{"1:11 TV0001 expected `:` at the end of the line, but the line ends here",
                         "2:22 TV0001 expected `:` at the end of the line, but the line ends here",
                         "3:16 TV0001 expected an expression, but the line ends here",
                         "4:8 TV0001 expected an expression, but the line ends here"});
}

TEST_CASE("a single = in a condition suggests ==") {
  const Parsed parsed = parse_text("def f<1>():\n    if a = b:\n        pass\n");
  REQUIRE_EQ(parsed.diagnostics.error_count(), 1);
  CHECK_EQ(parsed.diagnostics.sorted().front().fix, "==");
}

TEST_CASE("habits from other languages get advice") {
  const auto note = [](const std::string& line) {
    const Parsed parsed = parse_text("def f<1>():\n    " + line + "\n");
    REQUIRE_EQ(parsed.diagnostics.error_count(), 1);
    const Diagnostic d = parsed.diagnostics.sorted().front();
    return d.notes.empty() ? std::string() : d.notes.front().message;
  };
  CHECK_EQ(note("a += 1"), "there is no `+=`; write `a = a + b`");
  CHECK_EQ(note("a = 2 ** 3"),
           "there is no power operator; of tiles it is `Pow(a, b)`, of constants `1 << n` or a "
           "product");
  CHECK_EQ(note("if a:\n        pass\n    else if b:\n        pass"),
           "`else if` is written `elif`");
}

TEST_CASE("statements that do nothing and odd targets are refused") {
  CHECK_EQ(fault_in_body("3 + x"),
           "2:5 TV0001 this computes a value and drops it; a statement is a call or "
           "`name = value`");
  CHECK_EQ(
      fault_in_body("f(x) = 3"),
      "2:5 TV0001 only a name can be assigned to, or an entry of an array of tiles; elements of "
      "a tile are written by instructions");
  CHECK_EQ(fault_in_body("x = a < b < c"),
           "2:15 TV0001 comparisons do not chain; write `a < b and b < c`, or parentheses");
  CHECK_EQ(fault_in_body("x = 1 + not a"),
           "2:13 TV0001 `not` binds looser than the operator before it; put `not ...` in "
           "parentheses");
}

TEST_CASE("lines of the top level say what is missing") {
  CHECK_EQ(fault_at_top("const A, B = 1"),
           "1:1 TV0001 2 names but 1 value; each constant needs one value");
  CHECK_EQ(fault_at_top("const B, C in [1] = 1, 2"),
           "1:1 TV0001 `in [...]` gives the choices of one constant; declare each on its own line");
  CHECK_EQ(fault_at_top("x = 3"),
           "1:1 TV0115 a statement must be in the body of a `def` or a `pipeline`; a value of the "
           "whole file is a constant, `const x = ..`");
  CHECK_EQ(fault_at_top("@fast"),
           "1:1 TV0115 a decorator must come directly before the `def` of a kernel");
  CHECK_EQ(fault_at_top("def g(f16* a):\n    pass"),
           "1:10 TV0001 expected `,` or `)` to close the `(`, but found `*`");
  CHECK_EQ(
      fault_at_top("def g:\n    pass"),
      "1:6 TV0001 expected `<` and the grid of a kernel, as in `def name<extent>(...)`, or `(` "
      "and the parameters of a function, but found `:`");
  CHECK_EQ(fault_at_top("def g<1>(f16*):\n    pass"),
           "1:14 TV0001 expected the parameter's name after its type, as in `f16* a_ptr`, but "
           "found `)`");
}

TEST_CASE("a bracket that is never closed does not swallow the file") {
  CHECK_EQ(
      faults_of("def f<1>():\n    x = (1 + 2\n    y = 3 +\n    z = f(\ndef g<1>():\n    q =\n"),
      Messages{"2:9 TV0008 this `(` is never closed",
               "3:12 TV0001 expected an expression, but the line ends here",
               "4:10 TV0008 this `(` is never closed",
               "6:8 TV0001 expected an expression, but the line ends here"});
}

TEST_CASE("brackets that do not pair are said with the bracket that is open") {
  const Parsed parsed = parse_text("def f<1>():\n    x = foo([1, 2), 3)\n    pass\n");
  REQUIRE_EQ(messages(parsed), Messages{"2:18 TV0001 `)` cannot close a `[`"});
  CHECK_EQ(parsed.diagnostics.sorted().front().fix, "]");
}

TEST_CASE("a string that is not closed ends with its line") {
  CHECK_EQ(fault_in_body("Print(\"abc, x)"),
           "2:11 TV0001 this string is not closed; it must end with `\"` on the same line");
}

TEST_CASE("characters from elsewhere are named, with what to write instead") {
  const Parsed parsed = parse_text("const A = 2 \xc3\x97 3\n");
  REQUIRE_EQ(messages(parsed),
             Messages{"1:13 TV0002 the character `\xc3\x97` (U+00D7) has no meaning here"});
  CHECK_EQ(parsed.diagnostics.sorted().front().fix, "*");
}

TEST_CASE("bad indentation is said once a block") {
  const Messages all = faults_of(
      "def f<1>():\n    a = 1\n      b = 2\n      c = 3\n    d = 4\n  e = 5\ndef g<1>():\npass\n");
  REQUIRE_EQ(all.size(), 4);
  CHECK(all.at(0).starts_with("3:1 TV0003 this line is indented by 6 columns, but its block by 4"));
  CHECK(all.at(1).starts_with("6:1 TV0003 this line is indented by 2 columns"));
  CHECK(all.at(2).starts_with("7:1 TV0003 this line needs a block"));
  CHECK(all.at(3).starts_with("8:1 TV0115 a statement must be in the body"));
}

TEST_CASE("tabs and spaces must not be mixed") {
  const Messages all = faults_of("def f<1>():\n    a = 1\ndef g<1>():\n\tb = 2\n\tc = 3\n");
  REQUIRE_EQ(all.size(), 1);
  CHECK(all.front().starts_with("4:1 TV0003 this line is indented with tabs"));
  CHECK_EQ(faults_of("def f<1>():\n\ta = 1\n\tb = 2\n").size(), 0);
}

TEST_CASE("an else without an if, or after an else, is one fault") {
  CHECK_EQ(faults_of("def f<1>():\n    else:\n        pass\n"),
           Messages{"2:5 TV0115 there is no `if` that this belongs to"});
  CHECK_EQ(faults_of("def f<1>():\n    if a:\n        pass\n    else:\n        pass\n"
                     "    elif b:\n        pass\n"),
           Messages{"6:5 TV0115 nothing may follow the `else` of an `if`"});
  CHECK_EQ(faults_of("def f<1>():\n    if a b:\n        pass\n    else:\n        pass\n").size(),
           1);
}

TEST_CASE("an expression alone must be all of the text") {
  const auto fault = [](const std::string& text) {
    const SourceFile source("expression", text);
    Diagnostics diagnostics;
    CHECK_FALSE(parse_expression(source, diagnostics).has_value());
    REQUIRE_EQ(diagnostics.error_count(), 1);
    return diagnostics.sorted().front().message;
  };
  CHECK_EQ(fault(""), "expected an expression, but the text is empty");
  CHECK_EQ(fault("1 2"), "expected the end of the line, but found `2`");
  CHECK_EQ(fault("1\n2"), "expected one expression, but a second line follows");
  CHECK(expression_of("  local(2, 1).spatial(8, 4)  # a comment\n").has_value());
}

}  // namespace
}  // namespace tilevm::frontend
