// More than 400 lines: brackets, indentation, comments and continued lines are one scan of the
// text.
#include "frontend/syntax/lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "frontend/syntax/utf8.h"

namespace tilevm::frontend {
namespace {

// Words that begin a line of their own: inside an open bracket they prove that the bracket was
// never closed.
constexpr std::array<std::string_view, 15> line_keywords = {
    "const", "require", "def",  "pipeline", "for",      "while", "with",  "include",
    "if",    "elif",    "else", "break",    "continue", "pass",  "return"};
// The keywords of an expression that may also stand inside of it.
constexpr std::array<std::string_view, 3> expression_keywords = {"for", "if", "else"};
constexpr std::array<std::string_view, 8> other_keywords = {"in",   "and",  "or",    "not",
                                                            "true", "True", "false", "False"};

// After this many brackets that are never closed, looking for the end of each costs more than it
// helps.
constexpr int max_unclosed = 16;

bool starts_line(std::string_view text) {
  if (text.starts_with('@')) return true;
  const std::string_view word = leading_word(text);
  if (std::ranges::find(line_keywords, word) == line_keywords.end()) return false;
  if (std::ranges::find(expression_keywords, word) == expression_keywords.end()) return true;
  text = text.substr(0, text.find_first_of("#\n"));
  const std::size_t last = text.find_last_not_of(" \t\r");
  return last != std::string_view::npos && text[last] == ':';
}

char opener_of(char closer) { return closer == ')' ? '(' : '['; }
char closer_of(char opener) { return opener == '(' ? ')' : ']'; }

/// The ASCII text for a character that people paste from elsewhere, or "".
std::string_view ascii_for(std::uint32_t code_point) {
  switch (code_point) {
    case 0x00a0:
    case 0x202f:
      return " ";
    case 0x00d7:
      return "*";
    case 0x00f7:
      return "/";
    case 0x2018:
    case 0x2019:
      return "'";
    case 0x201c:
    case 0x201d:
      return "\"";
    case 0x2010:
    case 0x2011:
    case 0x2013:
    case 0x2014:
    case 0x2212:
      return "-";
    case 0x2264:
      return "<=";
    case 0x2265:
      return ">=";
    case 0x2260:
      return "!=";
    default:
      return "";
  }
}

class Splitter {
 public:
  Splitter(const SourceFile& source, const SourceFile::File& file, Diagnostics& diagnostics)
      : text_(std::string_view(source.text()).substr(0, file.end)),
        diagnostics_(diagnostics),
        pos_(file.begin) {}

  Lines run();

 private:
  struct Bracket {
    char kind;
    std::size_t at;
  };

  char at(std::size_t i) const { return i < text_.size() ? text_[i] : '\0'; }
  bool at_line_end(std::size_t i) const {
    return i >= text_.size() || text_[i] == '\n' || (text_[i] == '\r' && at(i + 1) == '\n');
  }

  void physical_line();
  void logical_line();
  bool step();  // one token of a logical line; false at its end
  bool line_break();
  void comment(int indent);
  void string();
  void open(char kind);
  void close(char kind);
  void backslash();
  void other();
  void take(std::size_t bytes);

  std::pair<std::size_t, int> indentation(std::size_t i) const;
  void check_indentation(std::size_t begin, std::size_t end);
  std::size_t after_break(std::size_t i) const;
  std::size_t recovery_point() const;
  void resume_at(std::size_t i);
  void unclosed(std::size_t limit);
  Diagnostic* fault(Code code, std::size_t begin, std::size_t end, std::string message);

  const std::string_view text_;  // ends with the file
  Diagnostics& diagnostics_;
  Lines result_;
  std::size_t pos_;
  bool blank_ = false;
  char indent_with_ = '\0';  // the first indentation of the file decides: ' ' or '\t'
  bool indent_reported_ = false;
  int unclosed_count_ = 0;

