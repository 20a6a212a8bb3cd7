#include "vm/naive/naive_turns.h"

#include <algorithm>
#include <thread>
#include <utility>

namespace tilevm::vm::naive {

/// The next agent that can run has the turn. If none can, all that wait go on in turn with nothing
/// that holds, so that each can end.
void NaiveTurns::pass() {
  const std::size_t count = agents_.size(), from = running_;
  const auto next = [&](const auto& can) {
    for (std::size_t i = 1; i <= count; ++i) {
      const std::size_t agent = (from + i) % count;
      if (agents_[agent].ended || !can(agents_[agent])) continue;
      running_ = agent;
      return true;
    }
    return false;
  };
  const bool found = !stuck_ && next([](const Agent& each) { return !each.waits || each.waits(); });
  if (!found) {
    stuck_ = true;
    // The block itself ends last, when its parts have.
    if (!next([&](const Agent& each) { return &each != agents_.data(); })) running_ = 0;
  }
  turn_.notify_all();
}

void NaiveTurns::take_turn(std::unique_lock<std::mutex>& lock, std::size_t agent) {
  turn_.wait(lock, [&] { return running_ == agent; });
}

bool NaiveTurns::wait(std::function<bool()> holds) {
  std::unique_lock lock(mutex_);
  const std::size_t self = running_;
  agents_[self].waits = std::move(holds);
  pass();
  take_turn(lock, self);
  agents_[self].waits = nullptr;
  return !stuck_;
}

bool NaiveTurns::run(const std::vector<std::function<void()>>& parts) {
  std::vector<std::jthread> threads;
  const std::size_t first = agents_.size();
  {
    const std::unique_lock lock(mutex_);
    agents_.resize(first + parts.size());
  }
  for (std::size_t i = 0; i < parts.size(); ++i) {
    threads.emplace_back([this, &parts, i, first] {
      {
        std::unique_lock lock(mutex_);
        take_turn(lock, first + i);
      }
      parts[i]();
      const std::unique_lock lock(mutex_);
      agents_[first + i].ended = true;
      pass();
    });
  }
  return wait([this, first, count = parts.size()] {
    return std::all_of(agents_.begin() + static_cast<std::ptrdiff_t>(first),
                       agents_.begin() + static_cast<std::ptrdiff_t>(first + count),
                       [](const Agent& each) { return each.ended; });
  });
}

}  // namespace tilevm::vm::naive
