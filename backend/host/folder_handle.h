// An open folder: files are named relative to it, so that a folder that is swapped for another one
// meanwhile changes nothing.
#pragma once

#include <sys/stat.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tilevm::backend {

class FolderHandle {
 public:
  /// Opens a folder. A failure leaves errno.
  [[nodiscard]] static std::optional<FolderHandle> open(const std::string& path);

  [[nodiscard]] std::optional<struct stat> status() const;
  /// The names of all plain files; links are none.
  [[nodiscard]] std::vector<std::string> plain_files() const;
  /// The status of a plain file; nothing for anything else.
  [[nodiscard]] std::optional<struct stat> plain_file(const std::string& name) const;
  /// The content of a plain file, at most `most` bytes of it.
  [[nodiscard]] std::optional<std::string> read(
      const std::string& name, std::size_t most = static_cast<std::size_t>(-1)) const;
  /// A plain file counts as written now.
  void touch(const std::string& name) const;
  /// Whether the file was removed.
  bool remove(const std::string& name) const;
  /// Writes a new file by way of a temporary one whose name begins with `mark`; the errno of a
  /// failure, else 0.
  [[nodiscard]] int write(const std::string& name, const std::string& content,
                          const std::string& mark) const;

 private:
  explicit FolderHandle(int descriptor);

  std::shared_ptr<const int> descriptor_;  // closes it
};

}  // namespace tilevm::backend
