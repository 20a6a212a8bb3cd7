// The streams that commands read and write: those of the standard library, but in the playground's
// module plain ones, as the library's bring locales, amounts of money and wide characters along.
#pragma once

#ifdef __EMSCRIPTEN__

#include <cstddef>
#include <cstdio>
#include <string_view>

namespace tilevm::vm {

class InputStream {
 public:
  explicit InputStream(std::FILE* file) : file_(file) {}

  InputStream& read(char* bytes, std::ptrdiff_t count) {
    count_ = std::fread(bytes, 1, static_cast<std::size_t>(count), file_);
    ended_ = static_cast<std::ptrdiff_t>(count_) < count;
    return *this;
  }
  [[nodiscard]] std::ptrdiff_t gcount() const { return static_cast<std::ptrdiff_t>(count_); }
  [[nodiscard]] bool bad() const { return std::ferror(file_) != 0; }
  explicit operator bool() const { return !ended_; }

 private:
  std::FILE* file_;
  std::size_t count_ = 0;
  bool ended_ = false;
};

class OutputStream {
 public:
  explicit OutputStream(std::FILE* file) : file_(file) {}

  OutputStream& write(const char* bytes, std::ptrdiff_t count) {
    const auto size = static_cast<std::size_t>(count);
    fails_ = std::fwrite(bytes, 1, size, file_) < size || fails_;
    return *this;
  }
  OutputStream& flush() {
    fails_ = std::fflush(file_) != 0 || fails_;
    return *this;
  }
  explicit operator bool() const { return !fails_; }

  friend OutputStream& operator<<(OutputStream& out, std::string_view text) {
    return out.write(text.data(), static_cast<std::ptrdiff_t>(text.size()));
  }
  friend OutputStream& operator<<(OutputStream& out, char c) { return out.write(&c, 1); }

 private:
  std::FILE* file_;
  bool fails_ = false;
};

struct StandardStreams {
  InputStream& in;
  OutputStream &out, &err;
};
inline StandardStreams standard_streams() {
  static InputStream in(stdin);
  static OutputStream out(stdout), err(stderr);
  return {in, out, err};
}

}  // namespace tilevm::vm

#else

#include <iostream>

namespace tilevm::vm {

using InputStream = std::istream;
using OutputStream = std::ostream;

struct StandardStreams {
  InputStream& in;
  OutputStream &out, &err;
};
inline StandardStreams standard_streams() {
  std::ios::sync_with_stdio(false);
  return {std::cin, std::cout, std::cerr};
}

}  // namespace tilevm::vm

#endif
