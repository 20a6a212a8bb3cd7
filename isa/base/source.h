// A source file and the locations in it.
//
// Every object of a program that a message can point at carries a Span: a half-open range of byte
// offsets into the one SourceFile it came from, which also holds the files that it includes. Lines
// and columns are computed only when a message is rendered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
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

/// The text of a program with its name and a table of line starts. Files that the program includes
/// follow in the same text, and a function that is inlined has offsets of its own for each call,
/// past the end of the text; so a span alone says which file it is in, and through which calls.
class SourceFile {
 public:
  /// A file: the program's own (the first) or one that it includes.
  struct File {
    std::string name;
    std::uint32_t begin = 0, end = 0;  ///< range of bytes in text()
    Span included{};                   ///< the `include` that brought it
  };
  /// What the `include` at an offset names: a file, or why there is none.
  struct Include {
    std::uint32_t at = 0;
    std::size_t file = 0;  ///< index into files(); 0 with a fault
    std::string fault;
  };
  /// A call of a function that was inlined.
  struct Call {
    std::string function;
    Span call{};  ///< where it is called, perhaps inside of another inlined call
  };

  SourceFile() : SourceFile("", "") {}
  SourceFile(std::string name, std::string text);

  /// The name and the text of the program's own file; with included files, text() is all of them.
  [[nodiscard]] const std::string& name() const { return files_.front().name; }
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] const std::vector<File>& files() const { return files_; }

  /// Adds a file and gives its index.
  std::size_t add_file(std::string name, std::string_view text, Span included);
  void add_include(Include include) { includes_.push_back(std::move(include)); }
  [[nodiscard]] const Include* include_at(std::uint32_t offset) const;

  /// Adds an inlined copy of the text in `body`, and gives what is added to spans of the text to
  /// make them spans of the copy; nothing if there are no more offsets.
  [[nodiscard]] std::optional<std::uint32_t> add_call(Span body, std::string function, Span call);
  /// The calls that an offset is in, the innermost first.
  [[nodiscard]] std::vector<Call> calls_at(std::size_t offset) const;

  /// Where in text() an offset is: its own place unless it is in an inlined copy.
  [[nodiscard]] std::size_t place_in_text(std::size_t offset) const;
  /// The name of the file that an offset is in.
  [[nodiscard]] const std::string& name_at(std::size_t offset) const;
  /// The line and column in its file of a byte offset; offsets past the end give the end.
  [[nodiscard]] LineColumn locate(std::size_t offset) const;
  /// The text of the line of an offset, without its line break.
  [[nodiscard]] std::string_view line_at(std::size_t offset) const;
  /// The first byte of the next line; past the end of the text on the last.
  [[nodiscard]] std::size_t next_line(std::size_t offset) const;
  /// "12:3" in the program's own file, "layouts.tile:12:3" in another.
  [[nodiscard]] std::string location(std::size_t offset) const;
  /// A span of the program's own file: that of the text itself, or of the `include` through which
  /// its file comes into the program.
  [[nodiscard]] Span in_own_file(Span span) const;
  /// The line of the program's own file through which an offset comes into the program.
  [[nodiscard]] int root_line(std::size_t offset) const;

  /// The text of a line of the program's own file (the first is 1), without its line break.
  [[nodiscard]] std::string_view line(int number) const;
  /// Lines of the program's own file.
  [[nodiscard]] int line_count() const;

  /// The text that a span covers.
  [[nodiscard]] std::string_view text(Span span) const;

 private:
  struct Copy {
    std::uint32_t begin = 0, end = 0;  // its offsets
    std::uint32_t from = 0;            // where in the text its first byte is
    Call call;
  };
  [[nodiscard]] const Copy* copy_at(std::size_t offset) const;
  [[nodiscard]] const File& file_at(std::size_t place) const;
  [[nodiscard]] std::size_t line_index(std::size_t place) const;
  [[nodiscard]] std::string_view line_from(std::size_t begin) const;
  void add_line_starts(std::size_t from);

  std::string text_;
  std::vector<std::size_t> line_starts_;
  std::vector<File> files_;
  std::vector<Include> includes_;
  std::vector<Copy> copies_;  // ascending
};

}  // namespace tilevm
