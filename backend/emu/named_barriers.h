// The named barriers of a block (PTX ISA, barrier): 16, each for as many threads as those that come
// to it say. Some wait there, others only arrive and go on.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

namespace tilevm::backend {

class NamedBarriers {
 public:
  static constexpr unsigned count = 16;

  explicit NamedBarriers(unsigned threads) : threads_(threads) {}
  void clear() { all_ = {}; }

  /// A thread comes to a barrier for `expected` threads. Gives the threads that now go on, itself
  /// included, if it is the last one; else nobody.
  struct Passing {
    std::vector<unsigned> waiting;  ///< threads that wait
    bool complete = false;
  };
  [[nodiscard]] Passing come(unsigned barrier, unsigned thread, unsigned expected, bool waits);

  /// Why hardware would miscount if a thread came now, in words; nothing if it would not.
  [[nodiscard]] std::optional<std::string> refuse(unsigned barrier, unsigned thread,
                                                  unsigned expected) const;

 private:
  struct Barrier {
    unsigned expected = 0;          // by the threads that came
    std::vector<bool> came;         // by thread, in this phase
    unsigned arrived = 0;           // threads that came
    std::vector<unsigned> waiting;  // those of them that wait
  };
  unsigned threads_;
  std::array<Barrier, count> all_{};
};

}  // namespace tilevm::backend
