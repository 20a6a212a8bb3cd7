// Physical lines become logical lines.
//
// A logical line is what the grammar parses at once: one physical line, or several that are joined
// because a bracket is open or because a line ends in a backslash. The splitter also collects the
// comments and refuses what no grammar should see: bytes that are not UTF-8 text, files that are
// too large, brackets that do not pair or that nest too deep, strings that are not closed.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/syntax/ast.h"
#include "isa/base/diagnostic.h"
#include "isa/base/source.h"

namespace tilevm::frontend {

/// The largest file that is read, in bytes.
inline constexpr std::size_t max_file_bytes = std::size_t{4} << 20;

/// `span` goes from the first to the last byte of code (a comment after it is not in it).
/// `indent` counts columns; a tab goes to the next multiple of eight. `broken` says that a fault of
/// this line is already reported, so that it must not be parsed.
struct LogicalLine {
  Span span{};
  int indent = 0;
  bool blank_before = false;
  bool broken = false;
};

/// A comment and the columns before it. Its depth is not yet known.
struct SourceComment {
  ast::Comment comment;
  int indent = 0;
};

struct Lines {
  std::vector<LogicalLine> lines;
  std::vector<SourceComment> comments;  ///< comments in the order of the text
};

/// The logical lines of a file of the source; nothing if it cannot be read as text at all. Faults
/// of single lines are reported and mark the line broken. Linear time for any input up to a
/// constant.
[[nodiscard]] std::optional<Lines> split_lines(const SourceFile& source, std::size_t file,
                                               Diagnostics& diagnostics);

/// Whether names, keywords and numbers may contain it.
[[nodiscard]] bool is_word_byte(char c);

/// Whether a word is reserved, and all that are.
[[nodiscard]] bool is_keyword(std::string_view word);
[[nodiscard]] std::vector<std::string> keywords();

/// The letters, digits and underscores that `text` begins with; empty if it begins otherwise.
[[nodiscard]] std::string_view leading_word(std::string_view text);

}  // namespace tilevm::frontend
