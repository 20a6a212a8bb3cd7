#include "frontend/syntax/syntax_error.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "frontend/syntax/foreign_words.h"
#include "frontend/syntax/lines.h"
#include "isa/inst/instruction_set.h"
#include "isa/inst/scalar.h"
#include "isa/type/dtype.h"

namespace tilevm::frontend {
namespace {

constexpr std::string_view arithmetic = "+-*/%&|^";

/// What was found instead: its text, how a message names it, and where it is.
struct Found {
  std::string_view text;
  std::string name;
  Span span{};
};

/// The end of the string that `text` begins with.
std::size_t string_end(std::string_view text) {
  std::size_t i = 1;
  while (i < text.size() && text[i] != text[0]) i += text[i] == '\\' ? 2 : 1;
  return std::min(i + 1, text.size());
}

/// The first byte at or after `at` that is neither white space nor in a comment nor a joint of
/// lines.
std::size_t skip_space(std::string_view text, std::size_t at, std::size_t end) {
  constexpr std::string_view space = " \t\r\n\\";
  while (at < end) {
    if (text[at] == '#') {
      at = std::min(text.find('\n', at), end);
    } else if (space.find(text[at]) != std::string_view::npos) {
      ++at;
    } else {
      break;
    }
  }
  return std::min(at, end);
}

/// The token that `rest` (not empty) begins with.
std::string_view token_of(std::string_view rest) {
  const std::string_view word = leading_word(rest);
  if (!word.empty()) return word;
  if (rest[0] == '"' || rest[0] == '\'') return rest.substr(0, string_end(rest));
  if (rest[0] >= '0' && rest[0] <= '9') {
    return rest.substr(0, std::min(rest.find_first_not_of("0123456789"), rest.size()));
  }
  for (const std::string_view pair : {"==", "!=", "<=", ">=", "<<", ">>", "//", "&&", "||", "->"}) {
    if (rest.starts_with(pair)) return pair;
  }
  return rest.substr(0, 1);
}

Found find(const SourceFile& source, Span line, std::size_t at) {
  const std::string_view text = source.text();
  const std::size_t begin = skip_space(text, at, line.end);
  Found found;
  found.span = {static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(begin)};
  if (begin == line.end) {
    found.name = "the line ends here";
    return found;
  }
  found.text = token_of(text.substr(begin, line.end - begin));
  found.span.end += static_cast<std::uint32_t>(found.text.size());
  const bool is_string = found.text[0] == '"' || found.text[0] == '\'';
  found.name = is_string                ? "found a string"
               : is_keyword(found.text) ? fmt::format("found the keyword `{}`", found.text)
                                        : fmt::format("found `{}`", found.text);
  return found;
}

bool is_space(char c) { return c == ' ' || c == '\t'; }

/// Takes the word at the end of `line` off it.
std::string_view take_last_word(std::string_view& line) {
  while (!line.empty() && is_space(line.back())) line.remove_suffix(1);
  std::size_t begin = line.size();
  while (begin > 0 && is_word_byte(line[begin - 1])) --begin;
  const std::string_view word = line.substr(begin);
  line.remove_suffix(line.size() - begin);
  return word;
}

/// What is before a fault, of `blockIdx.x` both words; of a lone word no receiver.
struct WordsBefore {
  std::string_view receiver, word;
  std::string_view rest;  ///< rest of the line, before both
};

WordsBefore words_before(std::string_view line) {
  WordsBefore words;
  words.word = take_last_word(line);
  words.rest = line;
  if (words.word.empty() || !line.ends_with('.')) return words;
  line.remove_suffix(1);
  words.receiver = take_last_word(line);
  words.rest = line;
  return words;
}

Span span_of(std::string_view word, const SourceFile& source) {
  const auto begin = static_cast<std::uint32_t>(word.data() - source.text().data());
  return {begin, begin + static_cast<std::uint32_t>(word.size())};
}

bool is_word(std::string_view text) { return !leading_word(text).empty() && !is_keyword(text); }

/// Whether a word is a type here, or in C.
bool is_type(std::string_view word) {
  return isa::parse_dtype(word) || isa::parse_scalar_kind(word) || foreign_type(word);
}

/// `t.shape`, `tl.float32`, `blockIdx.x`: names after a dot, without brackets.
bool report_attribute(const WordsBefore& words, const SourceFile& source,
                      Diagnostics& diagnostics) {
  if (words.receiver.empty()) return false;
  const Span receiver = span_of(words.receiver, source), word = span_of(words.word, source);
  if (!advice_for(words.receiver).empty()) {
    return report_foreign_word({std::string(words.receiver), receiver}, diagnostics);
  }
  const bool is_module = is_foreign_module(words.receiver);
  if (is_module && report_foreign_word({std::string(words.word), word}, diagnostics)) return true;
  const std::string advice = advice_for_attribute(words.word, std::string(words.receiver));
  if (!is_module && advice.empty()) return false;
  diagnostics.error(
      Code::unknown_name, is_module ? receiver : word,
      is_module ? fmt::format("there is no `{}` here; instructions and types are called by their "
                              "names alone (`tilevm isa` lists them)",
                              words.receiver)
                : fmt::format("nothing has a `{}` after a dot; {}", words.word, advice));
  return true;
}

/// `f32 s = 3.0`, `const int N = 4`: names are not declared with a type before them.
bool report_declaration(const WordsBefore& words, const Found& found, const SourceFile& source,
                        Diagnostics& diagnostics) {
  const bool is_const = words.rest.ends_with("const ");
  const bool begins = is_const || words.rest.find_first_not_of(" \t") == std::string_view::npos;
  if (!begins || !words.receiver.empty() || !is_type(words.word) || !is_word(found.text)) {
    return false;
  }
  const Span span = join(span_of(words.word, source), found.span);
  const std::string_view type = foreign_type(words.word) ? *foreign_type(words.word) : words.word;
  auto& error = diagnostics.error(
      Code::syntax_error, span,
      is_const ? fmt::format("a constant has its type after its name: `const {}: {} = ..`",
                             found.text, type)
               : fmt::format("a name is not declared: it takes the type of its value, `{} = ..`",
                             found.text));
  error.fix = is_const ? fmt::format("{}: {}", found.text, type) : std::string(found.text);
  if (!is_const && isa::parse_scalar_kind(type)) {
    add_note(error, fmt::format("a value of this type is `{}(..)`", type));
  }
  return true;
}

/// `x: f32 = 3.0`, `x := 3`: names have no annotation.
bool report_annotation(const WordsBefore& words, const Found& found, std::string_view after,
                       const SourceFile& source, Diagnostics& diagnostics) {
  const bool begins = words.rest.find_first_not_of(" \t") == std::string_view::npos;
  if (!begins || !words.receiver.empty() || found.text != ":" || !is_word(words.word)) return false;
  while (!after.empty() && is_space(after.front())) after.remove_prefix(1);
  const std::string_view type = leading_word(after);
  if (!after.starts_with('=') && !is_type(type)) return false;
  const std::string_view ours = foreign_type(type).value_or(type);
  diagnostics.error(
      Code::syntax_error, join(span_of(words.word, source), found.span),
      isa::parse_scalar_kind(ours)
          ? fmt::format("a name takes the type of its value: `{0} = {1}(..)`", words.word, ours)
          : fmt::format("a name takes a value by `{} = ..`", words.word));
  return true;
}

/// `import math`, `kernel f<1>()`: a line that begins with a word of another language.
bool report_line(const WordsBefore& words, const Found& found, const SourceFile& source,
                 Diagnostics& diagnostics) {
  const bool begins = words.rest.find_first_not_of(" \t") == std::string_view::npos;
  const bool is_new = is_word(found.text) || is_keyword(found.text) || found.text == ":" ||
                      found.text == "{" || found.text[0] == '"' || found.text[0] == '\'';
  const bool may = begins || words.word == "lambda";
  if (!may || !words.receiver.empty() || words.word.empty() || !is_new) return false;
  std::string advice = advice_for_line(words.word);
  if (advice.empty() && is_word(found.text)) advice = advice_for(words.word);
  if (advice.empty()) return false;
  diagnostics.error(Code::syntax_error, span_of(words.word, source),
                    fmt::format("no line begins with `{}`; {}", words.word, advice));
  return true;
}

/// `def f<1>(y: f32*)`: a kernel's parameters have their types first.
bool report_parameter(const WordsBefore& words, const Found& found, std::string_view before,
                      const SourceFile& source, Span line, Diagnostics& diagnostics) {
  if (leading_word(before) != "def" || before.find('(') == std::string_view::npos) return false;
  const bool has_grid = before.find('<') < before.find('(');
  const std::string_view text = source.text();
  if (has_grid && found.text == ":" && is_word(words.word)) {
    const std::size_t at = skip_space(text, found.span.end, line.end);
    const std::string_view type = leading_word(text.substr(at, line.end - at));
    const std::size_t star = skip_space(text, at + type.size(), line.end);
    const bool is_pointer = star < line.end && text[star] == '*';
    if (type.empty()) return false;
    const Span span{span_of(words.word, source).begin,
                    static_cast<std::uint32_t>(is_pointer ? star + 1 : at + type.size())};
    const std::string fix = fmt::format("{}{} {}", type, is_pointer ? "*" : "", words.word);
    diagnostics
        .error(Code::syntax_error, span,
               fmt::format("a parameter of a kernel has its type first: `{}`", fix))
        .fix = fix;
    return true;
  }
  std::string_view rest = words.rest;
  while (!rest.empty() && is_space(rest.back())) rest.remove_suffix(1);
  if (has_grid || found.text != "*" || !is_type(words.word) || !rest.ends_with(':')) return false;
  rest.remove_suffix(1);
  const std::string_view name = take_last_word(rest);
  add_note(diagnostics.error(
               Code::syntax_error, join(span_of(name, source), found.span),
               fmt::format("a pointer is a parameter of a kernel, with its type first: `{}* {}`",
                           words.word, name)),
           fmt::format("a kernel has a grid: `def name<extent>({}* {})`; a `def` without one is a "
                       "function, whose parameters are names, `def name(x: pointer, n)`",
                       words.word, name));
  return true;
}

/// What people of other languages write where tilevm expects something else; false for other
/// faults.
bool report_foreign_form(const SourceFile& source, Span line, const Found& found,
                         Diagnostics& diagnostics) {
  const std::string_view before = source.text(Span{line.begin, found.span.begin});
  const WordsBefore words = words_before(before);
  if (report_attribute(words, source, diagnostics)) return true;
  if (found.text.empty()) return false;
  const std::string_view after = source.text(Span{found.span.end, line.end});
  return report_declaration(words, found, source, diagnostics) ||
         report_annotation(words, found, after, source, diagnostics) ||
         report_line(words, found, source, diagnostics) ||
         report_parameter(words, found, before, source, line, diagnostics);
}

/// The innermost bracket that is open at `at`.
std::optional<Span> bracket_before(const SourceFile& source, Span line, std::size_t at) {
  std::vector<std::size_t> open;
  const std::string_view text = source.text();
  const std::size_t end = std::min<std::size_t>(line.end, at);
  for (std::size_t i = line.begin; i < end; ++i) {
    const char c = text[i];
    if (c == '(' || c == '[') open.push_back(i);
    if ((c == ')' || c == ']') && !open.empty()) open.pop_back();
    if (c == '#') i = std::min(text.find('\n', i), end);
    if (c == '"' || c == '\'') i += string_end(text.substr(i, line.end - i)) - 1;
  }
  if (open.empty()) return std::nullopt;
  const auto begin = static_cast<std::uint32_t>(open.back());
  return Span{begin, begin + 1};
}

std::string_view without_space(std::string_view text) {
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

/// Whether a text ends with `(float)`.
bool is_cast(std::string_view text) {
  if (!text.ends_with(')')) return false;
  text.remove_suffix(1);
  const std::string_view word = take_last_word(text);
  return is_type(word) && without_space(text).ends_with('(');
}

/// What `t[0:4]` and `t[:, None]` are.
std::string part_of_tensor() {
  return fmt::format(
      "a part of a tile is `{}(t, 0, 0, 4)`, of memory `offset=[i:, j:]` of a load; a "
      "new dimension is `{}(t, layout=layout_of(t).unsqueeze(0))`",
      isa::Slice::schema.description.mnemonic, isa::View::schema.description.mnemonic);
}

void add_advice(Diagnostic& d, const SourceFile& source, Span line, std::string_view expected,
                const Found& found) {
  const bool wants_colon = expected.starts_with("`:` at");
  const std::string& text = source.text();
  const char before = found.span.begin > line.begin ? text[found.span.begin - 1] : ' ';
  const std::string_view first_word = leading_word(source.text(line));
  if (wants_colon && found.text.empty()) d.fix = ":";
  if (wants_colon && found.text == "=") d.fix = "==";
  if (wants_colon && found.text == "if") add_note(d, "`else if` is written `elif`");
  if (found.text == "=" && arithmetic.find(before) != std::string_view::npos) {
    add_note(d, fmt::format("there is no `{0}=`; write `a = a {0} b`", before));
  }
  if (found.text == "*" && before == '*') {
    add_note(d, fmt::format("there is no power operator; of tiles it is `{}(a, b)`, of constants "
                            "`1 << n` or a product",
                            isa::Pow::schema.description.mnemonic));
  }
  if (found.text == "@") {
    add_note(d, fmt::format("a matrix product is `{}(a, b, acc)`",
                            isa::Dot::schema.description.mnemonic));
  }
  const std::string_view trimmed_before =
      without_space(source.text(Span{line.begin, found.span.begin}));
  if (trimmed_before.ends_with("++") || trimmed_before.ends_with("--")) {
    add_note(d, "there is no `++`; write `a = a + 1`");
  }
  if (is_word(found.text) && is_cast(trimmed_before)) {
    add_note(d, fmt::format("a conversion of a scalar is `f32({0})`, of a tile `{1}({0}, f32)`",
                            found.text, isa::Cast::schema.description.mnemonic));
  }
  if (expected.ends_with("`]`") && trimmed_before.ends_with(':')) {
    add_note(d, part_of_tensor());
  }
  if (found.text == ":" && trimmed_before.ends_with('[')) add_note(d, part_of_tensor());
  const std::string_view before_fault = source.text(Span{line.begin, found.span.begin});
  if (first_word == "def" && before_fault.find('(') != std::string_view::npos &&
      before_fault.find('<') == std::string_view::npos) {
    add_note(d,
             "a kernel has a grid, `def name<extent>(f16* a_ptr, i32 n)`; a `def` without one is a "
             "function, whose parameters are names, `def name(x, n)`");
  }
}

}  // namespace

void report_expected(const SourceFile& source, Span line, std::size_t at, std::string_view expected,
                     Diagnostics& diagnostics) {
  const Found found = find(source, line, at);
  if (report_foreign_form(source, line, found, diagnostics)) return;
  const bool closes = expected.ends_with("`)`") || expected.ends_with("`]`");
  const auto open = closes ? bracket_before(source, line, found.span.begin) : std::nullopt;
  std::string to_close;
  if (open) {
    const int open_line = source.locate(open->begin).line;
    to_close = fmt::format(" to close the `{}`", source.text(*open));
    if (open_line != source.locate(found.span.begin).line) {
      to_close += fmt::format(" at line {}", open_line);
    }
  }
  Diagnostic& d =
      diagnostics.error(Code::syntax_error, found.span,
                        fmt::format("expected {}{}, but {}", expected, to_close, found.name));
  add_advice(d, source, line, expected, found);
  if (open) add_note(d, fmt::format("the `{}` is here", source.text(*open)), *open);
}

}  // namespace tilevm::frontend
