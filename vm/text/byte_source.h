// Bytes that are read in pieces: of a file, or of memory.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "isa/base/result.h"
#include "vm/text/stream.h"

namespace tilevm::vm {

using Bytes = std::vector<std::uint8_t>;

class ByteSource {
 public:
  ByteSource() = default;
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;
  virtual ~ByteSource() = default;

  /// For messages.
  [[nodiscard]] virtual const std::string& name() const = 0;
  [[nodiscard]] virtual std::uint64_t size() const = 0;
  /// `count` bytes from `offset` on. Error (program): they cannot be read, or there are fewer, or
  /// memory runs out.
  [[nodiscard]] virtual Result<Bytes> read(std::uint64_t offset, std::uint64_t count) const = 0;
};

/// A regular file. Error (program): it cannot be read, or it is a folder, a device or a pipe.
[[nodiscard]] Result<std::unique_ptr<ByteSource>> open_bytes(const std::string& path);

/// What is in memory already.
[[nodiscard]] std::unique_ptr<ByteSource> bytes_in_memory(Bytes bytes, std::string name);

/// Everything that a stream holds. Error (program): more than `limit` bytes, or memory runs out.
[[nodiscard]] Result<Bytes> read_stream(InputStream& stream, std::uint64_t limit,
                                        const std::string& name);

}  // namespace tilevm::vm
