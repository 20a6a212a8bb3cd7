// A lock that processes share by a file's name, such as one for a GPU that only one may time on.
#pragma once

#include <string>

#include "isa/base/result.h"

namespace tilevm::vm {

/// Held from `take` on until it goes, or the process ends.
class FileLock {
 public:
  /// Waits for the lock; the file is made if there is none. An empty path locks nothing.
  /// Error (usage): the file cannot be opened.
  [[nodiscard]] static Result<FileLock> take(const std::string& path);
  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&& other) = delete;
  ~FileLock();

 private:
  explicit FileLock(int descriptor) : descriptor_(descriptor) {}
  int descriptor_;
};

}  // namespace tilevm::vm