  // The logical line being read.
  LogicalLine line_;
  std::vector<Bracket> brackets_;
  std::size_t skipped_brackets_ = 0;  // opened beyond the limit
  bool code_on_line_ = false;
  bool ended_ = false;
};

Diagnostic* Splitter::fault(Code code, std::size_t begin, std::size_t end, std::string message) {
  if (line_.broken) return nullptr;
  line_.broken = true;
  const Span span{static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)};
  return &diagnostics_.error(code, span, std::move(message));
}

Lines Splitter::run() {
  if (text_.substr(pos_).starts_with("\xef\xbb\xbf")) pos_ += 3;
  while (pos_ < text_.size()) physical_line();
  return std::move(result_);
}

/// The first byte after the indentation that starts at `i`, and its columns.
std::pair<std::size_t, int> Splitter::indentation(std::size_t i) const {
  int columns = 0;
  for (; at(i) == ' ' || at(i) == '\t'; ++i)
    columns = at(i) == ' ' ? columns + 1 : columns / 8 * 8 + 8;
  return {i, columns};
}

std::size_t Splitter::after_break(std::size_t i) const {
  const std::size_t end = text_.find('\n', i);
  return end == std::string::npos ? text_.size() : end + 1;
}

void Splitter::physical_line() {
  const auto [code, columns] = indentation(pos_);
  if (at_line_end(code)) {
    blank_ = true;
    pos_ = after_break(code);
  } else if (text_[code] == '#') {
    code_on_line_ = false;
    line_ = {};
    pos_ = code;
    comment(columns);
    pos_ = after_break(pos_);
  } else {
    check_indentation(pos_, code);
    line_ = {{static_cast<std::uint32_t>(code), static_cast<std::uint32_t>(code)},
             columns,
             std::exchange(blank_, false),
             false};
    pos_ = code;
    logical_line();
  }
}

void Splitter::check_indentation(std::size_t begin, std::size_t end) {
  if (begin == end || indent_reported_) return;
  if (indent_with_ == '\0') indent_with_ = text_[begin];
  const auto white = std::string_view(text_).substr(begin, end - begin);
  if (white.find_first_not_of(indent_with_) == std::string_view::npos) return;
  indent_reported_ = true;
  diagnostics_.error(Code::bad_indentation,
                     {static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)},
                     "this line is indented with tabs and spaces mixed, or otherwise than the "
                     "lines before it; indent the whole file with spaces (four a block)");
}

void Splitter::logical_line() {
  brackets_.clear();
  skipped_brackets_ = 0;
  ended_ = false;
  code_on_line_ = true;
  while (step()) {
  }
  result_.lines.push_back(line_);
  blank_ = false;
}

bool Splitter::step() {
  if (ended_) return false;
  if (pos_ >= text_.size()) {
    if (!brackets_.empty()) unclosed(text_.size());
    return false;
  }
  const char c = text_[pos_];
  if (at_line_end(pos_)) return line_break();
  switch (c) {
    case ' ':
    case '\t':
      ++pos_;
      break;
    case '#':
      comment(0);
      break;
    case '"':
    case '\'':
      string();
      break;
    case '(':
    case '[':
      open(c);
      break;
    case ')':
    case ']':
      close(c);
      break;
    case '\\':
      backslash();
      break;
    default:
      other();
      break;
  }
  return true;
}

/// At a line break: the end of the logical line unless a bracket is open.
bool Splitter::line_break() {
  pos_ = after_break(pos_);
  if (brackets_.empty()) return false;
  code_on_line_ = false;
  const auto [code, columns] = indentation(pos_);
  if (starts_line(std::string_view(text_).substr(std::min(code, text_.size())))) {
    unclosed(pos_);
    return false;
  }
  pos_ = code;
  if (at(code) == '#') comment(columns);
  return true;
}

void Splitter::comment(int indent) {
  std::size_t end = pos_;
  while (!at_line_end(end)) ++end;
  std::size_t last = end;
  while (at(last - 1) == ' ' || at(last - 1) == '\t' || at(last - 1) == '\r') --last;
  const Span span{static_cast<std::uint32_t>(pos_), static_cast<std::uint32_t>(last)};
  const bool blank = !code_on_line_ && std::exchange(blank_, false);
  result_.comments.push_back({{std::string(text_.substr(pos_, last - pos_)), span, !code_on_line_,
                               blank, 0, line_.span.end},
                              indent});
  pos_ = end;
}

