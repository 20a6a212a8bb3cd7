#include "vm/text/byte_source.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <system_error>
#include <utility>

#include "vm/text/data_error.h"

namespace tilevm::vm {
namespace {

std::string errno_text(int code) { return std::generic_category().message(code); }

bool is_inside(std::uint64_t offset, std::uint64_t count, std::uint64_t size) {
  return offset <= size && count <= size - offset;
}

Result<Bytes> make_bytes(std::uint64_t count, const std::string& name) {
  try {
    return Bytes(static_cast<std::size_t>(count));
  } catch (const std::bad_alloc&) {
    return file_error(name, "it does not fit into memory");
  }
}

class FileBytes final : public ByteSource {
 public:
  FileBytes(int fd, std::uint64_t size, std::string name)
      : fd_(fd), size_(size), name_(std::move(name)) {}
  FileBytes(const FileBytes&) = delete;
  FileBytes& operator=(const FileBytes&) = delete;
  ~FileBytes() override { ::close(fd_); }

  const std::string& name() const override { return name_; }
  std::uint64_t size() const override { return size_; }
  Result<Bytes> read(std::uint64_t offset, std::uint64_t count) const override {
    if (!is_inside(offset, count, size_)) return file_error(name_, "it is cut short");
    Result<Bytes> bytes = make_bytes(count, name_);
    if (!bytes) return bytes;
    for (std::size_t done = 0; done < bytes->size();) {
      const ssize_t got = ::pread(fd_, bytes->data() + done, bytes->size() - done,
                                  static_cast<off_t>(offset + done));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return file_error(name_, errno_text(errno));
      if (got == 0) return file_error(name_, "it was shortened while it was read");
      done += static_cast<std::size_t>(got);
    }
    return bytes;
  }

 private:
  int fd_;
  std::uint64_t size_;
  std::string name_;
};

class MemoryBytes final : public ByteSource {
 public:
  MemoryBytes(Bytes bytes, std::string name) : bytes_(std::move(bytes)), name_(std::move(name)) {}
  const std::string& name() const override { return name_; }
  std::uint64_t size() const override { return bytes_.size(); }
  Result<Bytes> read(std::uint64_t offset, std::uint64_t count) const override {
    if (!is_inside(offset, count, bytes_.size())) return file_error(name_, "it is cut short");
    Result<Bytes> bytes = make_bytes(count, name_);
    if (bytes) {
      std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(offset), bytes->size(),
                  bytes->begin());
    }
    return bytes;
  }

 private:
  Bytes bytes_;
  std::string name_;
};

}  // namespace

Result<std::unique_ptr<ByteSource>> open_bytes(const std::string& path) {
  // O_NONBLOCK: opening a pipe must not wait for a writer.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return file_error(path, errno_text(errno));
  struct stat info{};
  const int code = ::fstat(fd, &info) == 0 ? 0 : errno;
  auto file =
      std::make_unique<FileBytes>(fd, static_cast<std::uint64_t>(std::max<off_t>(info.st_size, 0)),
                                  path);  // closes it
  if (code != 0) return file_error(path, errno_text(code));
  if (S_ISDIR(info.st_mode)) return file_error(path, "it is a folder");
  if (!S_ISREG(info.st_mode)) return file_error(path, "it is not a regular file");
  return std::unique_ptr<ByteSource>(std::move(file));
}

std::unique_ptr<ByteSource> bytes_in_memory(Bytes bytes, std::string name) {
  return std::make_unique<MemoryBytes>(std::move(bytes), std::move(name));
}

Result<Bytes> read_stream(InputStream& stream, std::uint64_t limit, const std::string& name) {
  Bytes bytes;
  try {
    while (stream && bytes.size() <= limit) {
      constexpr std::size_t step = std::size_t{1} << 16;
      const std::size_t before = bytes.size();
      bytes.resize(before + step);
      stream.read(reinterpret_cast<char*>(bytes.data() + before), step);
      bytes.resize(before + static_cast<std::size_t>(stream.gcount()));
    }
  } catch (const std::bad_alloc&) {
    return file_error(name, "it does not fit into memory");
  }
  if (bytes.size() > limit) {
    return file_error(name, fmt::format("it is larger than {} bytes", limit));
  }
  return bytes;
}

}  // namespace tilevm::vm
