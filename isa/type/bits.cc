#include "isa/type/bits.h"

#include <atomic>
#include <bit>
#include <cstring>

namespace tilevm::isa {
namespace {

static_assert(std::endian::native == std::endian::little, "eight bytes are read as one word");

/// Splits the bits [offset, offset + n) into pieces inside one byte each, and calls
/// piece(byte index, shift inside the byte, number of bits, bits done before).
template <class Piece>
void for_each_byte(std::size_t offset, unsigned n, Piece piece) {
  unsigned done = 0;
  while (done < n) {
    const std::size_t position = offset + done;
    const auto shift = static_cast<unsigned>(position % 8);
    const unsigned count = n - done < 8 - shift ? n - done : 8 - shift;
    piece(position / 8, shift, count, done);
    done += count;
  }
}

/// The byte `old` with `count` bits from `shift` on replaced by the low bits of `value`.
std::uint8_t merge(std::uint8_t old, unsigned shift, unsigned count, std::uint64_t value) {
  const std::uint64_t mask = low_mask(count) << shift;
  return static_cast<std::uint8_t>((old & ~mask) | ((value << shift) & mask));
}

}  // namespace

std::uint64_t get_bits(const std::uint8_t* stream, std::size_t bit_offset, unsigned n) {
  const std::size_t first = bit_offset / 8;
  const auto first_shift = static_cast<unsigned>(bit_offset % 8);
  if (first_shift + n <= 8) return (stream[first] >> first_shift) & low_mask(n);
  std::uint64_t value = 0;
  for_each_byte(bit_offset, n,
                [&](std::size_t byte, unsigned shift, unsigned count, unsigned done) {
                  const std::uint64_t bits = (stream[byte] >> shift) & low_mask(count);
                  value |= bits << done;
                });
  return value;
}

void put_bits(std::uint8_t* stream, std::size_t bit_offset, unsigned n, std::uint64_t value) {
  const auto first_shift = static_cast<unsigned>(bit_offset % 8);
  if (first_shift + n <= 8) {
    std::uint8_t& byte = stream[bit_offset / 8];
    byte = merge(byte, first_shift, n, value);
    return;
  }
  for_each_byte(bit_offset, n,
                [&](std::size_t byte, unsigned shift, unsigned count, unsigned done) {
                  stream[byte] = merge(stream[byte], shift, count, value >> done);
                });
}

void put_bits_atomic(std::uint8_t* stream, std::size_t bit_offset, unsigned n,
                     std::uint64_t value) {
  for_each_byte(
      bit_offset, n, [&](std::size_t byte, unsigned shift, unsigned count, unsigned done) {
        const std::atomic_ref<std::uint8_t> shared(stream[byte]);
        if (count == 8) {
          shared.store(static_cast<std::uint8_t>(value >> done), std::memory_order_relaxed);
          return;
        }
        std::uint8_t old = shared.load(std::memory_order_relaxed);
        while (!shared.compare_exchange_weak(old, merge(old, shift, count, value >> done),
                                             std::memory_order_relaxed)) {
        }
      });
}

void unpack_bits(const std::uint8_t* stream, std::size_t bit_offset, unsigned n,
                 std::span<std::uint64_t> out) {
  const std::size_t end = bytes_for_bits(bit_offset + out.size() * n);
  for (std::size_t k = 0; k < out.size(); ++k) {
    const std::size_t position = bit_offset + k * n;
    // A word holds any element of up to 57 bits that begins in its first byte.
    if (n <= 57 && position / 8 + 8 <= end) {
      std::uint64_t word = 0;
      std::memcpy(&word, stream + position / 8, sizeof word);
      out[k] = (word >> (position % 8)) & low_mask(n);
    } else {
      out[k] = get_bits(stream, position, n);
    }
  }
}

void pack_bits(std::uint8_t* stream, std::size_t bit_offset, unsigned n,
               std::span<const std::uint64_t> in) {
  for (std::size_t k = 0; k < in.size(); ++k) put_bits(stream, bit_offset + k * n, n, in[k]);
}

}  // namespace tilevm::isa