void Splitter::take(std::size_t bytes) {
  pos_ += bytes;
  line_.span.end = static_cast<std::uint32_t>(pos_);
  code_on_line_ = true;
}

void Splitter::string() {
  const std::size_t begin = pos_;
  std::size_t i = pos_ + 1;
  while (!at_line_end(i) && text_[i] != text_[begin])
    i += at(i) == '\\' && !at_line_end(i + 1) ? 2 : 1;
  if (!at_line_end(i)) return take(i + 1 - begin);
  if (!brackets_.empty() && recovery_point() <= begin) {
    // The line looks like a statement of its own, so the bracket before it is what was forgotten.
    return unclosed(text_.size());
  }
  fault(Code::syntax_error, begin, i,
        fmt::format("this string is not closed; it must end with `{}` on the same line",
                    text_[begin]));
  take(i - begin);
  brackets_.clear();  // a bracket's end was probably swallowed: the line ends here
}

void Splitter::open(char kind) {
  if (brackets_.size() < static_cast<std::size_t>(ast::max_depth)) {
    brackets_.push_back({kind, pos_});
  } else {
    ++skipped_brackets_;
    fault(Code::nesting_too_deep, pos_, pos_ + 1,
          fmt::format("brackets nest more than {} deep; give parts of the expression a name",
                      ast::max_depth));
  }
  take(1);
}

void Splitter::close(char kind) {
  const std::size_t here = pos_;
  take(1);
  if (skipped_brackets_ > 0) {
    --skipped_brackets_;
    return;
  }
  if (brackets_.empty()) {
    fault(Code::syntax_error, here, pos_, fmt::format("`{}` closes no bracket", kind));
    return;
  }
  const Bracket top = brackets_.back();
  if (top.kind == opener_of(kind)) return brackets_.pop_back();
  const char expected = closer_of(top.kind);
  if (Diagnostic* d = fault(Code::syntax_error, here, pos_,
                            fmt::format("`{}` cannot close a `{}`", kind, top.kind))) {
    d->fix = expected;
    const auto open = static_cast<std::uint32_t>(top.at);
    add_note(*d, fmt::format("this `{}` is open", top.kind), Span{open, open + 1});
  }
  // Close the bracket that the closer fits; without such a bracket, go on without the closer.
  const auto fits = std::find_if(brackets_.rbegin(), brackets_.rend(),
                                 [kind](const Bracket& b) { return b.kind == opener_of(kind); });
  if (fits != brackets_.rend()) brackets_.erase(std::prev(fits.base()), brackets_.end());
}

void Splitter::backslash() {
  if (pos_ + 1 < text_.size() && at_line_end(pos_ + 1)) {
    pos_ = after_break(pos_);
    pos_ = indentation(pos_).first;
    code_on_line_ = false;
    return;
  }
  fault(Code::bad_character, pos_, pos_ + 1,
        "a backslash outside a string joins two lines, so it must be the last byte of its line");
  take(1);
}

void Splitter::other() {
  const char c = text_[pos_];
  constexpr std::string_view punctuation = "!%&*+,-./:<=>@^|~";
  if (is_word_byte(c) || punctuation.find(c) != std::string_view::npos) return take(1);
  const CodePoint point = decode_utf8(std::string_view(text_).substr(pos_)).value_or(CodePoint{});
  const bool printable = c >= ' ' && c != 0x7f;
  std::string name = fmt::format("U+{:04X}", point.value);
  if (printable)
    name = fmt::format("`{}`", text_.substr(pos_, point.bytes));
  else if (point.value >= 0xa1)
    name = fmt::format("`{}` ({})", text_.substr(pos_, point.bytes), name);
  std::string message = fmt::format("the character {} has no meaning here", name);
  if (c == ';') message += "; put each statement on its own line";
  if (c == '?') message += "; a choice is written `a if condition else b`";
  if (c == '{' || c == '}') message += "; blocks are made by indentation, lists by `[` and `]`";
  if (Diagnostic* d = fault(Code::bad_character, pos_, pos_ + point.bytes, std::move(message))) {
    d->fix = ascii_for(point.value);
  }
  take(point.bytes);
}

