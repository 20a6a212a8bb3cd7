// The global memory of an emulated launch: which bytes there are, and what they are called.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "backend/emu/lane.h"

namespace tilevm::backend {

class MemoryMap {
 public:
  /// Adds a buffer. Kernels may touch whole words around its elements, up to `reach` bytes.
  void add(std::string name, const unsigned char* begin, std::size_t bytes, std::size_t reach);

  /// The range with all of these bytes; null if there is none.
  [[nodiscard]] const emu::Range* find(const void* address, std::size_t bytes) const;

  /// Where an address lies, in words: "8 bytes past the end of `a_ptr` (128 bytes)".
  [[nodiscard]] std::string describe(const void* address) const;
  /// How far an address is from the nearest buffer; the largest number if there is none.
  [[nodiscard]] long long bytes_to_nearest(const void* address) const;

 private:
  struct Buffer {
    std::string name;
    emu::Range range;
    std::size_t bytes;
  };
  [[nodiscard]] static long long bytes_away_of(const Buffer& buffer, const void* address);
  [[nodiscard]] const Buffer* find_nearest(const void* address) const;

  std::vector<Buffer> buffers_;
};

/// How far an address at an offset is from a buffer; 0 inside.
[[nodiscard]] long long bytes_away(long long offset, std::size_t bytes);
/// MemoryMap::describe of one buffer, whose name is in words.
[[nodiscard]] std::string describe_offset(long long offset, std::size_t bytes,
                                          const std::string& name);

}  // namespace tilevm::backend
