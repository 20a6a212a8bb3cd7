// Copies of bits between streams, at any offsets.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "isa/type/bits.h"

namespace tilevm::sim {

/// Copies `count` bits; `shared` if other host threads may write the neighbours.
template <bool shared>
void copy_bits(const std::uint8_t* from, std::uint64_t from_bit, std::uint8_t* to,
               std::uint64_t to_bit, std::uint64_t count) {
  while (count > 0) {
    const auto n = static_cast<unsigned>(std::min<std::uint64_t>(count, 64));
    const std::uint64_t bits = isa::get_bits(from, from_bit, n);
    if constexpr (shared) {
      isa::put_bits_atomic(to, to_bit, n, bits);
    } else {
      isa::put_bits(to, to_bit, n, bits);
    }
    from_bit += n;
    to_bit += n;
    count -= n;
  }
}

}  // namespace tilevm::sim
