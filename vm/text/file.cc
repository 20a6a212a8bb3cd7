#include "vm/text/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <new>
#include <optional>
#include <system_error>
#include <utility>

#include "vm/text/data_error.h"

namespace tilevm::vm {
namespace {

/// An open file that closes itself.
class Handle {
 public:
  explicit Handle(int fd) : fd_(fd) {}
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() { close(); }

  [[nodiscard]] int fd() const { return fd_; }
  [[nodiscard]] bool ok() const { return fd_ >= 0; }
  /// Closes now; false if the system reports that data was lost.
  bool close() {
    const int fd = std::exchange(fd_, -1);
    return fd < 0 || ::close(fd) == 0;
  }

 private:
  int fd_;
};

std::string reason(int code) { return std::generic_category().message(code); }

Error cannot_read(const std::string& path, const std::string& why) {
  return data_error(Code::bad_file, fmt::format("cannot read `{}`: {}", path, why));
}

Error cannot_write(const std::string& path, int code) {
  return {ErrorKind::usage, fmt::format("cannot write `{}`: {}", path, reason(code))};
}

/// Reads until `bytes` is full or the file ends; the errno of a failure, else 0.
int read_all(int fd, std::vector<std::uint8_t>& bytes) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got = ::read(fd, bytes.data() + done, bytes.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno;
    if (got == 0) break;  // someone shortened it while we read
    done += static_cast<std::size_t>(got);
  }
  bytes.resize(done);
  return 0;
}

int write_all(int fd, std::span<const std::uint8_t> bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(fd, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return errno;
    bytes = bytes.subspan(static_cast<std::size_t>(put));
  }
  return 0;
}

/// What a path leads to after all links, which may not exist yet.
std::string resolve(const std::string& path) {
  std::error_code failed;
  std::filesystem::path target = path;
  for (int hops = 0; hops < 32 && std::filesystem::is_symlink(target, failed); ++hops) {
    const std::filesystem::path next = std::filesystem::read_symlink(target, failed);
    if (failed) break;
    target = next.is_absolute() ? next : target.parent_path() / next;
  }
  return target.string();
}

Status write_directly(const std::string& path, std::span<const std::uint8_t> bytes) {
  Handle file(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.ok()) return cannot_write(path, errno);
  if (const int code = write_all(file.fd(), bytes)) return cannot_write(path, code);
  return Done{};
}

/// A new file beside `target` that no other process uses.
std::pair<std::string, int> open_temporary(const std::string& target) {
  static std::atomic<unsigned> counter{0};
  for (int attempt = 0;; ++attempt) {
    std::string name = fmt::format("{}.{}.{}.tmp", target, ::getpid(), counter++);
    const int fd = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd >= 0 || errno != EEXIST || attempt == 100) return {std::move(name), fd};
  }
}

/// Makes the new name last through a power cut; a file system that cannot do it is no error.
void sync_folder_of(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  const Handle handle(::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_CLOEXEC));
  if (handle.ok()) static_cast<void>(::fsync(handle.fd()));
}

/// Fills and renames the temporary file; the errno of a failure, else 0.
int replace(const std::string& temporary, Handle& file, const std::string& target,
            std::span<const std::uint8_t> bytes) {
  if (const int code = write_all(file.fd(), bytes)) return code;
  if (::fsync(file.fd()) != 0 && errno != EINVAL) return errno;
  if (!file.close()) return errno;
  return ::rename(temporary.c_str(), target.c_str()) == 0 ? 0 : errno;
}

}  // namespace

Result<std::vector<std::uint8_t>> read_file(const std::string& path, std::uint64_t limit) {
  // O_NONBLOCK: opening a pipe must not wait for a writer.
  const Handle file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.ok()) return cannot_read(path, reason(errno));
  struct stat info{};
  if (::fstat(file.fd(), &info) != 0) return cannot_read(path, reason(errno));
  if (S_ISDIR(info.st_mode)) return cannot_read(path, "it is a folder");
  if (!S_ISREG(info.st_mode)) return cannot_read(path, "it is no regular file");
  const auto size = static_cast<std::uint64_t>(info.st_size);
  if (size > limit) return cannot_read(path, fmt::format("it is larger than {} bytes", limit));
  try {
    std::vector<std::uint8_t> bytes(static_cast<std::size_t>(size));
    if (const int code = read_all(file.fd(), bytes)) return cannot_read(path, reason(code));
    return bytes;
  } catch (const std::bad_alloc&) {
    return cannot_read(path, "it does not fit into memory");
  }
}

Status append_line(const std::string& path, std::string_view line) {
  Handle file(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  if (!file.ok()) return cannot_write(path, errno);
  const bool whole = ::write(file.fd(), line.data(), line.size()) == std::ssize(line);
  const int code = errno;
  if (!whole || !file.close()) return cannot_write(path, whole ? errno : code);
  return Done{};
}

Status check_writable(const std::string& path) {
  const std::string target = resolve(path);
  struct stat info{};
  const bool exists = ::stat(target.c_str(), &info) == 0;
  if (exists && S_ISDIR(info.st_mode)) return cannot_write(path, EISDIR);
  // rename() would replace even a file that its owner protected.
  if (exists && ::access(target.c_str(), W_OK) != 0) return cannot_write(path, errno);
  if (exists && !S_ISREG(info.st_mode)) return Done{};
  const std::string folder = std::filesystem::path(target).parent_path().string();
  if (::access(folder.empty() ? "." : folder.c_str(), W_OK) != 0) return cannot_write(path, errno);
  return Done{};
}

Status write_file_atomic(const std::string& path, std::span<const std::uint8_t> bytes) {
  if (Status status = check_writable(path); !status) return status;
  const std::string target = resolve(path);
  struct stat info{};
  const bool exists = ::stat(target.c_str(), &info) == 0;
  if (exists && !S_ISREG(info.st_mode)) return write_directly(path, bytes);
  auto [temporary, fd] = open_temporary(target);
  if (fd < 0) return cannot_write(path, errno);
  Handle file(fd);
  if (exists) static_cast<void>(::fchmod(fd, info.st_mode & 07777));
  if (const int code = replace(temporary, file, target, bytes)) {
    ::unlink(temporary.c_str());
    return cannot_write(path, code);
  }
  sync_folder_of(target);
  return Done{};
}

}  // namespace tilevm::vm
