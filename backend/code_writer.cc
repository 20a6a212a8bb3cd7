#include "backend/code_writer.h"

#include <algorithm>

#include <fmt/format.h>

namespace tilevm::backend {
namespace {

constexpr std::size_t max_columns = 100;
constexpr std::size_t max_comment = 160;

bool is_printable(char c) { return c >= ' ' && c <= '~'; }

/// Where to break a line that is too long: after a comma outside of the first columns.
std::size_t break_at(std::string_view text, std::size_t room) {
  if (text.size() <= room) return text.size();
  std::size_t comma = text.rfind(", ", room);
  if (comma == std::string_view::npos || comma < room / 3) comma = text.find(", ", room);
  return comma == std::string_view::npos ? text.size() : comma + 1;
}

}  // namespace

std::string quote(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      result += {'\\', c};
    } else if (is_printable(c)) {
      result += c;
    } else {
      result += fmt::format("\\{:03o}", static_cast<unsigned char>(c));
    }
  }
  return result + "\"";
}

CodeWriter::CodeWriter(std::string_view file) : quoted_file_(file.empty() ? "" : quote(file)) {}

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
  line(text.empty() ? std::string("{") : fmt::format("{} {{", text));
  ++depth_;
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
  // A backslash at the end, or the trigraph that stands for it, would continue the comment.
  if (safe.ends_with('\\') || safe.ends_with("?\?/")) safe += '.';
  raw(std::string(static_cast<std::size_t>(depth_) * 2, ' '), "// " + safe);
}

void CodeWriter::blank() { raw("", ""); }

}  // namespace tilevm::backend
