// Where the names of a program are, and what they name: the table behind definitions, references,
// renaming, completion and colours.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "frontend/syntax/ast.h"
#include "isa/base/source.h"

namespace tilevm::vm {

enum class NameKind : std::uint8_t {
  keyword,
  constant,
  kernel,
  pipeline,
  function,  ///< function of the file, of an included file, or of the language
  parameter,
  variable,
  instruction,
  layout,  ///< a function or a method of the layout algebra
  type,
  operand,  ///< the name before `=` in a call
  decorator,
  number,
  string,
  comment,
  unknown,
};

/// Whether a symbol of this kind belongs to the file as a whole. Other symbols are parameters and
/// variables.
[[nodiscard]] bool is_of_file(NameKind kind);

/// A constant, kernel, pipeline, function, parameter or variable of the file, or of one that it
/// includes. A name that is
/// assigned again in its block is one symbol, whatever type it takes.
struct Symbol {
  std::string name;
  NameKind kind = NameKind::variable;
  Span definition{};
  Span scope{};      ///< where the name may be used
  int item = -1;     ///< index in all_items() of the item that it belongs to; -1: the file
  std::string text;  ///< text of a constant's value as written, or of a parameter's type
};

struct Occurrence {
  Span span{};
  NameKind kind = NameKind::unknown;
  int symbol = -1;       ///< index into Names::symbols
  bool defines = false;  ///< whether the name takes a value here
  std::string callee{};  ///< name of the call that an operand belongs to
  /// Statements before this place may have given the name its value.
  std::uint32_t visible_from = 0;
};

struct Names {
  std::vector<Symbol> symbols;
  /// By place, none overlaps another; those of included files follow those of the document.
  std::vector<Occurrence> occurrences;
  std::uint32_t own_end = 0;  ///< end of the document in the text

  [[nodiscard]] bool is_own(Span span) const { return span.end <= own_end; }
  /// The occurrences in the document.
  [[nodiscard]] std::span<const Occurrence> own() const;

  /// The occurrence at a place, or that ends there; null if there is none.
  [[nodiscard]] const Occurrence* at(std::uint32_t offset) const;
};

/// The items of a tree, those of included files after the `include` that brings them.
[[nodiscard]] std::vector<const frontend::ast::Item*> all_items(const frontend::ast::Program& tree);

/// The names of a tree of this source, with included files, and the document's keywords, literals
/// and comments.
[[nodiscard]] Names find_names(const frontend::ast::Program& tree, const SourceFile& source);

}  // namespace tilevm::vm
