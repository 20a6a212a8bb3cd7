// A source file and the locations in it.
//
// Every object of a program that a message can point at carries a Span: a half-open range of byte
// offsets into the one SourceFile it came from. Lines and columns are computed only when a message
// is rendered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tilevm {

/// A half-open byte range [begin, end) of a source file. An empty span is a position between
/// two bytes.
struct Span {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;

  friend bool operator==(const Span&, const Span&) = default;
};

/// The smallest span that covers both arguments.
[[nodiscard]] Span join(Span a, Span b);

/// A location as a person counts: the first line is 1, the first column is 1; columns count bytes.
struct LineColumn {
  int line = 1;
  int column = 1;

  friend bool operator==(const LineColumn&, const LineColumn&) = default;
};

/// The text of a program with its name and a table of line starts.
class SourceFile {
 public:
  SourceFile() : SourceFile("", "") {}
  SourceFile(std::string name, std::string text);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::string& text() const { return text_; }

  /// The line and column of a byte offset; offsets past the end give the end of the file.
  [[nodiscard]] LineColumn locate(std::size_t offset) const;

  /// The text of a line (the first is 1), without its line break.
  [[nodiscard]] std::string_view line(int number) const;

  [[nodiscard]] int line_count() const { return static_cast<int>(line_starts_.size()); }

  /// The text that a span covers.
  [[nodiscard]] std::string_view text(Span span) const;

 private:
  std::string name_;
  std::string text_;
  std::vector<std::size_t> line_starts_;
};

}  // namespace tilevm
