#include "backend/host/folder_handle.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <string_view>

namespace tilevm::backend {
namespace {

int write_all(int file, std::string_view rest) {
  while (!rest.empty()) {
    const ssize_t put = ::write(file, rest.data(), rest.size());
    if (put < 0 && errno != EINTR) return errno;
    if (put > 0) rest.remove_prefix(static_cast<std::size_t>(put));
  }
  return 0;
}

/// A file of this process alone, and its name; -1 after a failure.
int open_temporary(int folder, const std::string& mark, std::string& name) {
  static std::atomic<unsigned> counter{0};
  for (int attempt = 0; attempt < 100; ++attempt) {
    name = fmt::format("{}{}.{}", mark, ::getpid(), counter++);
    const int file = ::openat(folder, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file >= 0 || errno != EEXIST) return file;
  }
  return -1;
}

}  // namespace

FolderHandle::FolderHandle(int descriptor)
    : descriptor_(new int(descriptor), [](const int* number) {
        ::close(*number);
        delete number;
      }) {}

std::optional<FolderHandle> FolderHandle::open(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return std::nullopt;
  return FolderHandle(descriptor);
}

std::optional<struct stat> FolderHandle::status() const {
  struct stat info{};
  if (::fstat(*descriptor_, &info) != 0) return std::nullopt;
  return info;
}

std::vector<std::string> FolderHandle::plain_files() const {
  std::vector<std::string> names;
  const int copy = ::openat(*descriptor_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* const folder = copy < 0 ? nullptr : ::fdopendir(copy);
  if (folder == nullptr) {
    if (copy >= 0) ::close(copy);
    return names;
  }
  while (const dirent* entry = ::readdir(folder)) {
    if (plain_file(entry->d_name)) names.emplace_back(entry->d_name);
  }
  ::closedir(folder);
  return names;
}

std::optional<struct stat> FolderHandle::plain_file(const std::string& name) const {
  struct stat info{};
  const bool found = ::fstatat(*descriptor_, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0;
  if (!found || !S_ISREG(info.st_mode)) return std::nullopt;
  return info;
}

std::optional<std::string> FolderHandle::read(const std::string& name, std::size_t most) const {
  const int file =
      ::openat(*descriptor_, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) return std::nullopt;
  struct stat info{};
  bool good = ::fstat(file, &info) == 0 && S_ISREG(info.st_mode);
  std::string content;
  std::array<char, 65536> part{};
  while (good && content.size() < most) {
    const ssize_t got = ::read(file, part.data(), std::min(part.size(), most - content.size()));
    if (got == 0) break;
    if (got > 0) content.append(part.data(), static_cast<std::size_t>(got));
    good = got > 0 || errno == EINTR;
  }
  ::close(file);
  return good ? std::optional(std::move(content)) : std::nullopt;
}

void FolderHandle::touch(const std::string& name) const {
  static_cast<void>(::utimensat(*descriptor_, name.c_str(), nullptr, AT_SYMLINK_NOFOLLOW));
}

bool FolderHandle::remove(const std::string& name) const {
  return ::unlinkat(*descriptor_, name.c_str(), 0) == 0;
}

int FolderHandle::write(const std::string& name, const std::string& content,
                        const std::string& mark) const {
  std::string temporary;
  const int file = open_temporary(*descriptor_, mark, temporary);
  if (file < 0) return errno;
  int code = write_all(file, content);
  if (::close(file) != 0 && code == 0) code = errno;
  const auto rename = [&] {
    return ::renameat(*descriptor_, temporary.c_str(), *descriptor_, name.c_str());
  };
  if (code == 0 && rename() != 0) code = errno;
  if (code != 0) remove(temporary);
  return code;
}

}  // namespace tilevm::backend
