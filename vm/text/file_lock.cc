#include "vm/text/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/format.h>

namespace tilevm::vm {

Result<FileLock> FileLock::take(const std::string& path) {
  if (path.empty()) return FileLock(-1);
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  int code = descriptor < 0 ? errno : 0;
  while (code == 0 && ::flock(descriptor, LOCK_EX) != 0) code = errno == EINTR ? 0 : errno;
  if (code == 0) return FileLock(descriptor);
  if (descriptor >= 0) ::close(descriptor);
  return Error{ErrorKind::usage, fmt::format("cannot lock `{}`: {}", path, std::strerror(code))};
}

FileLock::FileLock(FileLock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

FileLock::~FileLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

}  // namespace tilevm::vm
