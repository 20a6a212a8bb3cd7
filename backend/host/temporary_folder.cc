#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

#include "backend/host/subprocess.h"
#include "backend/host/tool_search.h"

namespace tilevm::backend {

Result<TemporaryFolder> TemporaryFolder::make() {
  std::string pattern = environment("TMPDIR").value_or("/tmp") + "/tilevm-XXXXXX";
  if (mkdtemp(pattern.data()) == nullptr) {
    return Error{ErrorKind::unavailable,
                 fmt::format("cannot make a folder `{}` for the compiler's files: {}; set TMPDIR "
                             "to a folder that can be written",
                             pattern, std::strerror(errno))};
  }
  std::error_code error;
  const std::filesystem::path path = std::filesystem::absolute(pattern, error);
  return TemporaryFolder(error ? pattern : path.string());
}

TemporaryFolder::TemporaryFolder(TemporaryFolder&& other) noexcept
    : path_(std::exchange(other.path_, {})) {}

TemporaryFolder& TemporaryFolder::operator=(TemporaryFolder&& other) noexcept {
  if (this != &other) {
    remove();
    path_ = std::exchange(other.path_, {});
  }
  return *this;
}

TemporaryFolder::~TemporaryFolder() { remove(); }

void TemporaryFolder::remove() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

Result<std::string> read_whole_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string content{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file.is_open() || file.bad()) {
    return Error{ErrorKind::unavailable, fmt::format("cannot read `{}`", path)};
  }
  return content;
}

Status write_whole_file(const std::string& path, const std::string& content) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(content.data(), static_cast<std::streamsize>(content.size()));
  file.close();
  if (!file) {
    return Error{ErrorKind::unavailable, fmt::format("cannot write `{}`; is the disk full?", path)};
  }
  return Done{};
}

}  // namespace tilevm::backend
