#include "sim/debug/source_line.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

namespace tilevm::sim::debug {

SourceLine source_line(const SourceFile& source, std::size_t offset) {
  const auto& files = source.files();
  const auto after =
      std::ranges::upper_bound(files, source.place_in_text(offset), {}, &SourceFile::File::begin);
  return {source.locate(offset).line,
          static_cast<std::size_t>(std::distance(files.begin(), after)) - 1};
}

std::vector<std::string_view> lines_of(const SourceFile& source, std::size_t file) {
  std::vector<std::string_view> lines;
  const SourceFile::File& own = source.files()[file];
  for (std::size_t at = own.begin; at < own.end; at = source.next_line(at)) {
    lines.push_back(source.line_at(at));
  }
  return lines;
}

std::string line_text(const SourceFile& source, SourceLine line) {
  if (line.file == 0) return std::to_string(line.line);
  const std::string& name = source.files()[line.file].name;
  const std::size_t slash = name.starts_with("std/") ? std::string::npos : name.rfind('/');
  return fmt::format("{}:{}", slash == std::string::npos ? name : name.substr(slash + 1),
                     line.line);
}

}  // namespace tilevm::sim::debug
