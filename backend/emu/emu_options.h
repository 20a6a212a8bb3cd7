// What an emulated launch leaves open on a GPU, and the choices that make it repeatable.
#pragma once

#include <atomic>
#include <cstdint>

namespace tilevm::backend {

/// Memory begins as this byte, so that a program that reads what it never wrote does not see zeros
/// by chance.
inline constexpr int unwritten_byte = 0xa5;

struct EmuOptions {
  /// An order in which what a GPU orders freely happens.
  enum class Order : std::uint8_t { forward, backward, seeded };
  /// When the data of an asynchronous copy arrives.
  enum class Landing : std::uint8_t { at_once, at_wait, seeded };

  Order lanes = Order::forward;   ///< threads of a block
  Order blocks = Order::forward;  ///< blocks of a grid, one host thread alone
  Landing copies = Landing::at_wait;
  /// Whether accesses to shared memory must be ordered by what the program does, not by the order
  /// that the emulated GPU takes (order_check.h).
  bool check_order = true;
  std::uint64_t seed = 0;
  int threads = 0;  ///< host threads; 0: all cores
  int optimisation =
      /// Optimisation level of the C++ compiler, 0 to 3: most kernels run shorter than they
      /// compile.
      1;
  /// Loop iterations that one thread may make before the launch is given up.
  std::uint64_t max_steps = std::uint64_t{1} << 28;
  /// Most blocks that have begun and not ended, where blocks wait for one another.
  std::uint64_t resident_blocks = 132;
  /// Set by another thread where no result is wanted any more: the launch ends after at most some
  /// thousand iterations of a thread. May be null.
  const std::atomic<bool>* stop = nullptr;

  [[nodiscard]] bool is_stopped() const {
    return stop != nullptr && stop->load(std::memory_order_relaxed);
  }
};

/// A sequence of numbers that depends on its seed alone (SplitMix64; Steele, Lea, Flood, 2014).
class SeededNumbers {
 public:
  explicit SeededNumbers(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15U;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9U;
    z = (z ^ z >> 27) * 0x94d049bb133111ebU;
    return z ^ z >> 31;
  }
  std::uint64_t below(std::uint64_t n) { return next() % n; }

 private:
  std::uint64_t state_;
};

}  // namespace tilevm::backend
