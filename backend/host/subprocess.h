// Another program, run to its end with a time limit; and a folder for its files.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "isa/base/result.h"

namespace tilevm::backend {

/// The moment by which something has to be done.
using Deadline = std::chrono::steady_clock::time_point;

/// What to run. No shell is involved: arguments are passed as they are.
struct ProcessRequest {
  std::string program;                         ///< absolute path
  std::vector<std::string> arguments;          ///< arguments without the program's name
  std::string folder;                          ///< where it runs, also its TMPDIR
  std::vector<std::string> dropped_variables;  ///< not handed down to it
  Deadline deadline;
};

struct ProcessResult {
  int exit_status = 0;  ///< exit status, or 128 + the signal that ended the process
  std::string output;   ///< standard output and error as they came, at most `max_process_output`
};

inline constexpr std::size_t max_process_output = std::size_t{1} << 20;

/// Runs a program in a process group of its own, with no input. When the deadline passes, the whole
/// group is killed, so that a compiler's own children do not go on.
/// Errors: unavailable (cannot be started), limit (deadline).
[[nodiscard]] Result<ProcessResult> run_process(const ProcessRequest& request);

/// A new folder that only this user can read; it goes with its content when the object dies.
class TemporaryFolder {
 public:
  /// Made under $TMPDIR, or /tmp. Error (unavailable): the system's words.
  [[nodiscard]] static Result<TemporaryFolder> make();
  TemporaryFolder(TemporaryFolder&& other) noexcept;
  TemporaryFolder& operator=(TemporaryFolder&& other) noexcept;
  ~TemporaryFolder();

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  explicit TemporaryFolder(std::string path) : path_(std::move(path)) {}
  void remove();
  std::string path_;
};

/// A whole file. Error (unavailable): cannot be read or written, with the system's words.
[[nodiscard]] Result<std::string> read_whole_file(const std::string& path);
Status write_whole_file(const std::string& path, const std::string& content);

}  // namespace tilevm::backend
