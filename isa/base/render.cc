#include "isa/base/render.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "isa/base/origin.h"
#include "isa/base/shown.h"

namespace tilevm {
namespace {

// A line longer than the window is shown in part, with marks where it is cut.
constexpr std::size_t window_width = 120;
constexpr std::size_t window_before = 60;  // of it, before the caret
constexpr std::string_view cut_mark = "...";
constexpr std::size_t max_fix = 100;
constexpr std::size_t longest_message = 4000;

constexpr std::string_view bold = "\x1b[1m";
constexpr std::string_view green = "\x1b[1;32m";
constexpr std::string_view reset = "\x1b[0m";

std::string_view severity_color(Severity severity) {
  switch (severity) {
    case Severity::note:
      return "\x1b[1;36m";
    case Severity::warning:
      return "\x1b[1;35m";
    case Severity::error:
      return "\x1b[1;31m";
  }
  return "";
}

std::string paint(std::string_view text, std::string_view escape, bool color) {
  return color ? fmt::format("{}{}{}", escape, text, reset) : std::string(text);
}

/// The bytes of a well-formed UTF-8 sequence at the start of `text`, 0 if there is none. Overlong
/// forms and surrogates pass: this only keeps broken bytes from the terminal.
std::size_t sequence_bytes(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  const std::size_t length = first < 0xc2   ? 0
                             : first < 0xe0 ? 2
                             : first < 0xf0 ? 3
                             : first < 0xf5 ? 4
                                            : 0;
  if (length == 0 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xc0U) != 0x80U) return 0;
  }
  // C1 control characters act on some terminals.
  const bool control = first == 0xc2 && static_cast<unsigned char>(text[1]) < 0xa0;
  return control ? 0 : length;
}

/// A part of a line as it is shown, and for each shown column the byte it shows.
struct ShownLine {
  std::string text;
  std::vector<std::size_t> bytes;  // one entry a column, ascending
  std::string blanks;              // a tab for a tab, else a space: what goes under a column
};

void show(ShownLine& shown, std::string_view text, std::size_t byte, char blank = ' ') {
  shown.text += text;
  shown.bytes.push_back(byte);
  shown.blanks += blank;
}

void show_cut(ShownLine& shown, std::size_t byte) {
  for (const char c : cut_mark) show(shown, std::string_view(&c, 1), byte);
}

bool continues(char c) { return (static_cast<unsigned char>(c) & 0xc0U) == 0x80U; }

/// The window of `line` around the byte `caret`.
ShownLine show_line(std::string_view line, std::size_t caret) {
  std::size_t begin = 0;
  std::size_t end = line.size();
  if (line.size() > window_width) {
    begin = std::min(caret > window_before ? caret - window_before : 0, line.size() - window_width);
    end = begin + window_width;
    for (int i = 0; i < 3 && begin > 0 && continues(line[begin]); ++i) --begin;
    for (int i = 0; i < 3 && end < line.size() && continues(line[end]); ++i) ++end;
  }
  ShownLine shown;
  if (begin > 0) show_cut(shown, begin);
  for (std::size_t i = begin; i < end;) {
    const char c = line[i];
    const std::size_t length = sequence_bytes(line.substr(i, end - i));
    if (c == '\t') {
      show(shown, "\t", i, '\t');
    } else if (length > 0) {
      show(shown, line.substr(i, length), i);
    } else {
      const bool printable = c >= ' ' && c < 0x7f;
      show(shown, printable ? line.substr(i, 1) : "?", i);
    }
    i += std::max<std::size_t>(length, 1);
  }
  if (end < line.size()) show_cut(shown, end);
  return shown;
}

/// A file's name on one line.
std::string printable_name(std::string name) {
  std::replace(name.begin(), name.end(), '\n', '?');
  return printable(name);
}

