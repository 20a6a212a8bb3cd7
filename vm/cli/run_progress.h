// A line on a terminal that says how far a long run of the simulator is.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

#include "isa/program/program.h"
#include "sim/api/progress.h"
#include "vm/text/stream.h"

namespace tilevm::vm {

/// "matmul: 1,234 of 10,000 blocks, 523 a second, 17 s left"; without blocks that have ended only
/// the time.
[[nodiscard]] std::string progress_text(const std::string& kernel, std::uint64_t done,
                                        std::uint64_t all, double seconds);

/// Whether such lines are wanted: standard error is a terminal that can rewrite a line.
[[nodiscard]] bool shows_progress();

/// While it lives, and from the second second on, it rewrites one line; at its end it removes it.
class RunProgress {
 public:
  using Clock = std::chrono::steady_clock;
  struct Times {
    std::chrono::milliseconds first{1000}, next{250};
  };
  /// Does nothing unless `shows`.
  RunProgress(OutputStream& err, const isa::Program& program, const sim::Progress& progress,
              bool shows, Times times);
  RunProgress(OutputStream& err, const isa::Program& program, const sim::Progress& progress)
      : RunProgress(err, program, progress, shows_progress(), Times()) {}
  RunProgress(const RunProgress&) = delete;
  RunProgress& operator=(const RunProgress&) = delete;
  ~RunProgress();

 private:
  void write_lines();

  OutputStream& err_;
  const isa::Program& program_;
  const sim::Progress& progress_;
  Times times_;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace tilevm::vm
