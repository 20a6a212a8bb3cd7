// Parsing in tests: text in, tree or messages out.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "frontend/syntax/grammar.h"
#include "isa/base/diagnostic.h"
#include "isa/base/source.h"

namespace tilevm::frontend {

struct Parsed {
  SourceFile source;
  Diagnostics diagnostics{1000};
  std::optional<ast::Program> program;
};

inline Parsed parse_text(std::string text) {
  Parsed result{SourceFile("test.tile", std::move(text)), Diagnostics(1000), {}};
  result.program = parse(result.source, result.diagnostics);
  return result;
}

/// Every message as "line:column TVnnnn message", in order of place.
inline std::vector<std::string> messages(const Parsed& parsed) {
  std::vector<std::string> result;
  for (const Diagnostic& d : parsed.diagnostics.sorted()) {
    const LineColumn place = parsed.source.locate(d.span.begin);
    result.push_back(std::to_string(place.line) + ":" + std::to_string(place.column) + " " +
                     to_string(d.code) + " " + d.message);
  }
  return result;
}

inline std::vector<std::string> faults_of(std::string text) {
  return messages(parse_text(std::move(text)));
}

/// The tree of a text that must be an expression.
inline std::optional<ast::Expr> expression_of(const std::string& text) {
  const SourceFile source("expression", text);
  Diagnostics diagnostics;
  return parse_expression(source, diagnostics);
}

}  // namespace tilevm::frontend
