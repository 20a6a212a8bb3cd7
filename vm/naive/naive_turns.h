// Parts of a block that run at the same time, one at a time: each on a host thread of its own,
// which goes on when it is its turn.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <vector>

namespace tilevm::vm::naive {

class NaiveTurns {
 public:
  /// Runs parts until all have ended; false if all that are left wait for something that nobody
  /// does.
  bool run(const std::vector<std::function<void()>>& parts);
  /// Called by a part: others run until this holds. False if it never will.
  bool wait(std::function<bool()> holds);

 private:
  struct Agent {
    std::function<bool()> waits;  ///< none: it can run
    bool ended = false;
  };
  void pass();
  void take_turn(std::unique_lock<std::mutex>& lock, std::size_t agent);

  std::mutex mutex_;
  std::condition_variable turn_;
  std::vector<Agent> agents_{Agent{}};  ///< the first is the block itself
  std::size_t running_ = 0;
  bool stuck_ = false;
};

}  // namespace tilevm::vm::naive
