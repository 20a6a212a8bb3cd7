// What the threads of a block store between two barriers of the block, to compare replicas.
//
// Threads that hold the same element all store it, and all must store the same bits. If one of them
// computed its copy from old data, the copy stored last would hide that.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <unordered_map>

namespace tilevm::backend {

class StoredBytes {
 public:
  /// Forgets all stores: a barrier of the block orders them before what follows.
  void clear();

  /// Notes a store of `count` bytes by a thread, of the bits that are set in `masks` (all bits if
  /// it is null). Returns another thread that stored other bits in the same memory since the last
  /// barrier.
  [[nodiscard]] std::optional<unsigned> store(unsigned thread, const unsigned char* address,
                                              const unsigned char* bytes,
                                              const unsigned char* masks, unsigned count);

 private:
  static constexpr std::uintptr_t in_group = 16;
  static constexpr std::uint16_t several = 0xffff;
  struct Byte {
    std::uint16_t thread = several;  ///< thread that stored all of `mask`, or `several`
    unsigned char mask = 0;          ///< bits that were stored
    unsigned char value = 0;         ///< bits of its value that were stored
  };
  static std::optional<unsigned> note(Byte& byte, unsigned thread, unsigned char value,
                                      unsigned char mask);

  std::unordered_map<std::uintptr_t, std::array<Byte, in_group>> groups_;
};

}  // namespace tilevm::backend
