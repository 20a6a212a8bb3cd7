#include "vm/text/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <boost/json.hpp>
#include <cerrno>
#include <csignal>
#include <new>
#include <optional>
#include <system_error>
#include <utility>

#include "vm/text/data_error.h"
#include "vm/text/write_target.h"

namespace tilevm::vm {
namespace {

/// An open file that closes itself.
class Handle {
 public:
  explicit Handle(int fd) : fd_(fd) {}
  Handle(Handle&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
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

Error cannot_read(const std::string& path, const std::string& why) { return file_error(path, why); }

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

/// Writes everything, also to a pipe that takes less at a time.
int write_all(int fd, std::span<const std::uint8_t> bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(fd, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0 && errno == EAGAIN) {
      pollfd ready{fd, POLLOUT, 0};
      static_cast<void>(::poll(&ready, 1, -1));
      continue;
    }
    if (put < 0) return errno;
    bytes = bytes.subspan(static_cast<std::size_t>(put));
  }
  return 0;
}

/// No signal ends the process before the end of a scope, so that no temporary file is left.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, &before_);
  }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;
  ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

/// Writes to what is not a file of its own: a device, a pipe, what the process has open.
int write_directly(const WriteTarget& target, std::span<const std::uint8_t> bytes) {
  if (target.kind == WriteTarget::Kind::descriptor) return write_all(target.descriptor, bytes);
  // O_NONBLOCK: opening a pipe must not wait for a reader. Writing to it may.
  Handle file(::open(target.path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NONBLOCK));
  if (!file.ok()) return errno;
  const int flags = ::fcntl(file.fd(), F_GETFL);
  if (flags < 0 || ::fcntl(file.fd(), F_SETFL, flags & ~O_NONBLOCK) != 0) return errno;
  if (const int code = write_all(file.fd(), bytes)) return code;
  return file.close() ? 0 : errno;
}

/// A short name in a folder that no other process uses.
std::string temporary_name(const std::string& folder) {
  static std::atomic<unsigned> counter{0};
  return fmt::format("{}/.tilevm.{}.{}.tmp", folder, ::getpid(), counter++);
}

/// A new file: without a name if the file system has such files, so that nothing of it is left if
/// the process is killed.
struct NewFile {
  Handle handle;
  std::string name;  ///< empty: none yet
};
NewFile open_temporary(const std::string& folder) {
  if (const int fd = ::open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666); fd >= 0) {
    return {Handle(fd), {}};
  }
  for (int attempt = 0;; ++attempt) {
    std::string name = temporary_name(folder);
    const int fd = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd >= 0 || errno != EEXIST || attempt == 100) return {Handle(fd), std::move(name)};
  }
}

