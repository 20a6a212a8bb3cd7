// Laying out one logical line on physical lines.
//
// The printer writes a line flat and notes where it may be broken (after a comma, with how many
// brackets open) and where comments stand inside it; then it is laid out here. The result depends
// only on what was noted, so printing twice gives the same text.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tilevm::frontend {

/// The number of columns that a line should not exceed.
inline constexpr std::size_t line_width = 100;

class LineLayout {
 public:
  void text(std::string_view text) { flat_ += text; }

  /// An opening bracket / a closing one / a comma with the space after it.
  void open(char bracket);
  void close(char bracket);
  void comma();

  /// A comment at the current position, which is after `(`, `[` or a comma, or before a closer.
  /// `own_line` puts it on a line of its own.
  void comment(std::string_view text, bool own_line);

  /// The text on one line, without comments.
  [[nodiscard]] const std::string& flat() const { return flat_; }

  /// The text, indented by `indent` columns and, after a break, by `hang` more. No line break at
  /// the end.
  [[nodiscard]] std::string lay_out(std::size_t indent, std::size_t hang) const;

 private:
  struct Break {
    std::size_t at;  // offset of the first byte of the next line
    int depth;
  };
  struct Note {
    std::size_t at;
    std::string text;
    bool own_line;
  };

  void segment(std::string& out, std::size_t begin, std::size_t end, std::size_t hang) const;
  [[nodiscard]] std::size_t best_break(std::size_t begin, std::size_t end, std::size_t room) const;

  std::string flat_;
  std::vector<Break> breaks_;
  std::vector<Note> notes_;
  int depth_ = 0;
};

}  // namespace tilevm::frontend
