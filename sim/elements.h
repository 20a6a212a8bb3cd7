// Tiles as arrays of codes: unpacked, worked on by tight loops, packed again.
//
// Codes of 32 bits or less are kept in 32-bit lanes, so that every loop between unpack and pack is
// over flat arrays; wider ones in 64-bit lanes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "isa/type/arith.h"
#include "isa/type/dtype.h"
#include "sim/layout_parts.h"

namespace tilevm::sim {

/// Reads the elements of the threads [first, first + count): thread after thread, in local order.
/// Up to 8 bytes behind the last thread's stream may be read. Lane is uint32_t (tile.bits <= 32) or
/// uint64_t.
template <class Lane>
void unpack(const Tile& tile, const std::uint8_t* registers, std::size_t first, std::size_t count,
            Lane* out);

/// Writes them; padding bits of a thread's last byte become zero.
template <class Lane>
void pack(const Tile& tile, const Lane* in, std::size_t first, std::size_t count,
          std::uint8_t* registers);

/// Calls f(first thread, number of threads) for the whole tile in pieces of about 2048 elements.
template <class F>
void for_each_piece(const Tile& tile, F&& f) {
  constexpr std::size_t elements = 2048;
  const std::size_t step = tile.locals >= elements ? 1 : elements / tile.locals;
  for (std::size_t t = 0; t < tile.threads; t += step) {
    f(t, tile.threads - t < step ? tile.threads - t : step);
  }
}

/// out[i] = f(in[i]) on codes in 32-bit lanes; in may be out.
using UnaryLoop = std::function<void(const std::uint32_t* in, std::uint32_t* out, std::size_t n)>;
/// a[i] = f(a[i], b[i]).
using BinaryLoop = std::function<void(std::uint32_t* a, const std::uint32_t* b, std::size_t n)>;

/// Equals isa::cast on every code; both types have at most 32 bits.
[[nodiscard]] UnaryLoop cast_loop(const isa::DType& from, const isa::DType& to);

/// Equals isa::apply on every code; at most 32 bits.
[[nodiscard]] UnaryLoop unary_loop(isa::UnaryOp op, const isa::DType& type);
[[nodiscard]] BinaryLoop binary_loop(isa::BinaryOp op, const isa::DType& type);

}  // namespace tilevm::sim