/// Gives a file without a name one; the errno of a failure, else 0.
int give_name(NewFile& file, const std::string& folder) {
  const std::string open_file = fmt::format("/proc/self/fd/{}", file.handle.fd());
  for (int attempt = 0; attempt < 100; ++attempt) {
    std::string name = temporary_name(folder);
    if (::linkat(AT_FDCWD, open_file.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0) {
      file.name = std::move(name);
      return 0;
    }
    if (errno != EEXIST) break;
  }
  return errno;
}

/// Makes the new name last through a power cut; a file system that cannot do it is not an error.
void sync_folder(const std::string& folder) {
  const Handle handle(::open(folder.c_str(), O_RDONLY | O_CLOEXEC));
  if (handle.ok()) static_cast<void>(::fsync(handle.fd()));
}

/// Whether the new file may take the old one's place: it has the old one's owner and mode.
bool take_over(int fd, const WriteTarget& target) {
  struct stat own{};
  if (::fstat(fd, &own) != 0) return false;
  const bool same = own.st_uid == target.info.st_uid && own.st_gid == target.info.st_gid;
  if (!same && ::fchown(fd, target.info.st_uid, target.info.st_gid) != 0) return false;
  return ::fchmod(fd, target.info.st_mode & 07777) == 0;
}

/// Fills the file and gives it the target's name; the errno of a failure, else 0.
int replace(NewFile& file, const WriteTarget& target, std::span<const std::uint8_t> bytes) {
  if (const int code = write_all(file.handle.fd(), bytes)) return code;
  if (::fsync(file.handle.fd()) != 0 && errno != EINVAL) return errno;
  const SignalsBlocked blocked;
  if (file.name.empty()) {
    if (const int code = give_name(file, folder_of(target.path))) return code;
  }
  if (!file.handle.close()) return errno;
  return ::rename(file.name.c_str(), target.path.c_str()) == 0 ? 0 : errno;
}

/// Overwrites a file that must stay the same one. The space is there before anything is lost.
int write_in_place(const WriteTarget& target, std::span<const std::uint8_t> bytes) {
  Handle file(::open(target.path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file.ok()) return errno;
  const auto size = static_cast<off_t>(bytes.size());
  if (size > target.info.st_size) {
    if (const int code = ::posix_fallocate(file.fd(), 0, size)) {
      [[maybe_unused]] const int undone = ::ftruncate(file.fd(), target.info.st_size);
      return code;
    }
  }
  if (const int code = write_all(file.fd(), bytes)) return code;
  if (::ftruncate(file.fd(), size) != 0) return errno;
  if (::fsync(file.fd()) != 0 && errno != EINVAL) return errno;
  return file.close() ? 0 : errno;
}

/// Writes a file by way of a new one; the errno of a failure, else 0.
int write_by_replacing(const WriteTarget& target, std::span<const std::uint8_t> bytes) {
  const std::string folder = folder_of(target.path);
  // A file that has a name from the start would be left by a signal.
  std::optional<SignalsBlocked> blocked(std::in_place);
  NewFile file = open_temporary(folder);
  if (!file.handle.ok()) return errno;
  if (file.name.empty()) blocked.reset();
  int code = 0;
  if (target.kind == WriteTarget::Kind::regular && !take_over(file.handle.fd(), target)) {
    code = write_in_place(target, bytes);
    if (!file.name.empty()) ::unlink(file.name.c_str());
    return code;
  }
  code = replace(file, target, bytes);
  if (code != 0 && !file.name.empty()) ::unlink(file.name.c_str());
  if (code == 0) sync_folder(folder);
  return code;
}

/// Where the last line of a file begins that has no break, if it is the beginning of a line of
/// JSON: a write that the disk refused half-way has left it.
std::optional<off_t> torn_line(int fd, off_t size, bool& ends_in_break) {
  constexpr off_t longest = off_t{1} << 20;
  const off_t begin = std::max<off_t>(size - longest, 0);
  std::string tail(static_cast<std::size_t>(size - begin), '\0');
  ends_in_break = true;
  if (::pread(fd, tail.data(), tail.size(), begin) != std::ssize(tail)) return {};
  ends_in_break = tail.empty() || tail.back() == '\n';
  if (ends_in_break) return {};
  const std::size_t line = tail.rfind('\n') + 1;  // 0 if there is none
  if (line == 0 && begin > 0) return {};
  return is_torn_json(std::string_view(tail).substr(line))
             ? std::optional(begin + static_cast<off_t>(line))
             : std::nullopt;
}

/// Prepares a file for another line: without a torn one, and after a break. The errno of a failure,
/// else 0.
int end_last_line(int fd) {
  struct stat info{};
  if (::fstat(fd, &info) != 0) return errno;
  if (!S_ISREG(info.st_mode)) return 0;
  bool ends_in_break = true;
  if (const auto begin = torn_line(fd, info.st_size, ends_in_break)) {
    return ::ftruncate(fd, *begin) == 0 ? 0 : errno;
  }
  return ends_in_break || ::write(fd, "\n", 1) == 1 ? 0 : errno;
}

/// Writes a line at the end of a file, or leaves nothing of it; the errno of a failure, else 0.
int write_line(int fd, std::string_view line) {
  struct stat info{};
  if (::fstat(fd, &info) != 0) return errno;
  const ssize_t put = ::write(fd, line.data(), line.size());
  if (put == std::ssize(line)) return 0;
  const int code = put < 0 ? errno : ENOSPC;
  struct stat after{};
  const bool ours = S_ISREG(info.st_mode) && put > 0 && ::fstat(fd, &after) == 0 &&
                    after.st_size == info.st_size + put;
  if (ours) {
    [[maybe_unused]] const int undone = ::ftruncate(fd, info.st_size);
  }
  return code;
}

}  // namespace

Result<std::vector<std::uint8_t>> read_file(const std::string& path, std::uint64_t limit) {
  // O_NONBLOCK: opening a pipe must not wait for a writer.
  const Handle file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.ok()) return cannot_read(path, reason(errno));
  struct stat info{};
  if (::fstat(file.fd(), &info) != 0) return cannot_read(path, reason(errno));
  if (S_ISDIR(info.st_mode)) return cannot_read(path, "it is a folder");
  if (!S_ISREG(info.st_mode)) return cannot_read(path, "it is not a regular file");
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

bool is_torn_json(std::string_view line) {
  if (!line.starts_with('{')) return false;
  boost::json::error_code failed;
  static_cast<void>(boost::json::parse(line, failed));
  return static_cast<bool>(failed);
}

Status append_line(const std::string& path, std::string_view line) {
  // Reading finds a torn line; a file that may only be written to goes without.
  Handle file(::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  const bool readable = file.ok();
  Handle other(readable ? -1 : ::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  if (!readable && !other.ok()) return cannot_write(path, errno);
  Handle& used = readable ? file : other;
  if (const int code = readable ? end_last_line(used.fd()) : 0) return cannot_write(path, code);
  if (const int code = write_line(used.fd(), line)) return cannot_write(path, code);
  if (!used.close()) return cannot_write(path, errno);
  return Done{};
}

Status check_writable(const std::string& path) {
  WriteTarget target;
  int code = find_write_target(path, target);
  if (code == 0) code = check_access(target);
  if (code != 0) return cannot_write(path, code);
  return Done{};
}

Status check_outputs(const std::vector<std::string>& paths) {
  std::vector<WriteTarget> targets(paths.size());
  for (std::size_t i = 0; i < paths.size(); ++i) {
    if (Status status = check_writable(paths[i]); !status) return status;
    static_cast<void>(find_write_target(paths[i], targets[i]));
    for (std::size_t k = 0; k < i; ++k) {
      if (!is_same_file(targets[k], targets[i])) continue;
      return Error{ErrorKind::usage,
                   fmt::format("two outputs would be written to `{}`, and the second would replace "
                               "the first; name two files",
                               paths[i])};
    }
  }
  return Done{};
}

Status write_file_atomic(const std::string& path, std::span<const std::uint8_t> bytes) {
  using Kind = WriteTarget::Kind;
  WriteTarget target;
  int code = find_write_target(path, target);
  if (code == 0) code = check_access(target);
  if (code == 0) {
    const bool is_direct = target.kind == Kind::special || target.kind == Kind::descriptor;
    code = is_direct                 ? write_directly(target, bytes)
           : has_other_names(target) ? write_in_place(target, bytes)
                                     : write_by_replacing(target, bytes);
  }
  if (code != 0) return cannot_write(path, code);
  return Done{};
}

}  // namespace tilevm::vm
