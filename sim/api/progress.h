// How far a run is, for who waits for it, and a wish that the run end early. Another thread may use
// both while the run goes on.
#pragma once

#include <atomic>
#include <cstdint>

namespace tilevm::sim {

struct Progress {
  std::atomic<int> kernel{-1};              ///< index of the kernel that runs; -1: none yet
  std::atomic<std::uint64_t> launch{0};     ///< index of the launch, from 0 on
  std::atomic<std::uint64_t> blocks{0};     ///< number of this launch's blocks that ended
  std::atomic<std::uint64_t> of_blocks{0};  ///< number of this launch's blocks
  /// Set by who waits: no block begins, and blocks that run end at the next iteration of a loop.
  /// The run then gives Error (limit).
  std::atomic<bool> stop{false};

  void begin(int number, std::uint64_t all) {
    kernel = number;
    blocks = 0;
    of_blocks = all;
  }
};

}  // namespace tilevm::sim
