#include "isa/base/source.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

namespace tilevm {

Span join(Span a, Span b) { return {std::min(a.begin, b.begin), std::max(a.end, b.end)}; }

SourceFile::SourceFile(std::string name, std::string text)
    : text_(std::move(text)), line_starts_{0} {
  files_.push_back({std::move(name), 0, static_cast<std::uint32_t>(text_.size()), {}});
  add_line_starts(0);
}

void SourceFile::add_line_starts(std::size_t from) {
  for (std::size_t i = from; i < text_.size(); ++i) {
    if (text_[i] == '\n') line_starts_.push_back(i + 1);
  }
}

std::size_t SourceFile::add_file(std::string name, std::string_view text, Span included) {
  const std::size_t before = text_.size();
  text_ += '\n';
  const auto begin = static_cast<std::uint32_t>(text_.size());
  text_ += text;
  add_line_starts(before);
  files_.push_back({std::move(name), begin, static_cast<std::uint32_t>(text_.size()), included});
  return files_.size() - 1;
}

const SourceFile::Include* SourceFile::include_at(std::uint32_t offset) const {
  const auto found = std::ranges::find(includes_, offset, &Include::at);
  return found == includes_.end() ? nullptr : &*found;
}

std::optional<std::uint32_t> SourceFile::add_call(Span body, std::string function, Span call) {
  const std::uint64_t begin =
      copies_.empty() ? std::uint64_t{text_.size()} + 1 : std::uint64_t{copies_.back().end} + 1;
  const std::uint64_t end = begin + (body.end - body.begin);
  if (end >= std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
  copies_.push_back({static_cast<std::uint32_t>(begin),
                     static_cast<std::uint32_t>(end),
                     body.begin,
                     {std::move(function), call}});
  return static_cast<std::uint32_t>(begin) - body.begin;
}

const SourceFile::Copy* SourceFile::copy_at(std::size_t offset) const {
  const auto next = std::ranges::upper_bound(copies_, offset, {}, &Copy::begin);
  if (next == copies_.begin() || offset > std::prev(next)->end) return nullptr;
  return &*std::prev(next);
}

std::vector<SourceFile::Call> SourceFile::calls_at(std::size_t offset) const {
  std::vector<Call> calls;
  for (const Copy* copy = copy_at(offset); copy != nullptr; copy = copy_at(offset)) {
    calls.push_back(copy->call);
    offset = copy->call.call.begin;
  }
  return calls;
}

std::size_t SourceFile::place_in_text(std::size_t offset) const {
  const Copy* const copy = copy_at(offset);
  return std::min(copy != nullptr ? offset - copy->begin + copy->from : offset, text_.size());
}

const SourceFile::File& SourceFile::file_at(std::size_t place) const {
  return *std::prev(std::ranges::upper_bound(files_, place, {}, &File::begin));
}

const std::string& SourceFile::name_at(std::size_t offset) const {
  return file_at(place_in_text(offset)).name;
}

/// The index in line_starts_ of the line that contains a byte of the text.
std::size_t SourceFile::line_index(std::size_t place) const {
  return static_cast<std::size_t>(std::ranges::upper_bound(line_starts_, place) -
                                  line_starts_.begin()) -
         1;
}

LineColumn SourceFile::locate(std::size_t offset) const {
  const std::size_t place = place_in_text(offset);
  const std::size_t line = line_index(place);
  const std::size_t first = line_index(file_at(place).begin);
  return {static_cast<int>(line - first) + 1, static_cast<int>(place - line_starts_[line]) + 1};
}

std::string SourceFile::location(std::size_t offset) const {
  const LineColumn at = locate(offset);
  const File& file = file_at(place_in_text(offset));
  const bool is_own = &file == &files_.front();
  return fmt::format("{}{}{}:{}", is_own ? "" : file.name, is_own ? "" : ":", at.line, at.column);
}

Span SourceFile::in_own_file(Span span) const {
  const auto begin = static_cast<std::uint32_t>(place_in_text(span.begin));
  Span at{begin, begin + (span.end - span.begin)};
  for (const File* file = &file_at(at.begin); file != &files_.front(); file = &file_at(at.begin)) {
    at = file->included;
  }
  return at;
}

int SourceFile::root_line(std::size_t offset) const {
  for (const Copy* copy = copy_at(offset); copy != nullptr; copy = copy_at(offset)) {
    offset = copy->call.call.begin;
  }
  const auto at = static_cast<std::uint32_t>(offset);
  return locate(in_own_file({at, at}).begin).line;
}

std::string_view SourceFile::line_from(std::size_t begin) const {
  std::size_t end = text_.find('\n', begin);
  if (end == std::string::npos) end = text_.size();
  if (end > begin && text_[end - 1] == '\r') --end;
  return std::string_view(text_).substr(begin, end - begin);
}

std::string_view SourceFile::line_at(std::size_t offset) const {
  return line_from(line_starts_[line_index(place_in_text(offset))]);
}

std::size_t SourceFile::next_line(std::size_t offset) const {
  const std::size_t place = place_in_text(offset), next = line_index(place) + 1;
  const std::size_t begin = next < line_starts_.size() ? line_starts_[next] : text_.size() + 1;
  return offset + (begin - place);
}

std::string_view SourceFile::line(int number) const {
  if (number < 1 || number > line_count()) return {};
  return line_from(line_starts_[static_cast<std::size_t>(number) - 1]);
}

int SourceFile::line_count() const { return static_cast<int>(line_index(files_.front().end)) + 1; }

std::string_view SourceFile::text(Span span) const {
  const std::size_t begin = place_in_text(span.begin);
  const std::size_t length = span.end > span.begin ? span.end - span.begin : 0;
  return std::string_view(text_).substr(begin, length);
}

}  // namespace tilevm
