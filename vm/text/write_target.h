// What a path leads to when something is written to it.
#pragma once

#include <sys/stat.h>

#include <string>

namespace tilevm::vm {

/// The end of a path, after all links.
struct WriteTarget {
  enum class Kind {
    absent,      ///< nothing yet: a new file in a folder that exists
    regular,     ///< a file
    special,     ///< a device, a pipe, a file that another process has open
    descriptor,  ///< a file that this process has open: /dev/stdout, /dev/fd/3
  };
  Kind kind = Kind::absent;
  std::string path;     ///< path after all links
  int descriptor = -1;  ///< descriptor of this process
  struct stat info{};   ///< unless absent
};

/// Follows all links; the errno of a failure (ELOOP: links in a circle), else 0.
[[nodiscard]] int find_write_target(const std::string& path, WriteTarget& target);

/// Whether the target can only be written to in place: a new file with its name would lose other
/// names (hard links).
[[nodiscard]] inline bool has_other_names(const WriteTarget& target) {
  return target.kind == WriteTarget::Kind::regular && target.info.st_nlink > 1;
}

/// Whether writing to both would leave only one: two names of a file. Devices and pipes take both.
[[nodiscard]] bool is_same_file(const WriteTarget& a, const WriteTarget& b);

/// Whether the target may be written to; the errno of a refusal, else 0.
[[nodiscard]] int check_access(const WriteTarget& target);

/// The folder that holds a path's last name.
[[nodiscard]] std::string folder_of(const std::string& path);

}  // namespace tilevm::vm
