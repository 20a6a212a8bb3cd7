// A running hash over lists of numbers. Internal to isa/layout.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tilevm::isa {

class HashState {
 public:
  void add(std::int64_t value) noexcept {
    state_ = (state_ ^ static_cast<std::uint64_t>(value)) * 0xff51afd7ed558ccdU;
    state_ ^= state_ >> 32U;
  }
  /// The length first, so that lists cannot run into each other.
  template <class List>
  void add_all(const List& list) noexcept {
    add(static_cast<std::int64_t>(list.size()));
    for (const auto value : list) add(value);
  }
  [[nodiscard]] std::size_t value() const noexcept { return static_cast<std::size_t>(state_); }

 private:
  std::uint64_t state_ = 0x9e3779b97f4a7c15U;
};

}  // namespace tilevm::isa
