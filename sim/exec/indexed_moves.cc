#include "sim/exec/indexed_moves.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <numeric>
#include <type_traits>
#include <utility>

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

/// The runs of a tile whose index is read.
struct Runs {
  const IndexedTable& table;
  const IndexedPlaces& places;
  const Tile& tile;
  std::uint64_t base_bits;

  [[nodiscard]] std::size_t run_bits() const { return table.run_elements * tile.bits; }
};

/// `bytes` is the length of a run if that is one of the usual ones, else 0. offset(run, index) is
/// in elements of `element` bytes.
template <std::size_t bytes, class Bytes, class Offset>
void move_whole_bytes(const Runs& runs, const std::uint8_t* memory, std::uint8_t* registers,
                      Bytes element, const Offset& offset) {
  const std::size_t length = bytes != 0 ? bytes : runs.run_bits() / 8;
  const std::int64_t* const along = runs.places.along.data();
  const std::size_t count = runs.table.base.size();
  memory += runs.base_bits / 8;
  for (std::size_t e = 0; e < count; ++e, registers += length) {
    if (along[e] < 0) {
      std::memset(registers, 0, length);
    } else {
      std::memcpy(registers, memory + offset(e, along[e]) * element, length);
    }
  }
}

template <std::size_t bytes>
void move_whole_bytes(const Runs& runs, const std::uint8_t* memory, std::uint8_t* registers) {
  const IndexedTable& table = runs.table;
  const std::size_t element = runs.tile.bits / 8;
  if (!table.shares.empty() || table.swizzle) {
    return move_whole_bytes<bytes>(
        runs, memory, registers, element,
        [&table](std::size_t run, std::int64_t index) { return table.offset(run, index); });
  }
  const auto offset = [base = table.base.data(), stride = table.stride](std::size_t run,
                                                                        std::int64_t index) {
    return base[run] + static_cast<std::uint64_t>(index) * stride;
  };
  if (table.run_elements == 1 && bytes != 0) {  // then the size of an element is known here
    return move_whole_bytes<bytes>(runs, memory, registers,
                                   std::integral_constant<std::size_t, bytes>{}, offset);
  }
  move_whole_bytes<bytes>(runs, memory, registers, element, offset);
}

