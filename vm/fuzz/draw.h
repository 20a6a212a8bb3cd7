// Random choices that are the same on every machine: a function of the seed and of how many choices
// were made before. C++ leaves the order of a call's arguments to the compiler, so at most one of
// them chooses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "vm/data/random.h"

namespace tilevm::vm::fuzz {

class Draw {
 public:
  Draw(std::uint64_t seed, std::string_view purpose) : key_(random_key(seed, purpose)) {}

  std::uint64_t bits() { return splitmix64(key_, count_++); }
  /// 0 .. n - 1. The slight preference for small numbers does not matter here.
  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>((bits() >> 1) % static_cast<std::uint64_t>(n));
  }
  std::int64_t between(std::int64_t first, std::int64_t last) {
    return first + below(last - first + 1);
  }
  bool chance(int percent) { return below(100) < percent; }

  template <class T>
  const T& pick(const std::vector<T>& from) {
    return from[static_cast<std::size_t>(below(static_cast<std::int64_t>(from.size())))];
  }
  template <class T>
  void shuffle(std::vector<T>& items) {
    for (std::size_t i = items.size(); i > 1; --i) {
      std::swap(items[i - 1], items[static_cast<std::size_t>(below(static_cast<std::int64_t>(i)))]);
    }
  }

 private:
  std::uint64_t key_, count_ = 0;
};

}  // namespace tilevm::vm::fuzz
