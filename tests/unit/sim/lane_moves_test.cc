// Loops that move lanes or find where indices lead, against their definitions.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include "sim/arithmetic/index_loops.h"
#include "sim/arithmetic/lanes.h"
#include "sim/arithmetic/transpose.h"
#include "sim/tiles/lane_tiles.h"

namespace tilevm::sim {
namespace {

using Bytes = std::vector<std::uint8_t>;

Bytes random_bytes(std::size_t count, std::mt19937_64& random) {
  Bytes bytes(count);
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random());
  return bytes;
}

std::uint64_t lane_at(const Bytes& lanes, std::size_t bytes, std::size_t i) {
  std::uint64_t lane = 0;
  std::memcpy(&lane, lanes.data() + i * bytes, bytes);
  return lane;
}

TEST_CASE("a permutation takes each lane from its source, in runs of any stride or in none") {
  std::mt19937_64 random(2);
  std::vector<std::vector<std::int32_t>> all{{}, {5}, {9, 3}};
  for (const int stride : {-3, 0, 1, 2, 5}) {
    std::vector<std::int32_t>& sources = all.emplace_back();
    for (int run = 0; run < 5; ++run) {
      for (int i = 0; i < 20 + run; ++i) sources.push_back(80 + 7 * run + i * stride);
    }
  }
  for (int i = 0; i < 100; ++i) all.back().push_back(static_cast<std::int32_t>(random() % 256));
  all.emplace_back(all.back().end() - 100, all.back().end());
  for (const unsigned bits : {4U, 16U, 32U, 64U}) {
    const std::size_t bytes = lane_bytes(bits);
    const Bytes in = random_bytes(256 * bytes, random);
    for (const std::vector<std::int32_t>& sources : all) {
      Bytes out(sources.size() * bytes);
      permute_lanes(bits, in.data(), LanePermutation(sources), out.data());
      for (std::size_t i = 0; i < sources.size(); ++i) {
        CHECK(lane_at(out, bytes, i) == lane_at(in, bytes, static_cast<std::size_t>(sources[i])));
      }
    }
  }
}

TEST_CASE("a transposition moves each lane to its row, and the inverse moves it back") {
  std::mt19937_64 random(1);
  for (const unsigned bits : {4U, 8U, 16U, 32U, 64U}) {
    const std::size_t bytes = lane_bytes(bits);
    for (const std::size_t rows : {1, 7, 16, 32, 40, 96}) {
      for (std::size_t columns = 1; columns <= 35; ++columns) {
        std::vector<std::int32_t> order(columns);
        std::iota(order.begin(), order.end(), 0);
        std::shuffle(order.begin(), order.end(), random);
        const Bytes in = random_bytes(rows * columns * bytes, random);
        Bytes out(in.size()), back(in.size());
        transpose_to_rows(bits, in.data(), rows, order, out.data());
        bool equal = true;
        for (std::size_t r = 0; r < rows; ++r) {
          for (std::size_t c = 0; c < columns; ++c) {
            const auto row = static_cast<std::size_t>(order[c]);
            equal =
                equal && lane_at(out, bytes, row * rows + r) == lane_at(in, bytes, r * columns + c);
          }
        }
        CHECK_MESSAGE(equal, bits, " bits, ", rows, " x ", columns);
        transpose_from_rows(bits, out.data(), rows, order, back.data());
        CHECK_MESSAGE(back == in, bits, " bits, ", rows, " x ", columns);
      }
    }
  }
}

TEST_CASE("lanes are taken from any places: one place again and again, neighbours, or others") {
  std::mt19937_64 random(2);
  const std::vector<isa::PlaceMap> maps = {{0, 0, 0, 0, 0, 0, 0, 0},
                                           {1, 1, 5, 5, 0, 0},
                                           {0, 1, 2, 3, 0, 1, 2, 3},
                                           {2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9},
                                           {4, 5, 6},
                                           {3, 0, 2, 2, 7},
                                           {6}};
  constexpr std::size_t locals = 10, threads = 5;
  for (const unsigned bits : {3U, 8U, 16U, 32U, 64U}) {
    const std::size_t bytes = lane_bytes(bits);
    const Bytes lanes = random_bytes(locals * threads * bytes, random);
    for (const isa::PlaceMap& places : maps) {
      LaneBuffer buffer;
      const std::uint8_t* out = gather_lanes(bits, places, lanes.data(), locals, threads, buffer);
      for (std::size_t t = 0; t < threads; ++t) {
        for (std::size_t i = 0; i < places.size(); ++i) {
          const auto source = t * locals + static_cast<std::size_t>(places[i]);
          const std::uint8_t* const lane = out + (t * places.size() + i) * bytes;
          CHECK(std::memcmp(lane, lanes.data() + source * bytes, bytes) == 0);
        }
      }
    }
  }
}

/// The definition: begin + the code, modulo 2^64.
std::uint64_t index_of(std::uint64_t code, unsigned bits, bool is_signed, std::int64_t begin) {
  if (is_signed && bits == 32) {
    code = static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(code)});
  }
  return static_cast<std::uint64_t>(begin) + code;
}

