// Ranks of operators, literals and spans.
#include <doctest/doctest.h>

#include <string>
#include <variant>

#include "frontend/print/print.h"
#include "tests/unit/frontend/parsing.h"

namespace tilevm::frontend {
namespace {

/// The expression with every operator's operands in brackets.
std::string grouped(const ast::Expr& e) {
  if (const auto* n = std::get_if<ast::Binary>(&e.node)) {
    return "(" + grouped(*n->left) + std::string(to_string(n->op)) + grouped(*n->right) + ")";
  }
  if (const auto* n = std::get_if<ast::Unary>(&e.node)) {
    return "(" + std::string(to_string(n->op)) + " " + grouped(*n->operand) + ")";
  }
  return print(e);
}

std::string grouped(const std::string& text) {
  const auto tree = expression_of(text);
  return tree ? grouped(*tree) : "does not parse";
}

TEST_CASE("operators have Python's ranks and group from the left") {
  CHECK_EQ(grouped("a - b - c"), "((a-b)-c)");
  CHECK_EQ(grouped("a + b * c % d"), "(a+((b*c)%d))");
  CHECK_EQ(grouped("a << b + c"), "(a<<(b+c))");
  CHECK_EQ(grouped("a & b == c"), "((a&b)==c)");
  CHECK_EQ(grouped("a | b ^ c & d << e"), "(a|(b^(c&(d<<e))))");
  CHECK_EQ(grouped("a or b and c == d"), "(aor(band(c==d)))");
  CHECK_EQ(grouped("not a == b and not not c"), "((not (a==b))and(not (not c)))");
  CHECK_EQ(grouped("-a * ~b"), "((- a)*(~ b))");
  CHECK_EQ(grouped("!a == b"), "((not a)==b)");
  CHECK_EQ(grouped("-a.f(1)"), "(- a.f(1))");
}

TEST_CASE("operators have one meaning in both spellings") {
  CHECK_EQ(grouped("a // b"), grouped("a / b"));
  CHECK_EQ(grouped("a && b || !c"), grouped("a and b or (not c)"));
  CHECK_EQ(grouped("a>>b>=c"), "((a>>b)>=c)");
  CHECK_EQ(grouped("nota"), "nota");
  CHECK_EQ(grouped("a orb"), "does not parse");
}

TEST_CASE("numbers keep how they are written and have the value they mean") {
  const auto integer = [](const std::string& text) {
    return std::get_if<ast::Integer>(&expression_of(text)->node)->value;
  };
  CHECK_EQ(integer("0"), 0);
  CHECK_EQ(integer("1_000"), 1000);
  CHECK_EQ(integer("0xfF"), 255);
  CHECK_EQ(integer("0b101"), 5);
  CHECK_EQ(integer("0o17"), 15);
  const auto real = [](const std::string& text) {
    return std::get_if<ast::Float>(&expression_of(text)->node)->value;
  };
  CHECK_EQ(real("1.5"), 1.5);
  CHECK_EQ(real(".5"), 0.5);
  CHECK_EQ(real("2."), 2.0);
  CHECK_EQ(real("1e-3"), 1e-3);
  CHECK_EQ(real("1E+2"), 100.0);
  CHECK_EQ(print(*expression_of("0x1F")), "0x1F");
}

TEST_CASE("strings resolve their escapes and print them again") {
  const auto text = [](const std::string& literal) {
    return std::get_if<ast::String>(&expression_of(literal)->node)->value;
  };
  CHECK_EQ(text(R"("a\n\t\\\"\x41")"), "a\n\t\\\"A");
  CHECK_EQ(text(R"('it"s # no comment')"), "it\"s # no comment");
  CHECK_EQ(print(*expression_of(R"('\x01"')")), R"("\x01\"")");
  CHECK_FALSE(expression_of(R"("\q")").has_value());
  CHECK_FALSE(expression_of(R"("\x80")").has_value());
}

TEST_CASE("spans cover the text of a node without parentheses around it") {
  const SourceFile source("spans", "f(  (a + b) * -c , k=[x:, 2]).g( )");
  Diagnostics diagnostics;
  const auto tree = parse_expression(source, diagnostics);
  REQUIRE(tree);
  CHECK_EQ(source.text(tree->span), source.text());
  const auto& method = *std::get_if<ast::Method>(&tree->node);
  CHECK_EQ(source.text(method.method.span), "g");
  const auto& call = *std::get_if<ast::Call>(&method.receiver->node);
  CHECK_EQ(source.text(call.callee.span), "f");
  const auto& product = *std::get_if<ast::Binary>(&call.args.at(0).value.node);
  CHECK_EQ(source.text(call.args.at(0).value.span), "(a + b) * -c");
  CHECK_EQ(source.text(product.left->span), "a + b");
  CHECK_EQ(source.text(product.op_span), "*");
  CHECK_EQ(source.text(product.right->span), "-c");
  CHECK_EQ(source.text(call.args.at(1).span), "k=[x:, 2]");
  const auto& list = *std::get_if<ast::List>(&call.args.at(1).value.node);
  CHECK_EQ(source.text(list.entries.at(0).span), "x:");
}

TEST_CASE("in a grid a > must stand in parentheses") {
  CHECK_EQ(faults_of("def f<(a > b), (c >> 1)>():\n    pass\n").size(), 0);
  CHECK_EQ(faults_of("def f<a >> b>():\n    pass\n").size(), 1);
}

}  // namespace
}  // namespace tilevm::frontend