/// Where to go on after a bracket that is never closed: at the first line after the bracket's that
/// is not deeper than the statement's.
std::size_t Splitter::recovery_point() const {
  std::size_t i = after_break(brackets_.front().at);
  while (i < text_.size()) {
    const auto [code, columns] = indentation(i);
    const bool empty = at_line_end(code) || at(code) == '#';
    const bool closer = at(code) == ')' || at(code) == ']';
    if (!empty && !closer && columns <= line_.indent) return i;
    i = after_break(code);
  }
  return i;
}

/// Ends a logical line whose bracket is never closed, at the recovery point but not after `limit`.
void Splitter::unclosed(std::size_t limit) {
  const std::size_t resume = std::min(recovery_point(), limit);
  while (brackets_.back().at >= resume) brackets_.pop_back();
  const Bracket bracket = brackets_.back();
  fault(Code::unclosed_bracket, bracket.at, bracket.at + 1,
        fmt::format("this `{}` is never closed", bracket.kind));
  brackets_.clear();
  ended_ = true;
  resume_at(++unclosed_count_ < max_unclosed ? resume : text_.size());
}

/// Forgets what was read at and after `i`, and goes on there.
void Splitter::resume_at(std::size_t i) {
  auto& comments = result_.comments;
  while (!comments.empty() && comments.back().comment.span.begin >= i) comments.pop_back();
  line_.span.end = std::min(line_.span.end, static_cast<std::uint32_t>(i));
  pos_ = i;
}

/// Whether a character is one that terminals obey rather than show: programs come from strangers,
/// and their lines are shown in many places.
bool is_control(std::uint32_t value) {
  const bool is_space =
      value == '\t' || value == '\n' || value == '\r' || value == '\f' || value == '\v';
  return (value < 0x20 && !is_space) || (value >= 0x7f && value < 0xa0);
}

/// The first offset that is not text, if any.
std::optional<std::size_t> find_not_text(std::string_view text, std::size_t from) {
  for (std::size_t i = from; i < text.size();) {
    const auto point = decode_utf8(text.substr(i));
    if (!point || is_control(point->value)) return i;
    i += point->bytes;
  }
  return std::nullopt;
}

}  // namespace

bool is_word_byte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

std::string_view leading_word(std::string_view text) {
  if (!text.empty() && text.front() >= '0' && text.front() <= '9') return {};
  std::size_t end = 0;
  while (end < text.size() && is_word_byte(text[end])) ++end;
  return text.substr(0, end);
}

bool is_keyword(std::string_view word) {
  return std::ranges::find(line_keywords, word) != line_keywords.end() ||
         std::ranges::find(other_keywords, word) != other_keywords.end();
}

std::vector<std::string> keywords() {
  std::vector<std::string> all(line_keywords.begin(), line_keywords.end());
  all.insert(all.end(), other_keywords.begin(), other_keywords.end());
  return all;
}

std::optional<Lines> split_lines(const SourceFile& source, std::size_t index,
                                 Diagnostics& diagnostics) {
  const SourceFile::File& file = source.files()[index];
  const std::string_view text = std::string_view(source.text()).substr(0, file.end);
  const std::size_t bytes = file.end - file.begin;
  if (bytes > max_file_bytes) {
    diagnostics.error(
        Code::file_too_large, file.included,
        fmt::format("the file has {} bytes; at most {} are read", bytes, max_file_bytes));
    return std::nullopt;
  }
  if (const auto at = find_not_text(text, file.begin)) {
    const auto begin = static_cast<std::uint32_t>(*at);
    const auto byte = static_cast<unsigned char>(text[*at]);
    const bool is_text = byte != 0 && decode_utf8(text.substr(*at));
    diagnostics.error(
        Code::not_text, {begin, begin + 1},
        fmt::format("byte {:#04x} at offset {} is {}", byte, *at - file.begin,
                    is_text ? "a control character; programs are text, and strings write it as "
                              "`\\x1b`"
                            : "not UTF-8 text; is this a program?"));
    return std::nullopt;
  }
  return Splitter(source, file, diagnostics).run();
}

}  // namespace tilevm::frontend