void check_indices(unsigned bits, bool is_signed, SimdLevel level, const Bytes& lanes,
                   std::int64_t begin, std::int64_t extent) {
  const std::size_t bytes = lane_bytes(bits), count = lanes.size() / bytes;
  const IndexLanes indices{lanes.data(), count, begin, extent};
  std::vector<std::int64_t> along(count);
  FoundIndices found{along.data()};
  index_loop(bits, is_signed, level)(indices, &found);
  bool equal = true, inside = true;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t index = index_of(lane_at(lanes, bytes, i), bits, is_signed, begin);
    const bool is_inside = index < static_cast<std::uint64_t>(extent);
    equal = equal && along[i] == (is_inside ? static_cast<std::int64_t>(index) : -1);
    inside = inside && is_inside;
  }
  CHECK_MESSAGE(equal, bits, " bits, begin ", begin, ", extent ", extent);
  CHECK_MESSAGE(found.inside == inside, bits, " bits, begin ", begin, ", extent ", extent);

  if (extent > 4096) return;  // shared tensors are small
  std::vector<std::uint32_t> base(count), shares(static_cast<std::size_t>(extent)), offsets(count);
  for (std::size_t i = 0; i < count; ++i) base[i] = static_cast<std::uint32_t>(i * 977);
  for (std::size_t i = 0; i < shares.size(); ++i) shares[i] = static_cast<std::uint32_t>(i * i);
  for (const bool strided : {true, false}) {
    FoundOffsets places{base.data(), strided ? nullptr : shares.data(), 24, 1000, offsets.data()};
    offset_loop(bits, is_signed, level)(indices, &places);
    CHECK_MESSAGE(places.inside == inside, bits, " bits, begin ", begin, ", extent ", extent);
    for (std::size_t i = 0; i < count && equal; ++i) {
      if (along[i] < 0) continue;
      const auto index = static_cast<std::size_t>(along[i]);
      const std::uint32_t share = strided ? static_cast<std::uint32_t>(index) * 24 : shares[index];
      equal = offsets[i] == 1000 + base[i] + share;
    }
    CHECK_MESSAGE(equal, bits, " bits, begin ", begin, ", extent ", extent);
  }
}

TEST_CASE("indices lead to their places or outside, at every level of vector instructions") {
  std::mt19937_64 random(3);
  constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t two_32 = std::int64_t{1} << 32;
  for (const SimdLevel level : simd_levels()) {
    for (const unsigned bits : {4U, 8U, 16U, 32U, 64U}) {
      Bytes lanes = random_bytes(67 * lane_bytes(bits), random);
      std::fill_n(lanes.begin(), lane_bytes(bits), std::uint8_t{0});
      std::fill_n(lanes.begin() + 8, lane_bytes(bits), std::uint8_t{0xff});
      for (const bool is_signed : {false, true}) {
        if (is_signed && bits < 32) continue;
        for (const std::int64_t begin :
             {least, -two_32, std::int64_t{-200}, std::int64_t{-1}, std::int64_t{0},
              std::int64_t{60}, std::int64_t{1} << 31, two_32 - 1, two_32, -(least + 1)}) {
          for (const std::int64_t extent : {std::int64_t{1}, std::int64_t{100}, std::int64_t{256},
                                            std::int64_t{4096}, two_32, std::int64_t{1} << 40}) {
            check_indices(bits, is_signed, level, lanes, begin, extent);
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace tilevm::sim
