#include "sim/tiles/tile_table.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <ranges>

#include "sim/tiles/bit_copy.h"

namespace tilevm::sim {
namespace {

/// The element offsets of `count` threads or places.
std::vector<std::uint64_t> offsets_of(const std::vector<std::int32_t>& parts, std::size_t count,
                                      std::size_t rank, const Coordinates& strides) {
  std::vector<std::uint64_t> offsets(count, 0);
  for (std::size_t x = 0; x < count; ++x) {
    for (std::size_t d = 0; d < rank; ++d) {
      offsets[x] +=
          static_cast<std::uint64_t>(parts[x * rank + d]) * static_cast<std::uint64_t>(strides[d]);
    }
  }
  return offsets;
}

/// Whether every aligned group of `length` offsets is consecutive.
bool made_of_runs(const std::vector<std::uint64_t>& offsets, std::size_t length) {
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    if (i % length != 0 && offsets[i] != offsets[i - 1] + 1) return false;
  }
  return true;
}

std::size_t longest_run(const std::vector<std::uint64_t>& offsets) {
  std::size_t length = 1;
  while (length < offsets.size() && offsets[length] == offsets[length - 1] + 1) ++length;
  while (offsets.size() % length != 0 || !made_of_runs(offsets, length)) --length;
  return length;
}

bool multiple_of_8(std::uint64_t bits) { return bits % 8 == 0; }

/// Prefetches the memory 4096 bytes after an address, which the next block uses if consecutive
/// blocks use consecutive memory. A prefetch outside of the buffer has no effect.
inline void prefetch_after(const std::uint8_t* address) {
  constexpr std::uintptr_t distance = 4096;
  const auto after = reinterpret_cast<std::uintptr_t>(address) + distance;
  // NOLINTNEXTLINE(performance-no-int-to-ptr): no pointer may be so far outside of its buffer
  __builtin_prefetch(reinterpret_cast<const void*>(after));
}

/// Prefetches a whole piece of memory.
void prefetch_after(const std::uint8_t* begin, std::size_t bytes) {
  constexpr std::size_t line = 64;
  for (std::size_t b = 0; b < bytes; b += line) prefetch_after(begin + b);
}

/// Copies one run of every thread; the threads' runs are a stride of bytes apart. `bytes` is the
/// run's length if it is known at compile time, so that the copy is one move.
template <std::size_t bytes, bool from_memory>
void copy_evenly(std::uint8_t* to, std::size_t to_stride, const std::uint8_t* from,
                 std::size_t from_stride, std::size_t threads, std::size_t length) {
  for (std::size_t t = 0; t < threads; ++t) {
    prefetch_after(from_memory ? from + t * from_stride : to + t * to_stride);
    std::memcpy(to + t * to_stride, from + t * from_stride, bytes != 0 ? bytes : length);
  }
}

/// Calls copy(register byte, memory byte, length) for every run of the given threads.
template <class Threads, class Copy>
void for_each_run(const TileTable& table, const Tile& tile, const Threads& threads,
                  std::uint64_t base, std::size_t length, Copy&& copy) {
  const std::uint64_t* const thread_bits = table.thread_bits.data();
  const std::uint64_t* const run_bits = table.run_bits.data();
  const std::size_t runs = table.run_bits.size(), thread_bytes = tile.thread_bytes;
  for (const auto thread : threads) {
    const auto t = static_cast<std::size_t>(thread);
    const std::uint64_t begin = base + thread_bits[t];
    for (std::size_t r = 0; r < runs; ++r) {
      copy(t * thread_bytes + r * length, (begin + run_bits[r]) / 8, length);
    }
  }
}

template <class F>
void with_run_length(std::size_t run_bytes, F&& f) {
  switch (run_bytes) {
    case 1:
      return f.template operator()<1>();
    case 2:
      return f.template operator()<2>();
    case 4:
      return f.template operator()<4>();
    case 8:
      return f.template operator()<8>();
    case 16:
      return f.template operator()<16>();
    default:  // any other length: a call of memcpy
      return f.template operator()<0>();
  }
}

}  // namespace

