#include "vm/run/shipped.h"

#include <algorithm>
#include <fstream>
#include <string_view>
#include <system_error>

namespace tilevm::vm {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view folder_name = "programs";

/// The first sentence of the comment that a file begins with; empty if it begins with none.
std::string first_sentence(const fs::path& file) {
  std::ifstream text(file);
  std::string comment;
  for (std::string line; std::getline(text, line) && line.starts_with("#");) {
    line.erase(0, line.find_first_not_of("# "));
    comment += (comment.empty() ? "" : " ") + line;
    const std::size_t end = comment.find(". ");
    if (end != std::string::npos) return comment.substr(0, end);
    if (comment.ends_with('.')) break;
  }
  if (comment.ends_with('.')) comment.pop_back();
  return comment;
}

}  // namespace

std::optional<fs::path> shipped_programs() {
  std::error_code none;
  const fs::path executable = fs::read_symlink("/proc/self/exe", none).parent_path();
  for (const char* way : {"../programs", "programs", "../share/tilevm/programs"}) {
    const fs::path folder = (executable / way).lexically_normal();
    if (fs::is_regular_file(folder / "figure2.tile", none)) return folder;
  }
  return std::nullopt;
}

std::string program_path(const std::string& path) {
  std::error_code none;
  const fs::path named(path);
  if (path == "-" || fs::exists(named, none) || named.empty() || *named.begin() != folder_name) {
    return path;
  }
  const auto folder = shipped_programs();
  if (!folder) return path;
  const fs::path file = *folder / named.lexically_relative(fs::path(folder_name));
  return fs::is_regular_file(file, none) ? file.string() : path;
}

std::vector<ShippedProgram> list_shipped(const fs::path& folder) {
  std::vector<ShippedProgram> programs;
  std::error_code none;
  for (const auto& entry : fs::recursive_directory_iterator(folder, none)) {
    if (entry.path().extension() != ".tile") continue;
    std::string what = first_sentence(entry.path());
    if (what.empty()) continue;
    const fs::path path = fs::path(folder_name) / entry.path().lexically_relative(folder);
    programs.push_back({path.generic_string(), std::move(what)});
  }
  std::ranges::sort(programs, {}, &ShippedProgram::path);
  return programs;
}

}  // namespace tilevm::vm
