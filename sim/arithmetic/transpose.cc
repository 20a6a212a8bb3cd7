#include "sim/arithmetic/transpose.h"

#include <cstring>
#include <utility>

#include "sim/arithmetic/lanes.h"

namespace tilevm::sim {
namespace {

/// A square of lanes, each row one vector of 16 bytes.
template <class Lane>
class Square {
 public:
  static constexpr std::size_t size = 16 / sizeof(Lane);

  void load(std::size_t row, const std::uint8_t* from) {
    std::memcpy(&rows_[row], from, sizeof(Vector));
  }
  void store(std::size_t row, std::uint8_t* to) const {
    std::memcpy(to, &rows_[row], sizeof(Vector));
  }

  /// Each step interleaves row i with row i + size / 2. The bits of (row, column) as one number
  /// turn by one bit in a step, so log2(size) steps exchange rows and columns.
  TILEVM_INLINE void transpose() {
    for (std::size_t done = 1; done < size; done *= 2) {
      Vector next[size];
      for (std::size_t i = 0; i < size / 2; ++i) {
        next[2 * i] = interleave<0>(rows_[i], rows_[i + size / 2], Columns{});
        next[2 * i + 1] = interleave<size / 2>(rows_[i], rows_[i + size / 2], Columns{});
      }
      for (std::size_t i = 0; i < size; ++i) rows_[i] = next[i];
    }
  }

 private:
  using Vector [[gnu::vector_size(16)]] = Lane;
  using Columns = std::make_index_sequence<size>;

  template <std::size_t first, std::size_t... column>
  TILEVM_INLINE static Vector interleave(Vector a, Vector b, std::index_sequence<column...>) {
    return __builtin_shufflevector(a, b,
                                   static_cast<int>(first + column / 2 + column % 2 * size)...);
  }

  Vector rows_[size];
};

/// Where the lanes of columns are in rows: `step` bytes from thread to thread in the tile.
template <class Lane>
struct Transposition {
  std::size_t rows;
  const std::vector<std::int32_t>& order;

  [[nodiscard]] std::size_t columns() const { return order.size(); }
  [[nodiscard]] std::size_t in_tile(std::size_t r, std::size_t c) const {
    return (r * columns() + c) * sizeof(Lane);
  }
  [[nodiscard]] std::size_t in_rows(std::size_t r, std::size_t c) const {
    return (static_cast<std::size_t>(order[c]) * rows + r) * sizeof(Lane);
  }

  /// Calls square(r, c) for squares and lane_columns(r, c) for single columns from row r on, which
  /// together are everything. The last square of a row may overlap the one before.
  template <class OnSquare, class OnColumn>
  void for_each(OnSquare&& square, OnColumn&& lane_columns) const {
    constexpr std::size_t size = Square<Lane>::size;
    const std::size_t whole = columns() < size ? 0 : rows / size * size;
    for (std::size_t r = 0; r < whole; r += size) {
      for (std::size_t c = 0; c < columns(); c += size) {
        square(r, c + size <= columns() ? c : columns() - size);
      }
    }
    if (whole == rows) return;
    for (std::size_t c = 0; c < columns(); ++c) lane_columns(whole, c);
  }

  void to_rows(const std::uint8_t* in, std::uint8_t* out) const {
    for_each(
        [&](std::size_t r, std::size_t c) {
          Square<Lane> square;
          for (std::size_t i = 0; i < square.size; ++i) square.load(i, in + in_tile(r + i, c));
          square.transpose();
          for (std::size_t i = 0; i < square.size; ++i) square.store(i, out + in_rows(r, c + i));
        },
        [&](std::size_t first, std::size_t c) {
          std::uint8_t* const to = out + in_rows(0, c);
          const std::uint8_t* const from = in + in_tile(0, c);
          const std::size_t step = columns(), end = rows;
          for (std::size_t r = first; r < end; ++r) {
            store_lane(to, r, load_lane<Lane>(from, r * step));
          }
        });
  }

