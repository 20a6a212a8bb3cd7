#include "backend/emit/code_writer.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

namespace tilevm::backend {
namespace {

constexpr std::size_t max_columns = 100;
constexpr std::size_t max_comment = 160;

bool is_printable(char c) { return c >= ' ' && c <= '~'; }

/// Where to break a line that is too long: after the comma that is outside of the most brackets;
/// of several, the last.
std::size_t break_at(std::string_view text, std::size_t room) {
  if (text.size() <= room) return text.size();
  std::size_t best = text.size();
  int depth = 0, best_depth = std::numeric_limits<int>::max();
  for (std::size_t i = 0; i + 1 < text.size() && (i < room || best == text.size()); ++i) {
    if (text[i] == '(' || text[i] == '[' || text[i] == '{') ++depth;
    if (text[i] == ')' || text[i] == ']' || text[i] == '}') --depth;
    if (text[i] != ',' || text[i + 1] != ' ' || depth > best_depth) continue;
    best = i + 1;
    best_depth = depth;
  }
  return best;
}

}  // namespace

std::string quote_file(std::string_view name) {
  std::string result = "\"";
  for (const char c : name) {
    const bool control = static_cast<unsigned char>(c) < ' ' || c == '\x7f';
    result += c == '"' ? '\'' : c == '\\' ? '/' : control ? '?' : c;
  }
  return result + "\"";
}

CodeWriter::CodeWriter(std::string_view file)
    : quoted_file_(file.empty() ? "" : quote_file(file)) {}

void CodeWriter::raw(std::string_view indentation, std::string_view text) {
  text_.append(indentation).append(text).append("\n");
  if (next_line_ > 0) ++next_line_;
}

void CodeWriter::sync() {
  if (quoted_file_.empty() || program_line_ <= 0 || next_line_ == program_line_) return;
  const bool known = next_line_ > 0;
  text_ += fmt::format("#line {}{}\n", program_line_, known ? "" : " " + quoted_file_);
  next_line_ = program_line_;
}

void CodeWriter::line(std::string_view text) {
  sync();
  plain(text);
}

void CodeWriter::plain(std::string_view text) {
  std::string indentation(static_cast<std::size_t>(depth_) * 2, ' ');
  for (bool first = true; !text.empty() || first; first = false) {
    const std::size_t room = max_columns - std::min(indentation.size(), max_columns / 2);
    const std::size_t end = break_at(text, room);
    raw(indentation, text.substr(0, end));
    text.remove_prefix(end);
    if (text.starts_with(' ')) text.remove_prefix(1);
    if (first) indentation += "    ";
  }
}

void CodeWriter::open(std::string_view text) {
  sync();
  open_plain(text);
}

void CodeWriter::open_plain(std::string_view text) {
  plain(text.empty() ? std::string("{") : fmt::format("{} {{", text));
  ++depth_;
}

void CodeWriter::open_unrolled(std::string_view variable, std::int64_t count) {
  const std::string_view unroll = count <= longest_unrolled ? "TV_UNROLL" : "TV_UNROLL_BY(8)";
  open_plain(fmt::format("{} for (int {} = 0; {} < {}; ++{})", unroll, variable, variable, count,
                         variable));
}

void CodeWriter::close() {
  --depth_;
  raw(std::string(static_cast<std::size_t>(depth_) * 2, ' '), "}");
}

void CodeWriter::close_and_open(std::string_view text) {
  --depth_;
  line(fmt::format("}} {} {{", text));
  ++depth_;
}

void CodeWriter::comment(std::string_view text) {
  std::string safe;
  for (const char c : text.substr(0, max_comment)) safe += is_printable(c) ? c : '?';
  if (text.size() > max_comment) safe += " ...";
  // A backslash at the end, or its trigraph, would continue the comment.
  if (safe.ends_with('\\') || safe.ends_with("?\?/")) safe += '.';
  raw(std::string(static_cast<std::size_t>(depth_) * 2, ' '), "// " + safe);
}

void CodeWriter::aside(const std::vector<std::string>& lines) {
  if (lines.empty()) return;
  const int next = next_line_;
  for (const std::string& text : lines) plain(text);
  next_line_ = next;
  if (next > 0) text_ += fmt::format("#line {}\n", next);
}

void CodeWriter::blank() { raw("", ""); }

}  // namespace tilevm::backend
