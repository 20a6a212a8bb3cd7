// The file of a kernel in the cache (kernel_cache.h):
//
//   tilevm kernel 2          which format this is
//   0123456789abcdef         the hash of all that follows
//   0123..                   the key of the request, which is also the file's name
//   matmul.cu                what the compiler's messages called the source
//   sm_90a                   the target
//   NVRTC 13.0 (/path)       the compiler
//   17                       the bytes of its log
//   the log, then the image
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace tilevm::backend {

/// What an entry keeps. A line break in a word is written as a space.
struct StoredKernel {
  std::string key, name, target, compiler;
  std::string log, image;

  friend bool operator==(const StoredKernel&, const StoredKernel&) = default;
};

[[nodiscard]] std::string format_cache_entry(const StoredKernel& kernel);
/// Nothing if the entry is truncated, damaged or of another format.
[[nodiscard]] std::optional<StoredKernel> parse_cache_entry(std::string_view text);

/// Whether a file that begins like this is an entry of any format, whole or damaged.
[[nodiscard]] bool is_cache_entry(std::string_view begin);
/// So much of a file `is_cache_entry` needs.
inline constexpr std::size_t cache_magic_bytes = 16;

/// An entry with this text after its hash.
[[nodiscard]] std::string seal_cache_entry(std::string_view body);

}  // namespace tilevm::backend
