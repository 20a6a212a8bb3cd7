// Dense little-endian bit streams: element k of n bits occupies bits [k*n, (k+1)*n), and bit j of
// the stream is bit j%8 of byte j/8 (the paper's Figure 8).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tilevm::isa {

/// Bytes that hold `bits` bits.
[[nodiscard]] constexpr std::size_t bytes_for_bits(std::size_t bits) { return (bits + 7) / 8; }

/// The low n bits set, 0 <= n <= 64.
[[nodiscard]] constexpr std::uint64_t low_mask(unsigned n) {
  return n >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << n) - 1;
}

/// Reads n (1..64) bits that begin at a bit offset. Touches only the bytes that hold them.
[[nodiscard]] std::uint64_t get_bits(const std::uint8_t* stream, std::size_t bit_offset,
                                     unsigned n);

/// Writes the low n (1..64) bits of `value`; all other bits of the stream stay.
void put_bits(std::uint8_t* stream, std::size_t bit_offset, unsigned n, std::uint64_t value);

/// Packs one element when other host threads may write neighbouring bits of the first and the last
/// byte at the same time: partial bytes change through compare-and-swap.
void put_bits_atomic(std::uint8_t* stream, std::size_t bit_offset, unsigned n, std::uint64_t value);

/// Unpacks `out.size()` elements of n bits, the first at `bit_offset`.
void unpack_bits(const std::uint8_t* stream, std::size_t bit_offset, unsigned n,
                 std::span<std::uint64_t> out);

/// Packs elements of n bits from `bit_offset` on; all other bits stay.
void pack_bits(std::uint8_t* stream, std::size_t bit_offset, unsigned n,
               std::span<const std::uint64_t> in);

}  // namespace tilevm::isa
