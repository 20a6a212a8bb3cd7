// Where the statements of a generated program come from.
//
// A program that a tool writes says in comments which line of the tool's own source a statement is
// made of, as C does for its preprocessor:
//
//     #line 14 "kernel.py" acc = tl.dot(x, y, acc)
//
// The comment holds for the statements after it, up to the next one or to the end of the function.
// What follows the file's name is the text of that line, so that a report needs no other file.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "isa/base/source.h"

namespace tilevm {

/// A line of the source that a program was generated from; the texts are parts of the program's.
struct Origin {
  std::string_view file;
  int line = 0;
  std::string_view text;  ///< text of that line, without its indentation; may be empty

  friend bool operator==(const Origin&, const Origin&) = default;
};

/// Reads a line such as `#line 14 "kernel.py" text`; nothing if it is another comment or none.
[[nodiscard]] std::optional<Origin> parse_origin(std::string_view line);

/// What the statement at an offset comes from; in a function without `#line` what its call comes
/// from.
[[nodiscard]] std::optional<Origin> origin_at(const SourceFile& source, std::size_t offset);

/// Where the statements begin that come from a line of a file, or from the first line after it; the
/// file may be named by the last part of its path. Nothing if the program has no such file, or no
/// line of it from there on.
[[nodiscard]] std::optional<std::size_t> first_from(const SourceFile& source, std::string_view file,
                                                    int line);

/// "kernel.py:14", with the last part of the file's path only.
[[nodiscard]] std::string origin_text(const Origin& origin);

/// "      kernel.py:14: acc = tl.dot(x, y, acc)" and a line break; empty if an offset has no
/// origin.
[[nodiscard]] std::string origin_line(const SourceFile& source, std::size_t offset);

}  // namespace tilevm