/// The source line of a span, the carets under it, and the fix under them.
std::string snippet(Span span, std::string_view fix, const SourceFile& source, bool color) {
  const LineColumn position = source.locate(span.begin);
  const std::string_view line = source.line_at(span.begin);
  const auto first = std::min(static_cast<std::size_t>(position.column) - 1, line.size());
  const std::size_t length = span.end > span.begin ? span.end - span.begin : 1;
  const std::size_t last = std::clamp(first + length, first, line.size());
  const ShownLine shown = show_line(line, first);
  const auto column_of = [&shown](std::size_t byte) {
    const auto column = std::lower_bound(shown.bytes.begin(), shown.bytes.end(), byte);
    return static_cast<std::size_t>(column - shown.bytes.begin());
  };
  // The last of the columns that show one byte (a cut mark and the byte after it) is meant.
  const auto exact = std::upper_bound(shown.bytes.begin(), shown.bytes.end(), first);
  const bool inside = exact != shown.bytes.begin() && *std::prev(exact) == first;
  const std::size_t caret =
      inside ? static_cast<std::size_t>(exact - shown.bytes.begin()) - 1 : column_of(first);
  const std::size_t end = std::max(column_of(last), caret + 1);
  const std::string lead = shown.blanks.substr(0, caret);
  std::string text = shown.text + "\n" + lead;
  text += paint("^" + std::string(end - caret - 1, '~'), green, color) + "\n";
  if (!fix.empty()) {
    text += lead + paint(printable(fix.substr(0, max_fix)), green, color) + "\n";
  }
  return text;
}

/// The empty span at the start of the file is not a location: a define, or the file as a whole.
bool is_known(Span span) { return span != Span{}; }

std::string location_text(Span span, const SourceFile& source) {
  if (!is_known(span)) return fmt::format("{}:", printable_name(source.name()));
  const LineColumn position = source.locate(span.begin);
  return fmt::format("{}:{}:{}:", printable_name(source.name_at(span.begin)), position.line,
                     position.column);
}

/// `location` is "" for a remark without a location.
std::string headline(std::string_view location, Severity severity, std::string_view message,
                     std::string_view code, bool color) {
  std::string text;
  if (!location.empty()) text += paint(location, bold, color) + " ";
  text += paint(fmt::format("{}:", to_string(severity)), severity_color(severity), color) + " ";
  text += paint(printable(shortened(message, longest_message)), bold,
                color && severity != Severity::note);
  if (!code.empty()) text += fmt::format(" [{}]", code);
  return text + "\n";
}

/// The line that a statement of a generated program comes from, and its text; else nothing.
std::string shown_origin(Span span, const SourceFile& source, bool color) {
  if (!is_known(span)) return "";
  const auto origin = origin_at(source, span.begin);
  if (!origin) return "";
  const std::string where =
      fmt::format("{}:{}:", printable_name(std::string(origin->file)), origin->line);
  return fmt::format("{} {}\n", paint(where, bold, color), printable(origin->text));
}

std::string counted(std::size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

/// "2 errors, 1 warning", or "" if there is nothing to count.
std::string summary(const Diagnostics& diagnostics) {
  std::string text;
  if (diagnostics.error_count() > 0) text = counted(diagnostics.error_count(), "error");
  if (diagnostics.warning_count() > 0) {
    text += (text.empty() ? "" : ", ") + counted(diagnostics.warning_count(), "warning");
  }
  if (diagnostics.dropped() > 0) {
    text += fmt::format(" (the last {} not shown)", counted(diagnostics.dropped(), "error"));
  }
  return text.empty() ? text : text + "\n";
}

}  // namespace

std::string printable(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = sequence_bytes(text.substr(i));
    const bool ascii = text[i] == '\n' || (text[i] >= ' ' && text[i] < 0x7f);
    const bool good = length > 0 || ascii;
    result += good ? text.substr(i, std::max<std::size_t>(length, 1)) : "?";
    i += std::max<std::size_t>(length, 1);
  }
  return result;
}

std::string render(const Diagnostic& diagnostic, const SourceFile& source, bool color) {
  std::string text = headline(location_text(diagnostic.span, source), diagnostic.severity,
                              diagnostic.message, to_string(diagnostic.code), color);
  if (is_known(diagnostic.span)) {
    text += snippet(diagnostic.span, diagnostic.fix, source, color);
    text += shown_origin(diagnostic.span, source, color);
  }
  for (const Note& note : diagnostic.notes) {
    const std::string location = note.has_span ? location_text(note.span, source) : "";
    text += headline(location, Severity::note, note.message, "", color);
    if (note.has_span) text += snippet(note.span, "", source, color);
    if (note.has_span) text += shown_origin(note.span, source, color);
  }
  for (const SourceFile::Call& call : source.calls_at(diagnostic.span.begin)) {
    text += headline(location_text(call.call, source), Severity::note,
                     fmt::format("in `{}`, which is called here", call.function), "", color);
    text += snippet(call.call, "", source, color);
  }
  return text;
}

std::string render(const Diagnostics& diagnostics, const SourceFile& source, bool color) {
  std::string text;
  for (const Diagnostic& diagnostic : diagnostics.sorted()) {
    text += render(diagnostic, source, color);
  }
  return text + summary(diagnostics);
}

}  // namespace tilevm