void TileTable::prepare(const LayoutParts& parts, const Tile& tile,
                        const Coordinates& tile_strides) {
  if (built && strides == tile_strides) return;
  strides = tile_strides;
  built = true;
  pieces = {};
  thread_bits = offsets_of(parts.thread_parts, parts.threads, parts.rank, strides);
  const auto locals = offsets_of(parts.local_parts, parts.locals, parts.rank, strides);
  run_elements = longest_run(locals);
  run_bits.clear();
  for (std::size_t i = 0; i < locals.size(); i += run_elements) {
    run_bits.push_back(locals[i] * tile.bits);
  }
  for (std::uint64_t& offset : thread_bits) offset *= tile.bits;
  byte_aligned = run_elements * tile.bits % 8 == 0 &&
                 std::all_of(thread_bits.begin(), thread_bits.end(), multiple_of_8) &&
                 std::all_of(run_bits.begin(), run_bits.end(), multiple_of_8);
  find_even_threads();
  one_piece = byte_aligned && run_bits.size() == 1 && tile.is_dense();
  for (std::size_t t = 0; t < thread_bits.size(); ++t) {
    one_piece = one_piece && thread_bits[t] == t * tile.thread_bytes * 8;
  }
}

/// Few runs of many threads: a loop over threads then accesses memory in order.
void TileTable::find_even_threads() {
  const std::uint64_t stride = thread_bits.size() > 1 ? thread_bits[1] / 8 : 0;
  constexpr std::uint64_t most = std::numeric_limits<std::size_t>::max() >> 4;  // none downward
  even = byte_aligned && run_bits.size() < thread_bits.size() && stride < most;
  for (std::size_t t = 0; t < thread_bits.size(); ++t) {
    even = even && thread_bits[t] == t * stride * 8;
  }
  thread_stride = static_cast<std::size_t>(stride);
}

TouchedIntervals TileTable::pieces_at(const LayoutParts& parts, const Tile& tile,
                                      std::uint64_t base_bits) {
  if (pieces.bits.empty()) {
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    const std::uint64_t length = run_elements * tile.bits;
    for (const std::int32_t thread : parts.first_threads) {
      for (const std::uint64_t run : run_bits) {
        const std::uint64_t begin = thread_bits[static_cast<std::size_t>(thread)] + run;
        least = std::min(least, static_cast<std::int64_t>(begin));
        pieces.bits.push_back({begin, begin + length});
      }
    }
    lowest = static_cast<std::uint64_t>(least);
    for (Interval& piece : pieces.bits) piece = {piece.begin - lowest, piece.end - lowest};
    pieces.overlap = merge_intervals(pieces.bits);
  }
  TouchedIntervals result = pieces;
  for (Interval& piece : result.bits) {
    piece.begin += base_bits + lowest;
    piece.end += base_bits + lowest;
  }
  return result;
}

namespace {

/// Elements of 1, 2 or 4 bits one by one: each is within a byte, and a thread's fill bytes in
/// order.
template <unsigned bits>
void copy_narrow(const TileTable& table, const Tile& tile, const std::uint8_t* memory,
                 std::uint64_t base_bits, std::uint8_t* registers) {
  const std::uint64_t* const run_bits = table.run_bits.data();
  const std::size_t runs = table.run_bits.size();
  constexpr std::size_t in_byte = 8 / bits;
  for (std::size_t t = 0; t < tile.threads; ++t, registers += tile.thread_bytes) {
    const std::uint64_t begin = base_bits + table.thread_bits[t];
    for (std::size_t r = 0; r < runs; r += in_byte) {
      unsigned byte = 0;
      const std::size_t count = std::min(in_byte, runs - r);
      for (std::size_t i = 0; i < count; ++i) {
        const std::uint64_t bit = begin + run_bits[r + i];
        byte |= (memory[bit / 8] >> bit % 8 & ((1U << bits) - 1)) << (i * bits);
      }
      registers[r / in_byte] = static_cast<std::uint8_t>(byte);
    }
  }
}

}  // namespace

