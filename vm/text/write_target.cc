#include "vm/text/write_target.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>

namespace tilevm::vm {
namespace {

namespace fs = std::filesystem;

constexpr int most_links = 40;  // as many as the kernel follows

/// The process of a folder that lists open files, /proc/PID/fd or /proc/PID/task/TID/fd.
std::optional<std::string> process_of(std::string_view folder) {
  constexpr std::string_view root = "/proc/";
  if (!folder.starts_with(root) || !folder.ends_with("/fd")) return {};
  folder.remove_prefix(root.size());
  return std::string(folder.substr(0, folder.find('/')));
}

/// A number without a sign; nothing for any other text.
std::optional<int> parse_descriptor(const std::string& text) {
  int number = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || stop != text.data() + text.size() || number < 0) return {};
  return number;
}

/// Fills the target for a name in a folder of open files.
int find_open_file(const std::string& process, const fs::path& path, WriteTarget& target) {
  target.kind = WriteTarget::Kind::special;
  const std::optional<int> number = parse_descriptor(path.filename().string());
  if (!number || process != std::to_string(::getpid())) {
    return ::stat(path.c_str(), &target.info) == 0 ? 0 : errno;
  }
  target.kind = WriteTarget::Kind::descriptor;
  target.descriptor = *number;
  return ::fstat(*number, &target.info) == 0 ? 0 : errno;
}

}  // namespace

std::string folder_of(const std::string& path) {
  const std::string folder = fs::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

int find_write_target(const std::string& path, WriteTarget& target) {
  fs::path at = path;
  for (int links = 0; links <= most_links; ++links) {
    std::error_code failed;
    const fs::path folder = fs::canonical(folder_of(at.string()), failed);
    if (failed) return failed.value();
    if (at.filename().empty()) return EISDIR;
    at = folder / at.filename();
    target.path = at.string();
    if (const auto process = process_of(folder.string())) {
      return find_open_file(*process, at, target);
    }
    if (::lstat(at.c_str(), &target.info) != 0) {
      target.kind = WriteTarget::Kind::absent;
      return errno == ENOENT ? 0 : errno;
    }
    if (!S_ISLNK(target.info.st_mode)) {
      target.kind =
          S_ISREG(target.info.st_mode) ? WriteTarget::Kind::regular : WriteTarget::Kind::special;
      return S_ISDIR(target.info.st_mode) ? EISDIR : 0;
    }
    const fs::path next = fs::read_symlink(at, failed);
    if (failed) return failed.value();
    at = next.is_absolute() ? next : folder / next;
  }
  return ELOOP;
}

bool is_same_file(const WriteTarget& a, const WriteTarget& b) {
  using Kind = WriteTarget::Kind;
  if (a.kind == Kind::absent || b.kind == Kind::absent) return a.kind == b.kind && a.path == b.path;
  if (!S_ISREG(a.info.st_mode) || !S_ISREG(b.info.st_mode)) return false;
  if (a.kind == Kind::descriptor && b.kind == Kind::descriptor)
    return false;  // one after the other
  return a.info.st_dev == b.info.st_dev && a.info.st_ino == b.info.st_ino;
}

int check_access(const WriteTarget& target) {
  const auto may = [](const std::string& path, int mode) {
    return ::access(path.c_str(), mode) == 0 ? 0 : errno;
  };
  switch (target.kind) {
    case WriteTarget::Kind::absent:
      return may(folder_of(target.path), W_OK | X_OK);
    case WriteTarget::Kind::regular:
      // rename() would replace even a file that its owner protected.
      if (const int code = may(target.path, W_OK)) return code;
      return has_other_names(target) ? 0 : may(folder_of(target.path), W_OK | X_OK);
    case WriteTarget::Kind::special:
      return may(target.path, W_OK);
    case WriteTarget::Kind::descriptor:
      break;
  }
  const int flags = ::fcntl(target.descriptor, F_GETFL);
  if (flags < 0) return errno;
  return (flags & O_ACCMODE) == O_RDONLY ? EBADF : 0;
}

}  // namespace tilevm::vm
