#include "frontend/syntax/includes.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "frontend/syntax/line_grammar.h"
#include "frontend/syntax/lines.h"

namespace tilevm::frontend {
namespace {

constexpr std::string_view library_folder = "std/";

/// The `include` lines of a file that can be read; others are reported when it is parsed.
std::vector<ast::Include> include_lines(const SourceFile& source, std::size_t file) {
  std::vector<ast::Include> found;
  Diagnostics ignored;
  const auto lines = split_lines(source, file, ignored);
  if (!lines) return found;
  for (const LogicalLine& line : lines->lines) {
    if (line.broken || leading_word(source.text(line.span)) != "include") continue;
    auto node = parse_line(source, line, ignored);
    if (!node) continue;
    if (auto* include = std::get_if<ast::Include>(&*node)) found.push_back(std::move(*include));
  }
  return found;
}

Result<FoundFile> find_in_library(const std::string& path) {
  std::vector<std::string_view> known;
  for (const LibraryFile& file : standard_library()) {
    if (file.path == path) return FoundFile{path, path, std::string(file.text)};
    known.push_back(file.path);
  }
  return Error{ErrorKind::program, fmt::format("the standard library has no `{}`; it has {}", path,
                                               fmt::join(known, ", "))};
}

class Includer {
 public:
  Includer(const SourceFile& source, const std::string& key, const FindFile& find)
      : find_(find), source_(source), files_{{key, 0}}, keys_{key} {}

  SourceFile run() {
    include_of(0);
    return std::move(source_);
  }

 private:
  void include_of(std::size_t file) {
    open_.push_back(file);
    for (const ast::Include& line : include_lines(source_, file)) {
      SourceFile::Include include{line.path_span.begin, 0, {}};
      const auto index = find(line, file);
      if (index) include.file = *index;
      if (!index) include.fault = index.error().message;
      source_.add_include(std::move(include));
    }
    open_.pop_back();
  }

  Result<std::size_t> find(const ast::Include& line, std::size_t from) {
    const bool library = line.path.starts_with(library_folder);
    Result<FoundFile> found = library ? find_in_library(line.path) : find_(line.path, keys_[from]);
    if (!found) return found.error();
    if (const auto known = files_.find(found->key); known != files_.end()) {
      if (std::ranges::find(open_, known->second) != open_.end()) return cycle(known->second);
      return known->second;
    }
    if (files_.size() > max_included_files) {
      return Error{ErrorKind::program,
                   fmt::format("a program includes at most {} files", max_included_files)};
    }
    if (source_.text().size() + found->text.size() > max_included_bytes) {
      return Error{ErrorKind::program, fmt::format("with `{}` the program has more than {} MiB",
                                                   found->name, max_included_bytes >> 20)};
    }
    const std::size_t index = source_.add_file(found->name, found->text, line.path_span);
    files_.emplace(found->key, index);
    keys_.push_back(found->key);
    include_of(index);
    return index;
  }

  [[nodiscard]] Error cycle(std::size_t file) const {
    std::string way;
    for (auto at = std::ranges::find(open_, file); at != open_.end(); ++at) {
      way += fmt::format("`{}` includes ", source_.files()[*at].name);
    }
    return Error{ErrorKind::program, fmt::format("a file cannot include itself: {}`{}`", way,
                                                 source_.files()[file].name)};
  }

  const FindFile& find_;
  SourceFile source_;
  std::map<std::string, std::size_t, std::less<>> files_;  // by key
  std::vector<std::string> keys_;                          // by index
  std::vector<std::size_t> open_;                          // whose lines are being looked at
};

class Flattener {
 public:
  explicit Flattener(const SourceFile& source)
      : source_(source), seen_(source.files().size(), false) {}

  std::string text_of(std::size_t index) {
    seen_[index] = true;
    const SourceFile::File& file = source_.files()[index];
    std::string text;
    std::size_t at = file.begin;
    for (const ast::Include& line : include_lines(source_, index)) {
      const auto* found = source_.include_at(line.path_span.begin);
      if (found == nullptr || !found->fault.empty()) continue;
      const std::size_t begin = source_.text().rfind("include", line.path_span.begin);
      text.append(source_.text(), at, begin - at);
      if (!seen_[found->file]) text += text_of(found->file) + "\n";
      at = line.path_span.end;
    }
    return text.append(source_.text(), at, file.end - at);
  }

 private:
  const SourceFile& source_;
  std::vector<bool> seen_;
};

}  // namespace

std::string flattened(const SourceFile& source) { return Flattener(source).text_of(0); }

std::shared_ptr<const SourceFile> with_includes(const std::shared_ptr<const SourceFile>& source,
                                                const std::string& key, const FindFile& find) {
  if (include_lines(*source, 0).empty()) return source;
  return std::make_shared<const SourceFile>(Includer(*source, key, find).run());
}

std::shared_ptr<const SourceFile> with_standard_library(
    const std::shared_ptr<const SourceFile>& source) {
  return with_includes(source, "", [](const std::string& path, const std::string&) {
    return Result<FoundFile>(Error{
        ErrorKind::program,
        fmt::format("`{}` cannot be found: this text is not a file, so it has no folder to look "
                    "in; only std/ can be included",
                    path)});
  });
}

}  // namespace tilevm::frontend