void copy_from_memory(const TileTable& table, const Tile& tile, const std::uint8_t* memory,
                      std::uint64_t base_bits, std::uint8_t* registers) {
  const std::size_t run_bits = table.run_elements * tile.bits;
  const bool single = table.run_elements == 1 && base_bits % tile.bits == 0;
  if (single && tile.bits == 4) return copy_narrow<4>(table, tile, memory, base_bits, registers);
  if (single && tile.bits == 2) return copy_narrow<2>(table, tile, memory, base_bits, registers);
  if (single && tile.bits == 1) return copy_narrow<1>(table, tile, memory, base_bits, registers);
  if (!table.byte_aligned || base_bits % 8 != 0) {
    for (std::size_t t = 0; t < tile.threads; ++t) {
      for (std::size_t r = 0; r < table.run_bits.size(); ++r) {
        copy_bits<false>(memory, base_bits + table.thread_bits[t] + table.run_bits[r],
                         registers + t * tile.thread_bytes, r * run_bits, run_bits);
      }
    }
    return;
  }
  if (table.one_piece) {
    prefetch_after(memory + base_bits / 8, tile.bytes());
    std::memcpy(registers, memory + base_bits / 8, tile.bytes());
    return;
  }
  with_run_length(run_bits / 8, [&]<std::size_t bytes>() {
    const std::size_t length = bytes != 0 ? bytes : run_bits / 8;
    if (table.even) {
      for (std::size_t r = 0; r < table.run_bits.size(); ++r) {
        copy_evenly<bytes, true>(registers + r * length, tile.thread_bytes,
                                 memory + (base_bits + table.run_bits[r]) / 8, table.thread_stride,
                                 tile.threads, length);
      }
      return;
    }
    for_each_run(table, tile, std::views::iota(std::size_t{0}, tile.threads), base_bits, length,
                 [&](std::size_t at, std::uint64_t byte, std::size_t count) {
                   std::memcpy(registers + at, memory + byte, bytes != 0 ? bytes : count);
                 });
  });
}

void copy_to_memory(const TileTable& table, const Tile& tile,
                    const std::vector<std::int32_t>& threads, const std::uint8_t* registers,
                    std::uint8_t* memory, std::uint64_t base_bits) {
  const std::size_t run_bits = table.run_elements * tile.bits;
  if (!table.byte_aligned || base_bits % 8 != 0) {
    for (const std::int32_t thread : threads) {
      const auto t = static_cast<std::size_t>(thread);
      for (std::size_t r = 0; r < table.run_bits.size(); ++r) {
        copy_bits<true>(registers + t * tile.thread_bytes, r * run_bits, memory,
                        base_bits + table.thread_bits[t] + table.run_bits[r], run_bits);
      }
    }
    return;
  }
  if (table.one_piece) {  // no replicas then
    prefetch_after(memory + base_bits / 8, tile.bytes());
    std::memcpy(memory + base_bits / 8, registers, tile.bytes());
    return;
  }
  with_run_length(run_bits / 8, [&]<std::size_t bytes>() {
    const std::size_t length = bytes != 0 ? bytes : run_bits / 8;
    if (table.even && threads.size() == tile.threads) {
      for (std::size_t r = 0; r < table.run_bits.size(); ++r) {
        copy_evenly<bytes, false>(memory + (base_bits + table.run_bits[r]) / 8, table.thread_stride,
                                  registers + r * length, tile.thread_bytes, tile.threads, length);
      }
      return;
    }
    for_each_run(table, tile, threads, base_bits, length,
                 [&](std::size_t at, std::uint64_t byte, std::size_t count) {
                   std::memcpy(memory + byte, registers + at, bytes != 0 ? bytes : count);
                 });
  });
}

}  // namespace tilevm::sim
