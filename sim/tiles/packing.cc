#include "sim/tiles/packing.h"

#include <algorithm>
#include <cstring>

#include "isa/type/bits.h"

namespace tilevm::sim {
namespace {

/// Fields of `bits` bits, one in each `every` bits, from the lowest on.
constexpr std::uint64_t fields(unsigned bits, unsigned every) {
  std::uint64_t mask = 0;
  for (unsigned i = 0; i < 64; i += every) mask |= isa::low_mask(bits) << i;
  return mask;
}

/// Eight elements that follow one another, each in a byte of its own: halves of the word, of its
/// halves, and of its quarters move apart.
template <unsigned bits>
std::uint64_t spread(std::uint64_t word) {
  if constexpr (bits == 1) {
    // Byte i of eight copies keeps bit i, and carries it to its own top.
    constexpr std::uint64_t ones = fields(1, 8), diagonal = 0x8040201008040201;
    return ((((word & 0xff) * ones) & diagonal) + 0x7f * ones) >> 7 & ones;
  }
  constexpr std::uint64_t four = fields(4 * bits, 64), two = fields(2 * bits, 32),
                          one = fields(bits, 16);
  word = (word & four) | (word >> 4 * bits & four) << 32;
  word = (word & two) | (word >> 2 * bits & two) << 16;
  return (word & one) | (word >> bits & one) << 8;
}

/// The inverse; bits of a byte above an element do not count.
template <unsigned bits>
std::uint64_t gathered(std::uint64_t bytes) {
  // Byte i comes to bit 56 + i, and no two products meet in one bit.
  if constexpr (bits == 1) return (bytes & fields(1, 8)) * 0x0102040810204080 >> 56;
  constexpr std::uint64_t four = fields(4 * bits, 64), two = fields(2 * bits, 32),
                          one = fields(bits, 16);
  bytes = (bytes & one) | (bytes >> (8 - bits) & one << bits);
  bytes = (bytes & two) | (bytes >> (16 - 2 * bits) & two << 2 * bits);
  return (bytes & four) | (bytes >> (32 - 4 * bits) & four << 4 * bits);
}

/// One thread's stream of elements narrower than a byte. Eight elements begin at a whole byte and
/// fit one 64-bit word.
template <unsigned bits>
void unpack_narrow(const std::uint8_t* stream, std::size_t n, std::uint8_t* out) {
  constexpr std::uint64_t mask = isa::low_mask(bits);
  std::size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, stream + i / 8 * bits, sizeof word);
    word = spread<bits>(word);
    std::memcpy(out + i, &word, sizeof word);
  }
  if (i == n) return;
  std::uint64_t word = 0;
  std::memcpy(&word, stream + i / 8 * bits, sizeof word);
  for (; i < n; ++i, word >>= bits) out[i] = static_cast<std::uint8_t>(word & mask);
}

template <unsigned bits>
void pack_narrow(const std::uint8_t* in, std::size_t n, std::uint8_t* stream) {
  std::size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, in + i, sizeof word);
    word = gathered<bits>(word);
    std::memcpy(stream + i / 8 * bits, &word, bits);
  }
  if (i == n) return;
  std::uint64_t word = 0;
  std::memcpy(&word, in + i, n - i);
  word = gathered<bits>(word);
  std::memcpy(stream + i / 8 * bits, &word, isa::bytes_for_bits((n - i) * bits));
}

/// Calls f.operator()<bits>() for 1..7 bits.
template <class F>
void with_narrow_bits(unsigned bits, F&& f) {
  switch (bits) {
    case 1:
      return f.template operator()<1>();
    case 2:
      return f.template operator()<2>();
    case 3:
      return f.template operator()<3>();
    case 4:
      return f.template operator()<4>();
    case 5:
      return f.template operator()<5>();
    case 6:
      return f.template operator()<6>();
    default:
      return f.template operator()<7>();
  }
}

}  // namespace

void unpack(const Tile& tile, const std::uint8_t* registers, std::size_t first, std::size_t count,
            std::uint8_t* lanes) {
  const std::uint8_t* stream = registers + first * tile.thread_bytes;
  with_narrow_bits(tile.bits, [&]<unsigned bits>() {
    for (std::size_t t = 0; t < count; ++t) {
      unpack_narrow<bits>(stream + t * tile.thread_bytes, tile.locals, lanes + t * tile.locals);
    }
  });
}

void pack(const Tile& tile, const std::uint8_t* lanes, std::size_t first, std::size_t count,
          std::uint8_t* registers) {
  std::uint8_t* stream = registers + first * tile.thread_bytes;
  with_narrow_bits(tile.bits, [&]<unsigned bits>() {
    for (std::size_t t = 0; t < count; ++t) {
      pack_narrow<bits>(lanes + t * tile.locals, tile.locals, stream + t * tile.thread_bytes);
    }
  });
}

}  // namespace tilevm::sim
