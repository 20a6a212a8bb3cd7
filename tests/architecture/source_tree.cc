#include "tests/architecture/source_tree.h"

#include <algorithm>
#include <fstream>
#include <iterator>

namespace tilevm::architecture {

namespace fs = std::filesystem;

namespace {

/// `#include` of one line, if it is one.
std::optional<Include> parse_include(std::string_view line, int number) {
  const auto skip = [&line] {
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  };
  skip();
  if (!line.starts_with('#')) return {};
  line.remove_prefix(1);
  skip();
  if (!line.starts_with("include")) return {};
  line.remove_prefix(7);
  skip();
  if (line.empty() || (line[0] != '"' && line[0] != '<')) return {};
  const bool quoted = line[0] == '"';
  const std::size_t end = line.find(quoted ? '"' : '>', 1);
  if (end == std::string_view::npos) return {};
  return Include{std::string(line.substr(1, end - 1)), quoted, number};
}

std::vector<SourceFile> read_sources() {
  const fs::path root = repository_root();
  std::vector<SourceFile> files;
  for (const std::string& folder : top_folders()) {
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      if (!is_source(entry.path())) continue;
      SourceFile file{entry.path().lexically_relative(root).string(), read_file(entry.path()), {}};
      file.includes = find_includes(file.text);
      files.push_back(std::move(file));
    }
  }
  std::sort(files.begin(), files.end(),
            [](const SourceFile& a, const SourceFile& b) { return a.path < b.path; });
  return files;
}

}  // namespace

std::vector<Include> find_includes(std::string_view text) {
  std::vector<Include> includes;
  int number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    if (auto include = parse_include(text.substr(begin, end - begin), ++number)) {
      includes.push_back(*std::move(include));
    }
    begin = end + 1;
  }
  return includes;
}

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

fs::path repository_root() { return TILEVM_SOURCE_DIR; }

bool is_source(const fs::path& path) {
  return path.extension() == ".cc" || path.extension() == ".h";
}

const std::vector<std::string>& top_folders() {
  static const std::vector<std::string> folders = {"isa",     "frontend", "sim",
                                                   "backend", "vm",       "tests"};
  return folders;
}

const std::vector<SourceFile>& source_files() {
  static const std::vector<SourceFile> files = read_sources();
  return files;
}

std::string_view top_of(std::string_view path) { return path.substr(0, path.find('/')); }

std::string room_of(std::string_view path) {
  const std::string_view top = top_of(path);
  if (top == "tests") return "tests";
  const std::size_t end = path.find('/', top.size() + 1);
  return std::string(end == std::string_view::npos ? top : path.substr(0, end));
}

std::string unit_of(std::string_view path) { return std::string(path.substr(0, path.rfind('.'))); }

}  // namespace tilevm::architecture
