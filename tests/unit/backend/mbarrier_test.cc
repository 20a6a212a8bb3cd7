// Memory barriers: states and words as an H100 keeps them.
#include "backend/emu/mbarrier.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <random>

namespace tilevm::backend {
namespace {

using Trap = Mbarrier::Trap;

TEST_CASE("a phase ends with its last arrival, and the next begins") {
  Mbarrier barrier(3);
  CHECK_FALSE(barrier.is_over(0));
  CHECK(barrier.is_over(1));  // the phase before the first
  CHECK(barrier.arrive() == Trap::none);
  CHECK(barrier.arrive() == Trap::none);
  CHECK(barrier.pending() == 1);
  CHECK_FALSE(barrier.is_over(0));
  CHECK(barrier.arrive() == Trap::none);
  CHECK(barrier.is_over(0));
  CHECK(barrier.pending() == 3);
  CHECK(barrier.arrive(3) == Trap::none);
  CHECK(barrier.is_over(1));
}

TEST_CASE("a phase waits for the bytes that it expects, in any order") {
  Mbarrier barrier(1);
  CHECK(barrier.complete(256) == Trap::none);  // before anybody expects them
  CHECK(barrier.arrive_expecting(512) == Trap::none);
  CHECK(barrier.pending() == 0);
  CHECK_FALSE(barrier.is_over(0));
  CHECK(barrier.complete(256) == Trap::none);
  CHECK(barrier.is_over(0));
  // Bytes that came too early end the phase when they are expected.
  CHECK(barrier.complete(64) == Trap::none);
  CHECK(barrier.arrive() == Trap::none);
  CHECK_FALSE(barrier.is_over(1));
  CHECK(barrier.expect(64) == Trap::none);
  CHECK(barrier.is_over(1));
}

TEST_CASE("what drops out is missing in the phases that follow") {
  Mbarrier barrier(2);
  CHECK(barrier.arrive_and_drop() == Trap::none);
  CHECK(barrier.arrive() == Trap::none);
  CHECK(barrier.is_over(0));
  CHECK(barrier.pending() == 1);
  CHECK(barrier.arrive_and_drop() == Trap::none);  // everybody is gone; the phase still ends
  CHECK(barrier.is_over(1));
  CHECK(barrier.word() == 0);
  CHECK(barrier.arrive() == Trap::arrivals);
}

TEST_CASE("hardware stops at more arrivals or bytes than a barrier counts") {
  Mbarrier barrier(2);
  CHECK(barrier.arrive(3) == Trap::arrivals);
  CHECK(barrier.arrive(Mbarrier::limit) == Trap::arrivals);
  CHECK(barrier.arrive(0) == Trap::none);
  CHECK(barrier.expect(Mbarrier::limit) == Trap::bytes);
  CHECK(barrier.expect(Mbarrier::limit - 1) == Trap::none);
  CHECK(barrier.expect(1) == Trap::none);
  CHECK(barrier.expect(1) == Trap::bytes);
  CHECK(barrier.bytes() == -static_cast<std::int32_t>(Mbarrier::limit));
  CHECK(barrier.pending() == 2);  // what stopped changed nothing
  Mbarrier other(1);
  CHECK(other.complete(Mbarrier::limit - 1) == Trap::none);
  CHECK(other.complete(1) == Trap::bytes);
  CHECK(other.arrive() == Trap::none);
  CHECK(other.arrive() == Trap::arrivals);  // the phase waits for bytes, and takes nobody
  CHECK(other.arrive_expecting(16) == Trap::arrivals);
}

/// What the instruction mbarrier.init writes for a count.
std::uint64_t initial_word(std::uint64_t count) {
  const std::uint64_t high = (std::uint64_t{1} << 31) - (count << 11);
  const std::uint64_t low = (std::uint64_t{1} << 21) - 2 * count;
  return (high & 0xffffffff) << 32 | (low & 0xffffffff);
}

TEST_CASE("the word in memory is that of an H100") {
  for (const std::uint32_t count : {1U, 2U, 128U, 1024U, Mbarrier::limit - 1}) {
    CAPTURE(count);
    CHECK(Mbarrier(count).word() == initial_word(count));
  }
  Mbarrier barrier(1);
  CHECK(barrier.word() == 0x7ffff800001ffffe);
  CHECK(barrier.expect(256) == Trap::none);
  CHECK(barrier.word() == (0x7ffff800001ffffeU | 0x1fff00ULL << 21));
  CHECK(barrier.arrive() == Trap::none);
  CHECK(barrier.word() == (0x1ffffeU | 0x1fff00ULL << 21));  // pending 0: waits for bytes
  CHECK(barrier.complete(256) == Trap::none);
  CHECK(barrier.word() == 0xfffff800001ffffe);
}

/// The barrier as arithmetic on its word: arrivals are added to the field of pending arrivals,
/// whose carry flips the phase.
struct WordMachine {
  std::uint64_t word;

  void end_phase() {
    constexpr std::uint64_t pending = 0xfffffULL << 43, bytes = 0x1fffffULL << 21;
    if ((word & (pending | bytes)) == 0) word |= (word >> 1 & 0xfffff) << 43;
  }
  void arrive(std::uint64_t count) {
    word += count << 43;
    end_phase();
  }
};

TEST_CASE("arrivals without bytes are additions to the word") {
  std::mt19937 random(3);
  for (int trial = 0; trial < 200; ++trial) {
    const auto count = static_cast<std::uint32_t>(1 + random() % 6);
    Mbarrier barrier(count);
    WordMachine words{initial_word(count)};
    for (int step = 0; step < 24; ++step) {
      const auto arrivals = static_cast<std::uint32_t>(1 + random() % barrier.pending());
      REQUIRE(barrier.arrive(arrivals) == Trap::none);
      words.arrive(arrivals);
      REQUIRE(barrier.word() == words.word);
    }
  }
}

}  // namespace
}  // namespace tilevm::backend
