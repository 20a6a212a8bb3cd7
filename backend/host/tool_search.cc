#include "backend/host/tool_search.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>

namespace tilevm::backend {
namespace {

namespace fs = std::filesystem;

// Where NVIDIA's installer and the distributions put a toolkit.
constexpr std::string_view usual_roots[] = {"/usr/local/cuda", "/opt/cuda", "/usr/lib/cuda"};

/// The absolute form of an executable file; nothing if it is none.
std::optional<std::string> executable(const fs::path& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error) || access(path.c_str(), X_OK) != 0) return std::nullopt;
  const fs::path absolute = fs::absolute(path, error);
  if (error) return std::nullopt;
  return absolute.string();
}

std::vector<std::string> folders_on_path() {
  std::vector<std::string> folders;
  const std::string path = environment("PATH").value_or("");
  std::size_t start = 0;
  while (start <= path.size()) {
    const std::size_t end = std::min(path.find(':', start), path.size());
    // An empty entry means the current folder, from which nothing should be started unasked.
    if (end > start) folders.push_back(path.substr(start, end - start));
    start = end + 1;
  }
  return folders;
}

std::optional<std::string> find_on_path(const std::string& name) {
  for (const std::string& folder : folders_on_path()) {
    if (auto found = executable(fs::path(folder) / name)) return found;
  }
  return std::nullopt;
}

std::vector<fs::path> named_roots() {
  std::vector<fs::path> roots;
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
    if (auto root = environment(variable)) roots.emplace_back(*root);
  }
  return roots;
}

/// The toolkits that the `nvcc` on PATH belongs to: as it is written there, and where a symbolic
/// link leads.
std::vector<fs::path> roots_of_nvcc() {
  const auto nvcc = find_on_path("nvcc");
  if (!nvcc) return {};
  std::vector<fs::path> roots{fs::path(*nvcc).parent_path().parent_path()};
  std::error_code error;
  const fs::path real = fs::canonical(*nvcc, error);
  if (!error) roots.push_back(real.parent_path().parent_path());
  return roots;
}

std::vector<fs::path> toolkit_roots() {
  std::vector<fs::path> roots = named_roots();
  for (const fs::path& root : roots_of_nvcc()) roots.push_back(root);
  for (const std::string_view root : usual_roots) roots.emplace_back(root);
  return roots;
}

}  // namespace

std::optional<std::string> environment(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return std::string(value);
}

Result<std::string> find_tool(const std::string& name) {
  for (const fs::path& root : named_roots()) {
    if (auto found = executable(root / "bin" / name)) return *found;
  }
  if (auto found = find_on_path(name)) return *found;
  for (const fs::path& root : toolkit_roots()) {
    if (auto found = executable(root / "bin" / name)) return *found;
  }
  return Error{ErrorKind::unavailable,
               fmt::format("`{}` was not found in $CUDA_HOME/bin, in $CUDA_PATH/bin, on PATH, or "
                           "in {}/bin",
                           name, usual_roots[0])};
}

Result<std::string> find_named_program(const std::string& name, const std::string& variable) {
  const bool is_path = name.find('/') != std::string::npos;
  if (auto found = is_path ? executable(name) : find_on_path(name)) return *found;
  return Error{
      ErrorKind::unavailable,
      fmt::format("${} names `{}`, which is not a program that can be started; correct the "
                  "variable or unset it",
                  variable, name)};
}

std::vector<std::string> cuda_library_folders() {
  std::vector<std::string> folders;
  for (const fs::path& root : toolkit_roots()) {
    // The last two are of Python wheels up to CUDA 12: one folder a component, side by side.
    for (const char* below :
         {"lib64", "lib", "targets/x86_64-linux/lib", "../cuda_nvrtc/lib", "../cublas/lib"}) {
      std::error_code error;
      const fs::path folder = fs::canonical(root / below, error);
      if (error || !fs::is_directory(folder, error)) continue;
      if (std::find(folders.begin(), folders.end(), folder.string()) == folders.end()) {
        folders.push_back(folder.string());
      }
    }
  }
  return folders;
}

}  // namespace tilevm::backend
