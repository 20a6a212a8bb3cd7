// Writes C++ text with indentation, and keeps it tied to the lines of a program: each line of code
// that is written while a program line is set counts as that line (#line).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tilevm::backend {

/// Iterations that are unrolled; as in the prelude (TV_UNROLL_UP_TO).
inline constexpr std::int64_t longest_unrolled = 1024;

class CodeWriter {
 public:
  /// `file` is the program's name in #line; empty: no #line at all.
  explicit CodeWriter(std::string_view file);

  /// The line of the program that the following code belongs to.
  void at(int program_line) { program_line_ = program_line; }

  /// One line of code; more than one if it is too long.
  void line(std::string_view text);
  /// Writes text that makes no machine code, so that it needs no #line.
  void plain(std::string_view text);
  /// "text {", one level deeper after it.
  void open(std::string_view text);
  void open_plain(std::string_view text = "");
  /// A loop over [0, count) that is unrolled, up to a count that compilers unroll in seconds.
  /// Beyond it stays a loop, and the tiles that it indexes lie in local memory.
  void open_unrolled(std::string_view variable, std::int64_t count);
  /// "}", back one level; "} text {" keeps the level.
  void close();
  void close_and_open(std::string_view text);
  /// A comment of one line, whatever the text contains.
  void comment(std::string_view text);
  void blank();

  /// Lines as plain() writes them, which do not change the line numbers of later lines.
  void aside(const std::vector<std::string>& lines);

  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  void raw(std::string_view indentation, std::string_view text);
  void sync();

  std::string quoted_file_;
  std::string text_;
  int depth_ = 0;
  int program_line_ = 0;
  int next_line_ = 0;  // the number that the compiler gives to the next line, 0 if not ours
};

/// A file's name in quotes. It travels through the compiler into PTX, which knows no escapes, so
/// quotes, backslashes and control characters are replaced.
[[nodiscard]] std::string quote_file(std::string_view name);

}  // namespace tilevm::backend
