// Words of other languages: none of them is ours, and what is said of them can be written.
#include "frontend/syntax/foreign_words.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "frontend/bind/frontend.h"
#include "frontend/syntax/foreign_table.h"
#include "frontend/syntax/includes.h"
#include "isa/base/enumerators.h"
#include "isa/inst/instruction_set.h"
#include "isa/type/dtype.h"
#include "tests/unit/frontend/parsing.h"

namespace tilevm::frontend {
namespace {

std::string lower(std::string_view word) {
  std::string result(word);
  std::ranges::transform(result, result.begin(), [](unsigned char c) { return std::tolower(c); });
  return result;
}

/// Every word that means something here, without case.
std::set<std::string> our_words() {
  std::set<std::string> ours;
  const auto add = [&](const auto& words) {
    for (const auto& word : words) ours.insert(lower(word));
  };
  const LanguageWords words = language_words();
  add(words.keywords);
  add(words.layouts);
  add(words.layout_methods);
  add(words.decorators);
  add(words.functions);
  for (const auto& entry : isa::instruction_table()) {
    ours.insert(lower(entry.description->mnemonic));
  }
  for (const isa::DType& type : isa::all_dtypes()) ours.insert(isa::to_string(type));
  for (std::size_t i = 0; i < enumerator_count<isa::ReduceOp>(); ++i) {
    ours.insert(std::string(to_string(static_cast<isa::ReduceOp>(i))));
  }
  return ours;
}

TEST_CASE("no foreign word is one of ours, whatever its case, and each has one entry") {
  const std::set<std::string> ours = our_words();
  std::set<std::string_view> seen;
  for (const std::string_view word : foreign_words()) {
    CAPTURE(word);
    CHECK_FALSE(ours.contains(lower(word)));
    CHECK_FALSE(isa::parse_dtype(word));
    CHECK(seen.insert(word).second);
  }
  CHECK(seen.size() > 150);
}

TEST_CASE("an instruction in another spelling is answered from its schema") {
  for (const auto& entry : isa::instruction_table()) {
    const std::string mnemonic(entry.description->mnemonic);
    CAPTURE(mnemonic);
    for (const std::string& word : {lower(mnemonic), "_" + mnemonic}) {
      Diagnostics diagnostics;
      REQUIRE(report_foreign_word({word, {}}, diagnostics));
      const Diagnostic said = diagnostics.sorted().front();
      CHECK(said.message.find(mnemonic) != std::string::npos);
      CHECK_EQ(said.fix, mnemonic);
    }
    Diagnostics none;
    CHECK_FALSE(report_foreign_word({mnemonic, {}}, none));
  }
}

/// The pieces of code in a text: what is between backquotes.
std::vector<std::string> code_in(const std::string& text) {
  std::vector<std::string> pieces;
  for (std::size_t at = text.find('`'); at != std::string::npos; at = text.find('`', at)) {
    const std::size_t end = text.find('`', at + 1);
    if (end == std::string::npos) break;
    pieces.push_back(text.substr(at + 1, end - at - 1));
    at = end + 1;
  }
  return pieces;
}

/// Whether a call is one that the language has: of an instruction with operands that it has, or of
/// a function.
void check_calls(const ast::Expr& expr) {
  if (const auto* method = std::get_if<ast::Method>(&expr.node)) {
    check_calls(*method->receiver);
    const auto operations = language_words().layout_methods;
    CHECK(std::ranges::find(operations, method->method.text) != operations.end());
  }
  const auto* call = std::get_if<ast::Call>(&expr.node);
  if (call == nullptr) return;
  CAPTURE(call->callee.text);
  const auto& table = isa::instruction_table();
  const auto entry = std::ranges::find_if(
      table, [&](const auto& each) { return each.description->mnemonic == call->callee.text; });
  for (const ast::Argument& argument : call->args) {
    check_calls(argument.value);
    if (entry == table.end() || !argument.name) continue;
    CHECK(std::ranges::any_of(entry->slots,
                              [&](const auto& slot) { return slot.name == argument.name->text; }));
  }
  if (entry != table.end()) {
    CHECK_LE(call->args.size(), entry->slots.size());
    return;
  }
  std::vector<std::string> known = language_words().functions;
  for (const std::string& layout : language_words().layouts) known.push_back(layout);
  CHECK(std::ranges::find(known, call->callee.text) != known.end());
}

TEST_CASE("what is said instead can be written: instructions with operands that they have") {
  std::vector<std::string> texts;
  for (const std::string_view word : foreign_words()) texts.push_back(advice_for(word));
  for (const ForeignWord& each : foreign_attributes()) {
    texts.push_back(advice_for_attribute(each.word, "t"));
  }
  for (const ForeignWord& each : instruction_usages()) {
    texts.push_back(said_of(*instruction_like(each.word)));
  }
  int calls = 0;
  for (const std::string& text : texts) {
    CAPTURE(text);
    CHECK(text.find('$') == std::string::npos);
    for (const std::string& code : code_in(text)) {
      const auto tree = expression_of(code);
      if (!tree) continue;  // a line, such as `def name<..>(..)`, or a part of one
      check_calls(*tree);
      calls += std::holds_alternative<ast::Call>(tree->node) ? 1 : 0;
    }
  }
  CHECK(calls > 100);
}

TEST_CASE("types of other languages are types here") {
  for (const ForeignType& type : foreign_types()) {
    CAPTURE(type.word);
    CHECK(isa::parse_dtype(type.ours));
    CHECK_FALSE(isa::parse_dtype(type.word));
  }
}

TEST_CASE("operations and operands of other libraries have their names here") {
  CHECK_EQ(operation_like("sum"), "add");
  CHECK_EQ(operation_like("Prod"), "mul");
  CHECK_EQ(operation_like("frob"), "");
  const auto& reduce = *instruction_like("reduce");
  CHECK_EQ(operand_like("axis", reduce.slots), "dims");
  CHECK_EQ(operand_like("axis", instruction_like("scan")->slots), "dim");
  CHECK_EQ(operand_like("keepdim", reduce.slots), "keep_dims");
  CHECK_EQ(operand_like("axis", instruction_like("add")->slots), "");
}

/// The only message about `line` in a kernel.
std::string said_of_line(const std::string& line) {
  const auto all = faults_of("def f<1>():\n    " + line + "\n    pass\n");
  return all.size() == 1 ? all.front() : "not one message: " + std::to_string(all.size());
}

std::string said_at_top(const std::string& line) {
  const auto all = faults_of(line + "\nconst A = 1\n");
  return all.size() == 1 ? all.front() : "not one message: " + std::to_string(all.size());
}

TEST_CASE("lines of other languages are answered with what to write") {
  CHECK_EQ(said_of_line("f32 s = 3.0"),
           "2:5 TV0001 a name is not declared: it takes the type of its value, `s = ..`");
  CHECK_EQ(said_of_line("int n = 3"),
           "2:5 TV0001 a name is not declared: it takes the type of its value, `n = ..`");
  CHECK_EQ(said_of_line("f32* p = x"),
           "2:5 TV0001 a name is not declared: `p = ..`; pointers are parameters of kernels, and "
           "memory at an offset is a view");
  CHECK_EQ(said_at_top("const int N = 4"),
           "1:7 TV0001 a constant has its type after its name: `const N: i32 = ..`");
  CHECK_EQ(said_at_top("kernel f<1>(f32* x):"),
           "1:1 TV0001 no line begins with `kernel`; a kernel is `def name<extent>(f32* x_ptr, i32 "
           "n):`");
  CHECK_EQ(said_at_top("__global__ void f(float* x):"),
           "1:1 TV0001 no line begins with `__global__`; a kernel is `def name<extent>(f32* x_ptr, "
           "i32 n):`");
  CHECK(said_at_top("import math")
            .starts_with("1:1 TV0001 no line begins with `import`; nothing is imported: "
                         "instructions are known by "
                         "their names"));
  CHECK(said_at_top("from math import exp").starts_with("1:1 TV0001 no line begins with `from`"));
  CHECK(said_of_line("assert x > 0").starts_with("2:5 TV0001 no line begins with `assert`"));
  CHECK(said_of_line("print x").starts_with("2:5 TV0001 no line begins with `print`"));
  // They are names of a program's own, too.
  CHECK_EQ(faults_of("def f<1>():\n    kernel = 1\n    print = kernel + 1\n").size(), 0);
}

TEST_CASE("a parameter in another order of words is shown as it is written here") {
  CHECK_EQ(said_at_top("def f<1>(y: f32*):"),
           "1:10 TV0001 a parameter of a kernel has its type first: `f32* y`");
  CHECK_EQ(said_at_top("def f<1>(n: i32):"),
           "1:10 TV0001 a parameter of a kernel has its type first: `i32 n`");
  CHECK_EQ(said_at_top("def f(y: f32*):"),
           "1:7 TV0001 a pointer is a parameter of a kernel, with its type first: `f32* y`");
}

/// The note of the only message about `line` in a kernel.
std::string note_of_line(const std::string& line) {
  const Parsed parsed = parse_text("def f<1>():\n    " + line + "\n    pass\n");
  REQUIRE_EQ(parsed.diagnostics.error_count(), 1);
  const Diagnostic said = parsed.diagnostics.sorted().front();
  return said.notes.empty() ? "" : said.notes.front().message;
}

TEST_CASE("operators and forms of other languages") {
  CHECK_EQ(note_of_line("x = a @ b"), "a matrix product is `Dot(a, b, acc)`");
  CHECK_EQ(note_of_line("x++"), "there is no `++`; write `a = a + 1`");
  CHECK_EQ(note_of_line("x = (float)t"),
           "a conversion of a scalar is `f32(t)`, of a tile `Cast(t, f32)`");
  CHECK(note_of_line("x = t[0:4]").starts_with("a part of a tile is `Slice(t, 0, 0, 4)`"));
  CHECK(note_of_line("x = t[:, 0]").starts_with("a part of a tile is `Slice(t, 0, 0, 4)`"));
  CHECK(said_of_line("x = a ? b : c").ends_with("a choice is written `a if condition else b`"));
  CHECK(said_of_line("x = 3.0f").find("numbers have no suffix") != std::string::npos);
  CHECK_EQ(said_of_line("x: f32 = 3.0"),
           "2:5 TV0001 a name takes the type of its value: `x = f32(..)`");
  CHECK_EQ(said_of_line("x := 3"), "2:5 TV0001 a name takes a value by `x = ..`");
  CHECK(said_of_line("__shared__ float s").find("shared memory is `AllocateShared(") !=
        std::string::npos);
  CHECK(said_of_line("x = lambda a: a").find("a function is `def name(") != std::string::npos);
}

TEST_CASE("names after a dot, without brackets") {
  CHECK_EQ(said_of_line("x = t.shape"),
           "2:11 TV0101 nothing has a `shape` after a dot; the extents of a tile are the list "
           "`shape_of(t)`");
  CHECK_EQ(said_of_line("x = t.T"),
           "2:11 TV0101 nothing has a `T` after a dot; a tile with its dimensions exchanged is "
           "`View(t, layout=layout_of(t).permute(1, 0))`");
  CHECK(
      said_of_line("x = Cast(t, tl.float16)")
          .starts_with("2:17 TV0101 there is no `tl` here; instructions and types are called by"));
  CHECK(said_of_line("x = tl.constexpr").starts_with("2:9 TV0101 there is no `tl` here"));
}

}  // namespace
}  // namespace tilevm::frontend
