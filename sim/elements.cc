#include "sim/elements.h"

#include <algorithm>
#include <cstring>

#include "isa/type/bits.h"

namespace tilevm::sim {
namespace {

template <class Stored, class Lane>
void unpack_whole(const std::uint8_t* stream, std::size_t n, Lane* out) {
  for (std::size_t i = 0; i < n; ++i) {
    Stored code = 0;
    std::memcpy(&code, stream + i * sizeof code, sizeof code);
    out[i] = static_cast<Lane>(code);
  }
}

template <class Stored, class Lane>
void pack_whole(const Lane* in, std::size_t n, std::uint8_t* stream) {
  for (std::size_t i = 0; i < n; ++i) {
    const auto code = static_cast<Stored>(in[i]);
    std::memcpy(stream + i * sizeof code, &code, sizeof code);
  }
}

/// One thread's stream of elements narrower than a byte: eight of them begin at a whole byte and
/// lie in one 64-bit word.
template <unsigned bits, class Lane>
void unpack_narrow(const std::uint8_t* stream, std::size_t n, Lane* out) {
  constexpr std::uint64_t mask = isa::low_mask(bits);
  std::size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, stream + i / 8 * bits, sizeof word);
    for (unsigned k = 0; k < 8; ++k) out[i + k] = static_cast<Lane>((word >> (k * bits)) & mask);
  }
  if (i == n) return;
  std::uint64_t word = 0;
  std::memcpy(&word, stream + i / 8 * bits, sizeof word);
  for (; i < n; ++i, word >>= bits) out[i] = static_cast<Lane>(word & mask);
}

template <unsigned bits, class Lane>
void pack_narrow(const Lane* in, std::size_t n, std::uint8_t* stream) {
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

template <class Lane>
void unpack(const Tile& tile, const std::uint8_t* registers, std::size_t first, std::size_t count,
            Lane* out) {
  const std::uint8_t* stream = registers + first * tile.thread_bytes;
  const std::size_t n = count * tile.locals;
  switch (tile.bits) {
    case 8:
      return unpack_whole<std::uint8_t>(stream, n, out);
    case 16:
      return unpack_whole<std::uint16_t>(stream, n, out);
    case 32:
      return unpack_whole<std::uint32_t>(stream, n, out);
    case 64:
      return unpack_whole<std::uint64_t>(stream, n, out);
    default:
      with_narrow_bits(tile.bits, [&]<unsigned bits>() {
        for (std::size_t t = 0; t < count; ++t) {
          unpack_narrow<bits>(stream + t * tile.thread_bytes, tile.locals, out + t * tile.locals);
        }
      });
  }
}

template <class Lane>
void pack(const Tile& tile, const Lane* in, std::size_t first, std::size_t count,
          std::uint8_t* registers) {
  std::uint8_t* stream = registers + first * tile.thread_bytes;
  const std::size_t n = count * tile.locals;
  switch (tile.bits) {
    case 8:
      return pack_whole<std::uint8_t>(in, n, stream);
    case 16:
      return pack_whole<std::uint16_t>(in, n, stream);
    case 32:
      return pack_whole<std::uint32_t>(in, n, stream);
    case 64:
      return pack_whole<std::uint64_t>(in, n, stream);
    default:
      with_narrow_bits(tile.bits, [&]<unsigned bits>() {
        for (std::size_t t = 0; t < count; ++t) {
          pack_narrow<bits>(in + t * tile.locals, tile.locals, stream + t * tile.thread_bytes);
        }
      });
  }
}

template void unpack(const Tile&, const std::uint8_t*, std::size_t, std::size_t, std::uint32_t*);
template void unpack(const Tile&, const std::uint8_t*, std::size_t, std::size_t, std::uint64_t*);
template void pack(const Tile&, const std::uint32_t*, std::size_t, std::size_t, std::uint8_t*);
template void pack(const Tile&, const std::uint64_t*, std::size_t, std::size_t, std::uint8_t*);

}  // namespace tilevm::sim
