// Program text: the parser must not crash, hang or overflow, and what parses must survive printing.
#include <optional>
#include <string>

#include "frontend/print/print.h"
#include "frontend/syntax/grammar.h"
#include "isa/base/render.h"
#include "tests/fuzz/target.h"

namespace tilevm::fuzz {
namespace {

void fuzz_parse(std::string_view bytes) {
  const SourceFile source("fuzz.tile", std::string(bytes));
  Diagnostics diagnostics;
  const std::optional<frontend::ast::Program> tree = frontend::parse(source, diagnostics);
  require(tree.has_value() != diagnostics.has_errors(), "a tree, or an error");
  require(!render(diagnostics, source, true).empty() || tree, "errors have words");
  Diagnostics of_expression;
  const auto expression = frontend::parse_expression(source, of_expression);
  require(expression.has_value() != of_expression.has_errors(), "an expression, or an error");
  if (!tree) return;

  const std::string text = frontend::print(*tree);
  const SourceFile printed("printed.tile", text);
  Diagnostics of_printed;
  const auto again = frontend::parse(printed, of_printed);
  require(again && *again == *tree, "printed text parses to the same tree");
  require(again->comments.size() == tree->comments.size(), "no comment is lost");
  require(frontend::print(*again) == text, "printing is idempotent");
}

TILEVM_FUZZ_TARGET(parse, fuzz_parse);

}  // namespace
}  // namespace tilevm::fuzz
