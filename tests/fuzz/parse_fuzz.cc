// Any bytes: the parser must not crash, hang or overflow, and what parses must survive printing.
// Built with -fsanitize=fuzzer; every failed law traps, so that the fuzzer keeps the input.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>

#include "frontend/print/print.h"
#include "frontend/syntax/grammar.h"
#include "isa/base/render.h"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tilevm;
  const SourceFile source("fuzz.tile", std::string(reinterpret_cast<const char*>(data), size));
  Diagnostics diagnostics;
  const std::optional<frontend::ast::Program> tree = frontend::parse(source, diagnostics);
  require(tree.has_value() != diagnostics.has_errors());
  require(!render(diagnostics, source, true).empty() || tree);
  Diagnostics of_expression;
  const auto expression = frontend::parse_expression(source, of_expression);
  require(expression.has_value() != of_expression.has_errors());
  if (!tree) return 0;

  const std::string text = frontend::print(*tree);
  const SourceFile printed("printed.tile", text);
  Diagnostics of_printed;
  const auto again = frontend::parse(printed, of_printed);
  require(again && *again == *tree);
  require(again->comments.size() == tree->comments.size());
  require(frontend::print(*again) == text);
  return 0;
}
