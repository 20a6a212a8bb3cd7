#include "frontend/syntax/syntax_error.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <string>
#include <vector>

#include "frontend/syntax/foreign_words.h"
#include "frontend/syntax/lines.h"

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

/// `blockIdx` where `blockIdx.x` stands before `at`; empty where no such thing does.
std::string_view receiver_before(std::string_view line) {
  const auto take_word = [&line] {
    std::size_t begin = line.size();
    while (begin > 0 && (std::isalnum(static_cast<unsigned char>(line[begin - 1])) != 0 ||
                         line[begin - 1] == '_'))
      --begin;
    const std::string_view word = line.substr(begin);
    line.remove_suffix(line.size() - begin);
    return word;
  };
  while (line.ends_with(' ')) line.remove_suffix(1);
  if (take_word().empty() || !line.ends_with('.')) return {};
  line.remove_suffix(1);
  return take_word();
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

std::string_view text_before(const SourceFile& source, Span line, Span at) {
  return source.text(Span{line.begin, at.begin});
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
    add_note(d, "there is no power operator; shift or multiply instead");
  }
  const std::string_view before_fault = text_before(source, line, found.span);
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
  const std::string_view receiver = receiver_before(text_before(source, line, found.span));
  if (!advice_for(receiver).empty()) {
    const auto begin = static_cast<std::uint32_t>(receiver.data() - source.text().data());
    const Span span{begin, begin + static_cast<std::uint32_t>(receiver.size())};
    static_cast<void>(report_foreign_word({std::string(receiver), span}, diagnostics));
    return;
  }
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
