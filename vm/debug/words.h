// The words of the debugger: one table from which lines are read, help is made and words are
// completed.
//
// Words and abbreviations are gdb's where they mean the same. A unique beginning of a word will do.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "isa/base/result.h"
#include "sim/debug/command.h"
#include "vm/debug/code_listing.h"

namespace tilevm::vm {

/// How elements are written.
enum class Format : std::uint8_t { value, hex, bits, codes };

/// What the tool does itself, without the engine.
struct HelpWord {
  std::string word;  ///< empty: all
};
struct ListLines {
  std::optional<sim::debug::command::NamedLine> line;  ///< nothing: around the present
};
struct QuitWord {};
struct HistoryWord {};
struct SourceWord {
  std::string path;
};
/// `set height N`: the lines of an answer that are shown; 0 shows all.
struct HeightWord {
  std::size_t lines = 0;
};
/// `goto N`: a step of the last `why` or `trace`.
struct GoToStep {
  std::size_t number = 0;
};
/// Compares with another engine, or with the values without rounding.
struct CompareWord {
  std::string engine;
};

/// What a line becomes on a GPU.
struct CodeWord {
  CodeKind kind = CodeKind::cuda;
  std::optional<sim::debug::command::NamedLine> line;  ///< nothing: the present one
};

using Request = std::variant<sim::debug::Command, HelpWord, ListLines, QuitWord, HistoryWord,
                             SourceWord, HeightWord, GoToStep, CompareWord, CodeWord>;

struct Input {
  Request request;
  Format format = Format::value;
};

/// The settings of a word besides its own meaning.
struct WordText {
  std::string_view arguments;  ///< text after the word
  std::string_view suffix;     ///< text after a slash: "x" of "print/x"
};

struct Word {
  std::string_view name;
  std::vector<std::string_view> aliases;
  std::string_view form;  ///< name with its arguments
  std::string_view help;
  bool repeats = false;  ///< an empty line does it again
  Result<Input> (*parse)(const WordText& text);
};
[[nodiscard]] std::span<const Word> debug_words();

/// The word that a line begins with. Error (usage): none, or several, with what there is.
[[nodiscard]] Result<const Word*> find_word(std::string_view name);

/// Reads a line that is not empty.
[[nodiscard]] Result<Input> parse_line(std::string_view line);

/// The list of words, or one of them in full.
[[nodiscard]] Result<std::string> debug_help(const std::string& word);

/// What a word that is being typed may become.
[[nodiscard]] std::vector<std::string> complete_word(std::string_view begin);

}  // namespace tilevm::vm
