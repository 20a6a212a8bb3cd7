// What a session knows of files: those that documents include, and those of the workspace.
#include <algorithm>
#include <filesystem>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include <boost/json.hpp>

#include "vm/lsp/across_files.h"
#include "vm/lsp/session.h"
#include "vm/text/file.h"

namespace tilevm::vm {

namespace {

using Value = boost::json::value;

/// Most bytes of a file that is not open.
constexpr std::uint64_t most_bytes = std::uint64_t{4} << 20;

std::string string_of(const Value& value) {
  return std::string(std::string_view(value.as_string()));
}

}  // namespace

/// Publishes the diagnostics of a document that are in included files, for those files.
void Session::share_diagnostics(const std::string& uri, const DocumentView& view) {
  auto now = diagnostics_by_file(view);
  auto& before = shared_[uri];
  const auto text_of_file = [](const DiagnosticsByFile& by_file, const std::string& file) {
    std::string text;
    const auto found = by_file.find(file);
    if (found == by_file.end()) return text;
    for (const auto& [message, diagnostic] : found->second) text += diagnostic.text();
    return text;
  };
  for (const auto* by_file : {&before, &now}) {
    for (const auto& [file, list] : *by_file) {
      if (text_of_file(before, file) != text_of_file(now, file)) dirty_.insert(file);
    }
  }
  before = std::move(now);
}

/// The texts of open documents, which other documents include.
EditedText Session::edited() const {
  return [this](const std::string& path) -> std::optional<std::string> {
    for (const auto& [uri, open] : documents_) {
      if (open.path == path) return open.text;
    }
    return std::nullopt;
  };
}

FindUri Session::find_uri() const {
  return [this](const std::string& path) {
    for (const auto& [uri, open] : documents_) {
      if (open.path == path) return uri;
    }
    return uri_of(path);
  };
}

/// The open documents, and the programs of the workspace that are not open.
void Session::for_each_view(const DocumentView& asking, const std::string& name,
                            const std::function<void(const DocumentView&)>& f) {
  std::set<std::string> open_paths;
  for (auto& [uri, open] : documents_) {
    open_paths.insert(open.path);
    f(view_of(uri, open));
  }
  std::vector<std::string> folders = folders_;
  const std::string path = path_of(asking.uri());
  if (folders.empty() && path != "-") {
    folders.push_back(std::filesystem::path(path).parent_path().generic_string());
  }
  for (const std::string& file : program_files(folders)) {
    if (open_paths.contains(file)) continue;
    const auto bytes = read_file(file, most_bytes);
    if (!bytes) continue;
    std::string text(bytes->begin(), bytes->end());
    const auto has = [&](std::string_view word) { return text.find(word) != std::string::npos; };
    if (!has("include") || !has(name)) continue;
    const Analysis names = analyse_names(uri_of(file), std::move(text), settings_, edited());
    f({names, uri_of(file), encoding_, find_uri()});
  }
}

/// A document and those that include it are analysed again.
void Session::text_changed(const std::string& uri) {
  dirty_.insert(uri);
  const std::string path = path_of(uri);
  for (auto& [other, open] : documents_) {
    if (other == uri || !open.analysis) continue;
    const auto& files = open.analysis->bound->files();
    const bool includes = std::any_of(files.begin() + 1, files.end(), [&](const auto& file) {
      std::error_code error;
      return std::filesystem::weakly_canonical(file.name, error).generic_string() == path;
    });
    if (!includes) continue;
    open.analysis.reset();
    dirty_.insert(other);
  }
}

/// The folders that the editor has open.
void Session::take_folders(const Object& params) {
  const auto add = [&](const Value* uri) {
    if (uri == nullptr || !uri->is_string()) return;
    const std::string path = path_of(string_of(*uri));
    if (path != "-") folders_.push_back(path);
  };
  const Value* folders = params.if_contains("workspaceFolders");
  if (folders != nullptr && folders->is_array()) {
    for (const Value& folder : folders->get_array()) {
      if (folder.is_object()) add(folder.get_object().if_contains("uri"));
    }
  }
  if (folders_.empty()) add(params.if_contains("rootUri"));
}

}  // namespace tilevm::vm