  void from_rows(const std::uint8_t* in, std::uint8_t* out) const {
    for_each(
        [&](std::size_t r, std::size_t c) {
          Square<Lane> square;
          for (std::size_t i = 0; i < square.size; ++i) square.load(i, in + in_rows(r, c + i));
          square.transpose();
          for (std::size_t i = 0; i < square.size; ++i) square.store(i, out + in_tile(r + i, c));
        },
        [&](std::size_t first, std::size_t c) {
          const std::uint8_t* const from = in + in_rows(0, c);
          std::uint8_t* const to = out + in_tile(0, c);
          const std::size_t step = columns(), end = rows;
          for (std::size_t r = first; r < end; ++r) {
            store_lane(to, r * step, load_lane<Lane>(from, r));
          }
        });
  }
};

}  // namespace

void transpose_to_rows(unsigned bits, const std::uint8_t* in, std::size_t rows,
                       const std::vector<std::int32_t>& order, std::uint8_t* out) {
  with_lane(bits, [&]<class Lane>() { Transposition<Lane>{rows, order}.to_rows(in, out); });
}

void transpose_from_rows(unsigned bits, const std::uint8_t* in, std::size_t rows,
                         const std::vector<std::int32_t>& order, std::uint8_t* out) {
  with_lane(bits, [&]<class Lane>() { Transposition<Lane>{rows, order}.from_rows(in, out); });
}

LanePermutation::LanePermutation(std::vector<std::int32_t> sources) : sources_(std::move(sources)) {
  constexpr std::size_t long_enough = 8;
  for (std::size_t i = 0; i < sources_.size();) {
    Run run{sources_[i], 1, 1};
    if (i + 1 < sources_.size()) run.stride = sources_[i + 1] - sources_[i];
    while (i + run.count < sources_.size() &&
           sources_[i + run.count] - sources_[i + run.count - 1] == run.stride) {
      ++run.count;
    }
    i += run.count;
    runs_.push_back(run);
  }
  if (runs_.size() * long_enough > sources_.size()) runs_.clear();
}

namespace {

/// The strides that are most frequent are known at compile time.
template <class Lane>
void copy_run(const std::uint8_t* in, std::ptrdiff_t stride, std::size_t count, std::uint8_t* out) {
  constexpr auto bytes = static_cast<std::ptrdiff_t>(sizeof(Lane));
  const auto from = [&](std::size_t i, std::ptrdiff_t step) {
    return load_lane<Lane>(in + static_cast<std::ptrdiff_t>(i) * step * bytes, 0);
  };
  switch (stride) {
    case 0:
      for (std::size_t i = 0; i < count; ++i) store_lane(out, i, from(0, 0));
      return;
    case 1:
      std::memcpy(out, in, count * sizeof(Lane));
      return;
    case 2:
      TILEVM_LOOP
      for (std::size_t i = 0; i < count; ++i) store_lane(out, i, from(i, 2));
      return;
    default:
      for (std::size_t i = 0; i < count; ++i) store_lane(out, i, from(i, stride));
  }
}

}  // namespace

void permute_lanes(unsigned bits, const std::uint8_t* in, const LanePermutation& permutation,
                   std::uint8_t* out) {
  with_lane(bits, [&]<class Lane>() {
    for (const LanePermutation::Run& run : permutation.runs()) {
      copy_run<Lane>(
          in + static_cast<std::ptrdiff_t>(run.first) * static_cast<std::ptrdiff_t>(sizeof(Lane)),
          run.stride, run.count, out);
      out += run.count * sizeof(Lane);
    }
    if (!permutation.runs().empty()) return;
    const std::int32_t* const source = permutation.sources().data();
    const std::size_t count = permutation.size();
    for (std::size_t i = 0; i < count; ++i) {
      store_lane(out, i, load_lane<Lane>(in, static_cast<std::size_t>(source[i])));
    }
  });
}

}  // namespace tilevm::sim
