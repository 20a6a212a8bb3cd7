#include "sim/tiles/packing.h"

#include <algorithm>
#include <cstring>

#include "isa/type/bits.h"

namespace tilevm::sim {
namespace {

/// One thread's stream of elements narrower than a byte. Eight elements begin at a whole byte and
/// fit one 64-bit word.
template <unsigned bits>
void unpack_narrow(const std::uint8_t* stream, std::size_t n, std::uint8_t* out) {
  constexpr std::uint64_t mask = isa::low_mask(bits);
  std::size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, stream + i / 8 * bits, sizeof word);
    for (unsigned k = 0; k < 8; ++k)
      out[i + k] = static_cast<std::uint8_t>((word >> (k * bits)) & mask);
  }
  if (i == n) return;
  std::uint64_t word = 0;
  std::memcpy(&word, stream + i / 8 * bits, sizeof word);
  for (; i < n; ++i, word >>= bits) out[i] = static_cast<std::uint8_t>(word & mask);
}

template <unsigned bits>
void pack_narrow(const std::uint8_t* in, std::size_t n, std::uint8_t* stream) {
  constexpr std::uint64_t mask = isa::low_mask(bits);
  for (std::size_t i = 0; i < n; i += 8) {
    const std::size_t count = std::min<std::size_t>(n - i, 8);
    std::uint64_t word = 0;
    for (std::size_t k = 0; k < count; ++k) word |= (in[i + k] & mask) << (k * bits);
    std::memcpy(stream + i / 8 * bits, &word, isa::bytes_for_bits(count * bits));
  }
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
