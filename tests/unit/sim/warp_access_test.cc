// What one access of a warp costs, on patterns whose cost is known.
#include "sim/counting/warp_access.h"

#include <doctest/doctest.h>

#include <array>
#include <functional>

using namespace tilevm::sim;

namespace {

/// `count` threads, the address of each.
WarpAccess access_of(unsigned count, std::uint64_t bytes,
                     const std::function<std::uint64_t(unsigned)>& address) {
  WarpAccess access;
  for (unsigned lane = 0; lane < count; ++lane) access.push_back({lane, address(lane), bytes});
  return access;
}

WarpAccess strided(unsigned count, std::uint64_t bytes, std::uint64_t stride,
                   std::uint64_t begin = 0) {
  return access_of(count, bytes, [=](unsigned lane) { return begin + lane * stride; });
}

std::uint64_t conflicts(const WarpAccess& access, unsigned width) {
  const AccessCount count = count_wavefronts(access, width);
  return count.transfers - count.ideal;
}

/// A copy of pieces of 16 bytes, `in_row` of them in a row, with these pitches in bytes.
AccessCount copied(unsigned in_row, std::uint64_t from_pitch, std::uint64_t to_pitch,
                   std::uint64_t from_begin = 0) {
  const auto at = [&](std::uint64_t begin, std::uint64_t pitch) {
    return access_of(
        32, 16, [=](unsigned lane) { return begin + lane / in_row * pitch + lane % in_row * 16; });
  };
  return count_copied_sectors(at(from_begin, from_pitch), at(0, to_pitch));
}

}  // namespace

TEST_CASE("nobody active costs nothing") {
  CHECK(count_sectors({}) == AccessCount{});
  CHECK(count_wavefronts({}, 4) == AccessCount{});
  CHECK(count_copied_sectors({}, {}) == AccessCount{});
}

TEST_CASE("neighbours share sectors") {
  const AccessCount words = count_sectors(strided(32, 4, 4));
  CHECK(words.requests == 1);
  CHECK(words.bytes == 128);
  CHECK(words.transfers == 4);
  CHECK(words.ideal == 4);
  CHECK(count_sectors(strided(32, 4, 4, 20)).transfers == 5);
  CHECK(count_sectors(strided(32, 8, 8)).transfers == 8);
  CHECK(count_sectors(strided(32, 1, 1)).transfers == 1);
  CHECK(count_sectors(strided(27, 4, 4, 404)).transfers == 4);
}

TEST_CASE("strides waste sectors, replicas do not") {
  const AccessCount apart = count_sectors(strided(32, 4, 32));
  CHECK(apart.transfers == 32);
  CHECK(apart.ideal == 4);
  CHECK(count_sectors(strided(32, 4, 12)).transfers == 12);
  const AccessCount same = count_sectors(strided(32, 4, 0, 64));
  CHECK(same.transfers == 1);
  CHECK(same.ideal == 1);
  CHECK(same.bytes == 128);
  // Addresses below the first are neighbours of it, too.
  CHECK(count_sectors(strided(32, 4, ~std::uint64_t{3}, 124)).transfers == 4);
}

TEST_CASE("words of one bank follow one another") {
  constexpr std::array<std::array<std::uint64_t, 2>, 8> of_words{
      {{1, 0}, {2, 1}, {3, 0}, {4, 3}, {8, 7}, {16, 15}, {32, 31}, {33, 0}}};
  for (const auto& [stride, expected] : of_words) {
    CAPTURE(stride);
    CHECK(conflicts(strided(32, 4, stride * 4), 4) == expected);
  }
  CHECK(conflicts(strided(20, 4, 128), 4) == 19);
  CHECK(conflicts(strided(32, 4, 0), 4) == 0);
}

TEST_CASE("narrow accesses to one word are one") {
  CHECK(conflicts(strided(32, 1, 1), 1) == 0);
  CHECK(conflicts(strided(32, 1, 8), 1) == 1);
  CHECK(conflicts(strided(32, 1, 32), 1) == 7);
  CHECK(conflicts(strided(32, 2, 2), 2) == 0);
  CHECK(conflicts(strided(32, 2, 6), 2) == 1);
  CHECK(conflicts(strided(32, 2, 64), 2) == 15);
}

TEST_CASE("wide accesses are served by halves and quarters of a warp") {
  const AccessCount dense = count_wavefronts(strided(32, 8, 8), 8);
  CHECK(dense.transfers == 2);
  CHECK(dense.ideal == 2);
  CHECK(conflicts(strided(32, 8, 16), 8) == 2);
  CHECK(conflicts(strided(32, 8, 24), 8) == 0);
  CHECK(conflicts(strided(32, 8, 128), 8) == 30);
  CHECK(count_wavefronts(strided(16, 8, 8), 8).transfers == 1);
  CHECK(conflicts(strided(20, 8, 128), 8) == 18);
  const AccessCount quarters = count_wavefronts(strided(32, 16, 16), 16);
  CHECK(quarters.transfers == 4);
  CHECK(quarters.ideal == 4);
  CHECK(conflicts(strided(32, 16, 64), 16) == 12);
  CHECK(conflicts(strided(32, 16, 80), 16) == 0);
}

TEST_CASE("a copy past the cache reads a sector for each place that it goes to") {
  const AccessCount dense = copied(8, 128, 128);
  CHECK(dense.requests == 1);
  CHECK(dense.bytes == 512);
  CHECK(dense.transfers == 16);
  CHECK(dense.lookups == 16);
  CHECK(dense.ideal == 16);
  // Rows of 64 bytes, padded to 80: each second row is shifted by half a sector.
  CHECK(copied(4, 64, 80).transfers == 24);
  CHECK(copied(4, 64, 80).lookups == 20);
  CHECK(copied(4, 80, 80).transfers == 20);
  CHECK(copied(4, 128, 64, 16).transfers == 32);
  CHECK(copied(4, 128, 64, 16).lookups == 16);
  CHECK(copied(1, 48, 16).transfers == 32);
  CHECK(copied(1, 48, 16).lookups == 20);
}
