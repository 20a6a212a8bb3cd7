// The random words against the vectors that Random123 publishes (philox4x32 with 10 rounds).
#include <doctest/doctest.h>

#include <array>
#include <cstdint>

#include "isa/type/function_sequences.h"

namespace tilevm {
namespace {

struct Vector {
  std::array<std::uint32_t, 4> counter;
  std::array<std::uint32_t, 2> key;
  std::array<std::uint32_t, 4> words;
};

TEST_CASE("random words are those of Random123") {
  for (const Vector& each :
       {Vector{{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        Vector{{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
               {0xffffffff, 0xffffffff},
               {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        Vector{{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
               {0xa4093822, 0x299f31d0},
               {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}}) {
    const std::uint64_t stream = std::uint64_t{each.counter[3]} << 32 | each.counter[2];
    const std::uint64_t key = std::uint64_t{each.key[1]} << 32 | each.key[0];
    const auto got = functions::philox(each.counter[0], each.counter[1], stream, key);
    for (std::size_t w = 0; w < 4; ++w) CHECK(got.word[w] == each.words[w]);
  }
}

}  // namespace
}  // namespace tilevm
