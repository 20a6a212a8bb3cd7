// Moves codes between register tiles and the dense arrays that the kernels of Dot work on.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <tuple>
#include <vector>

#include "isa/type/bits.h"

namespace tilevm::sim {

/// Bit offsets of elements in a tile, below 2^32 (matrix_tables.h).
using CodeOffsets = std::vector<std::uint32_t>;

/// The code of `bits` <= 32 bits that begins at a bit; up to 8 bytes from there may be read.
[[nodiscard]] inline std::uint32_t code_at(const std::uint8_t* tile, std::uint32_t offset,
                                           unsigned bits) {
  std::uint64_t word = 0;
  std::memcpy(&word, tile + offset / 8, sizeof word);
  return static_cast<std::uint32_t>(word >> offset % 8 & isa::low_mask(bits));
}

namespace detail {

template <class Stored>
[[nodiscard]] Stored stored_at(const std::uint8_t* tile, std::uint32_t offset) {
  Stored code = 0;
  std::memcpy(&code, tile + offset / 8, sizeof code);
  return code;
}

/// Several codes are read before the first is written, so that no read waits for a write that may
/// be to the same place as far as the processor knows.
template <class Stored, class Lane, class F>
void gather_whole(const CodeOffsets& offsets, const std::uint8_t* tile, Lane* out, F&& f) {
  constexpr std::size_t group = 8;
  const std::uint32_t* const from = offsets.data();
  const std::size_t count = offsets.size(), groups_end = count / group * group;
  for (std::size_t p = 0; p < groups_end; p += group) {
    Stored codes[group];
    for (std::size_t i = 0; i < group; ++i) codes[i] = stored_at<Stored>(tile, from[p + i]);
    for (std::size_t i = 0; i < group; ++i) out[p + i] = f(codes[i]);
  }
  for (std::size_t p = groups_end; p < count; ++p) out[p] = f(stored_at<Stored>(tile, from[p]));
}

}  // namespace detail

/// out[p] = f(the code at bit offsets[p]), for elements of 1 to 64 bits.
template <class Lane, class F>
void gather(const CodeOffsets& offsets, unsigned bits, const std::uint8_t* tile, Lane* out, F&& f) {
  switch (bits) {
    case 8:
      return detail::gather_whole<std::uint8_t>(offsets, tile, out, f);
    case 16:
      return detail::gather_whole<std::uint16_t>(offsets, tile, out, f);
    case 32:
      return detail::gather_whole<std::uint32_t>(offsets, tile, out, f);
    case 64:
      return detail::gather_whole<std::uint64_t>(offsets, tile, out, f);
    default:
      for (std::size_t p = 0; p < offsets.size(); ++p) out[p] = f(code_at(tile, offsets[p], bits));
  }
}

/// out[p] = the code at bit offsets[p].
template <class Lane>
void gather(const CodeOffsets& offsets, unsigned bits, const std::uint8_t* tile, Lane* out) {
  gather(offsets, bits, tile, out, [](auto code) { return static_cast<Lane>(code); });
}

/// Element x of the tile, of as many bits as Stored, becomes f(values[positions[x]]).
template <class Stored, class Lane, class F>
void scatter(const std::vector<std::uint32_t>& positions, const Lane* values, std::uint8_t* tile,
             F&& f) {
  for (std::size_t x = 0; x < positions.size(); ++x) {
    const auto code = static_cast<Stored>(f(values[positions[x]]));
    std::memcpy(tile + x * sizeof code, &code, sizeof code);
  }
}

template <class Stored, class Lane>
void scatter(const std::vector<std::uint32_t>& positions, const Lane* values, std::uint8_t* tile) {
  scatter<Stored>(positions, values, tile, [](Lane code) { return code; });
}

/// The matrices of one Dot in the type that its kernel computes in.
template <class T>
struct DotMatrices {
  std::vector<T> a, b, c;
};

/// Kept between Dots.
struct DotBuffers {
  std::vector<std::int16_t> integers_a, integers_b;
  std::vector<std::uint32_t> codes;
  std::vector<std::uint8_t> lanes;  ///< codes of another type, before they are converted
  std::tuple<DotMatrices<float>, DotMatrices<double>, DotMatrices<std::uint32_t>,
             DotMatrices<std::uint64_t>>
      matrices;
};

}  // namespace tilevm::sim
