#include "isa/base/origin.h"

#include <algorithm>
#include <charconv>
#include <iterator>

#include <fmt/format.h>

namespace tilevm {
namespace {

constexpr std::string_view word = "#line";
constexpr std::string_view blanks = " \t\r";

std::string_view without_blanks(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(blanks) + 1 - begin);
}

/// Whether a line is `#line` alone, which says that what follows comes from nowhere.
bool ends_origin(std::string_view line) { return without_blanks(line) == word; }

/// Whether a line begins a definition: it is not indented and is not a comment.
bool begins_definition(std::string_view line) {
  return !line.empty() && blanks.find(line.front()) == std::string_view::npos &&
         line.front() != '#';
}

/// The origin of a place in the text, by the lines above it in its file.
std::optional<Origin> origin_above(const SourceFile& source, std::size_t place) {
  const std::string_view text = source.text();
  const auto& files = source.files();
  const auto after = std::ranges::upper_bound(files, place, {}, &SourceFile::File::begin);
  const std::size_t first = after == files.begin() ? 0 : std::prev(after)->begin;
  std::size_t end = std::min(place, text.size());  // of the lines that are left
  bool own = true;
  for (;;) {
    const std::size_t line_break = end > first ? text.rfind('\n', end - 1) : std::string::npos;
    const bool is_first = line_break == std::string::npos || line_break < first;
    const std::size_t begin = is_first ? first : line_break + 1;
    const std::string_view line = text.substr(begin, end - begin);
    if (!own) {
      if (const auto origin = parse_origin(line)) return origin;
      if (ends_origin(line) || begins_definition(line)) return std::nullopt;
    }
    if (is_first) return std::nullopt;
    own = false;
    end = line_break;
  }
}

}  // namespace

std::optional<Origin> parse_origin(std::string_view line) {
  std::string_view rest = without_blanks(line);
  if (!rest.starts_with(word) || rest.size() == word.size()) return std::nullopt;
  rest = rest.substr(word.size());
  if (blanks.find(rest.front()) == std::string_view::npos) return std::nullopt;
  rest = without_blanks(rest);
  Origin origin;
  const auto [stop, error] = std::from_chars(rest.data(), rest.data() + rest.size(), origin.line);
  if (error != std::errc{} || origin.line < 1) return std::nullopt;
  rest = without_blanks(rest.substr(static_cast<std::size_t>(stop - rest.data())));
  if (!rest.starts_with('"')) return std::nullopt;
  const std::size_t quote = rest.find('"', 1);
  if (quote == std::string_view::npos || quote == 1) return std::nullopt;
  origin.file = rest.substr(1, quote - 1);
  origin.text = without_blanks(rest.substr(quote + 1));
  return origin;
}

std::optional<Origin> origin_at(const SourceFile& source, std::size_t offset) {
  if (const auto origin = origin_above(source, source.place_in_text(offset))) return origin;
  for (const SourceFile::Call& call : source.calls_at(offset)) {
    const std::size_t place = source.place_in_text(call.call.begin);
    if (const auto origin = origin_above(source, place)) return origin;
  }
  return std::nullopt;
}

std::optional<std::size_t> first_from(const SourceFile& source, std::string_view file, int line) {
  const std::string_view text = source.text();
  std::optional<std::size_t> found;
  int nearest = 0;
  for (std::size_t at = text.find(word); at != std::string_view::npos;) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::size_t begin = at == 0 ? 0 : text.rfind('\n', at - 1) + 1;
    const auto origin = parse_origin(text.substr(begin, end - begin));
    const bool named = origin && (origin->file == file ||
                                  (origin->file.ends_with(file) &&
                                   origin->file[origin->file.size() - file.size() - 1] == '/'));
    if (named && origin->line >= line && (!found || origin->line < nearest) && end < text.size()) {
      found = end + 1;
      nearest = origin->line;
    }
    at = text.find(word, end);
  }
  return found;
}

std::string origin_text(const Origin& origin) {
  const std::size_t slash = origin.file.rfind('/');
  const std::string_view name =
      slash == std::string_view::npos ? origin.file : origin.file.substr(slash + 1);
  return fmt::format("{}:{}", name, origin.line);
}

std::string origin_line(const SourceFile& source, std::size_t offset) {
  const auto origin = origin_at(source, offset);
  return origin ? fmt::format("      {}: {}\n", origin_text(*origin), origin->text) : "";
}

}  // namespace tilevm
