#include "sim/exec/indexed_moves.h"

#include <cstddef>
#include <cstring>

#include "isa/type/bits.h"
#include "sim/tiles/bit_copy.h"

namespace tilevm::sim {
namespace {

/// Whether every element inside the view along the index's dimension is inside the buffer; the
/// first bit from which the table's offsets count.
bool is_inside(const TileInView& cursor, unsigned bits, std::uint64_t& base_bits) {
  if (!cursor.inside_view()) return false;
  const isa::MemoryLayout* const layout = cursor.view().layout;
  if (layout == nullptr) return cursor.inside_buffer(base_bits);
  const auto held = static_cast<std::int64_t>(cursor.buffer().bytes) * 8 / bits;
  return layout->storage_size() <= held;
}

/// Calls move(bit of the thread's stream, thread, bit in memory), or without the last one for a run
/// outside of the view.
struct Runs {
  const IndexedTable& table;
  const IndexedPlaces& places;
  const Tile& tile;
  std::uint64_t base_bits;

  template <class Move, class Clear>
  void for_each(Move&& move, Clear&& clear) const {
    const std::size_t run_bits = table.run_elements * tile.bits;
    std::size_t e = 0;
    for (std::size_t t = 0; t < tile.threads; ++t) {
      for (std::size_t r = 0; r < table.runs; ++r, ++e) {
        const std::int64_t index = places.along[e];
        if (index < 0) {
          clear(t, r * run_bits);
        } else {
          move(t, r * run_bits, base_bits + table.offset(e, index) * tile.bits);
        }
      }
    }
  }
};

/// `bytes` is the length of a run if that is one of the usual ones, else 0.
template <std::size_t bytes>
void move_whole_bytes(const Runs& runs, const std::uint8_t* memory, std::uint8_t* registers) {
  const std::size_t length = bytes != 0 ? bytes : runs.table.run_elements * runs.tile.bits / 8;
  runs.for_each(
      [&](std::size_t t, std::size_t at, std::uint64_t bit) {
        std::memcpy(registers + t * runs.tile.thread_bytes + at / 8, memory + bit / 8,
                    bytes != 0 ? bytes : length);
      },
      [&](std::size_t t, std::size_t at) {
        std::memset(registers + t * runs.tile.thread_bytes + at / 8, 0,
                    bytes != 0 ? bytes : length);
      });
}

void move_bits(const Runs& runs, const std::uint8_t* memory, std::uint8_t* registers) {
  const std::size_t run_bits = runs.table.run_elements * runs.tile.bits;
  static constexpr std::uint8_t zeros[8] = {};
  runs.for_each(
      [&](std::size_t t, std::size_t at, std::uint64_t bit) {
        copy_bits<false>(memory, bit, registers + t * runs.tile.thread_bytes, at, run_bits);
      },
      [&](std::size_t t, std::size_t at) {
        for (std::size_t done = 0; done < run_bits; done += runs.tile.bits) {
          copy_bits<false>(zeros, 0, registers + t * runs.tile.thread_bytes, at + done,
                           runs.tile.bits);
        }
      });
}

}  // namespace

bool move_in_indexed(const GlobalAccess& access, const TileInView& cursor,
                     const std::uint8_t* memory, std::uint8_t* registers, Context& context) {
  std::uint64_t base_bits = 0;
  if (!is_inside(cursor, access.tile.bits, base_bits)) return false;
  const TensorInMemory tensor = tensor_of(cursor.view(), access.indexed->tile.dim);
  const IndexedTable& table =
      find_indexed_table(*access.indexed, *access.parts, tensor, cursor.origin().begin, context);
  const Runs runs{table, *cursor.origin().places, access.tile, base_bits};
  const std::size_t run_bits = table.run_elements * access.tile.bits;
  if (access.tile.bits % 8 != 0) {
    move_bits(runs, memory, registers);
    return true;
  }
  switch (run_bits / 8) {
    case 1:
      move_whole_bytes<1>(runs, memory, registers);
      break;
    case 2:
      move_whole_bytes<2>(runs, memory, registers);
      break;
    case 4:
      move_whole_bytes<4>(runs, memory, registers);
      break;
    case 8:
      move_whole_bytes<8>(runs, memory, registers);
      break;
    case 16:
      move_whole_bytes<16>(runs, memory, registers);
      break;
    default:
      move_whole_bytes<0>(runs, memory, registers);
  }
  return true;
}

}  // namespace tilevm::sim