void move_bits(const Runs& runs, const std::uint8_t* memory, std::uint8_t* registers) {
  const IndexedTable& table = runs.table;
  const std::size_t run_bits = runs.run_bits();
  static constexpr std::uint8_t zeros[8] = {};
  for (std::size_t e = 0; e < table.base.size(); ++e) {
    const std::int64_t index = runs.places.along[e];
    std::uint8_t* const own = registers + e / table.runs * runs.tile.thread_bytes;
    const std::size_t at = e % table.runs * run_bits;
    if (index >= 0) {
      const std::uint64_t bit = runs.base_bits + table.offset(e, index) * runs.tile.bits;
      copy_bits<false>(memory, bit, own, at, run_bits);
      continue;
    }
    for (std::size_t done = 0; done < run_bits; done += runs.tile.bits) {
      copy_bits<false>(zeros, 0, own, at + done, runs.tile.bits);
    }
  }
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
  if (access.tile.bits % 8 != 0) {
    move_bits(runs, memory, registers);
    return true;
  }
  switch (runs.run_bits() / 8) {
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

namespace {

/// Calls f(thread, run of the thread, its first bit in memory) for the runs of the first threads
/// that are inside the view. False, without a call, where elements might be elsewhere.
template <class F>
bool for_each_stored_run(const GlobalAccess& access, const TileInView& cursor, Context& context,
                         F&& f) {
  std::uint64_t base_bits = 0;
  if (!is_inside(cursor, access.tile.bits, base_bits)) return false;
  const TensorInMemory tensor = tensor_of(cursor.view(), access.indexed->tile.dim);
  const IndexedTable& table =
      find_indexed_table(*access.indexed, *access.parts, tensor, cursor.origin().begin, context);
  const std::vector<std::int64_t>& along = cursor.origin().places->along;
  if (along.size() != table.base.size()) return false;
  for (const std::int32_t first : access.parts->first_threads) {
    const auto t = static_cast<std::size_t>(first);
    for (std::size_t r = 0; r < table.runs; ++r) {
      const std::size_t e = t * table.runs + r;
      if (along[e] >= 0) f(t, r, base_bits + table.offset(e, along[e]) * access.tile.bits);
    }
  }
  return true;
}

/// Sorts intervals by where they begin, by eleven bits of that after eleven bits.
void sort_intervals(std::vector<Interval>& intervals) {
  constexpr unsigned digit_bits = 11;
  constexpr std::size_t digits = std::size_t{1} << digit_bits;
  const auto before = [](const Interval& a, const Interval& b) { return a.begin < b.begin; };
  if (std::is_sorted(intervals.begin(), intervals.end(), before)) return;
  if (intervals.size() < digits / 8) {
    std::sort(intervals.begin(), intervals.end(), before);
    return;
  }
  std::uint64_t least = ~std::uint64_t{0}, greatest = 0;
  for (const Interval& each : intervals) {
    least = std::min(least, each.begin);
    greatest = std::max(greatest, each.begin);
  }
  std::vector<Interval> sorted(intervals.size());
  for (unsigned shift = 0; shift < 64 && (greatest - least) >> shift != 0; shift += digit_bits) {
    const auto digit_of = [&](const Interval& each) {
      return (each.begin - least) >> shift & (digits - 1);
    };
    std::array<std::size_t, digits> next{};
    for (const Interval& each : intervals) ++next[digit_of(each)];
    std::exclusive_scan(next.begin(), next.end(), next.begin(), std::size_t{0});
    for (const Interval& each : intervals) sorted[next[digit_of(each)]++] = each;
    std::swap(intervals, sorted);
  }
}

/// Merges intervals that touch or overlap; says whether any overlapped.
bool merge_sorted(std::vector<Interval>& intervals) {
  bool overlap = false;
  std::size_t kept = 0;
  for (const Interval& each : intervals) {
    if (kept > 0 && each.begin <= intervals[kept - 1].end) {
      overlap = overlap || each.begin < intervals[kept - 1].end;
      intervals[kept - 1].end = std::max(intervals[kept - 1].end, each.end);
    } else {
      intervals[kept++] = each;
    }
  }
  intervals.resize(kept);
  return overlap;
}

}  // namespace

bool move_out_indexed(const GlobalAccess& access, const TileInView& cursor,
                      const std::uint8_t* registers, std::uint8_t* memory, Context& context) {
  const Tile& tile = access.tile;
  if (tile.bits % 8 != 0 || access.combines) return false;
  const std::size_t length = cursor.origin().places->run_elements * tile.bits / 8;
  const auto store = [&](std::size_t t, std::size_t r, std::uint64_t bit) {
    const std::uint8_t* const from = registers + t * tile.thread_bytes + r * length;
    if (length == 4) {
      std::memcpy(memory + bit / 8, from, 4);
    } else {
      std::memcpy(memory + bit / 8, from, length);
    }
  };
  return for_each_stored_run(access, cursor, context, store);
}

std::optional<TouchedIntervals> indexed_pieces(const GlobalAccess& access, const TileInView& cursor,
                                               Context& context) {
  TouchedIntervals pieces;
  const std::uint64_t length = cursor.origin().places->run_elements * access.tile.bits;
  const bool found = for_each_stored_run(access, cursor, context,
                                         [&](std::size_t, std::size_t, std::uint64_t bit) {
                                           pieces.bits.push_back({bit, bit + length});
                                         });
  if (!found) return std::nullopt;
  sort_intervals(pieces.bits);
  pieces.overlap = merge_sorted(pieces.bits);
  return pieces;
}

}  // namespace tilevm::sim
