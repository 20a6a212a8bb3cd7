#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <thread>
#include <vector>

#include "isa/type/bits.h"

namespace tilevm::isa {
namespace {

using Bytes = std::vector<std::uint8_t>;

/// Bit by bit, as the layout is defined.
std::uint64_t slow_get(const Bytes& stream, std::size_t offset, unsigned n) {
  std::uint64_t value = 0;
  for (unsigned i = 0; i < n; ++i) {
    const std::size_t j = offset + i;
    value |= static_cast<std::uint64_t>((stream[j / 8] >> (j % 8)) & 1) << i;
  }
  return value;
}

void slow_put(Bytes& stream, std::size_t offset, unsigned n, std::uint64_t value) {
  for (unsigned i = 0; i < n; ++i) {
    const std::size_t j = offset + i;
    const auto bit = static_cast<std::uint8_t>(1u << (j % 8));
    stream[j / 8] =
        static_cast<std::uint8_t>((stream[j / 8] & ~bit) | ((value >> i & 1) ? bit : 0));
  }
}

TEST_CASE("bits are read and written at every offset and width; neighbours stay") {
  const std::uint64_t value = 0x9e3779b97f4a7c15;
  for (const std::uint8_t fill : {0x00, 0xff, 0xa5}) {
    for (std::size_t offset = 0; offset < 24; ++offset) {
      for (unsigned n = 1; n <= 64; ++n) {
        // Exactly the bytes that hold the bits: a sanitizer sees any other access.
        const Bytes before(bytes_for_bits(offset + n), fill);
        Bytes expected = before, plain = before, atomic = before;
        slow_put(expected, offset, n, value);
        put_bits(plain.data(), offset, n, value);
        put_bits_atomic(atomic.data(), offset, n, value);
        REQUIRE(plain == expected);
        REQUIRE(atomic == expected);
        REQUIRE(get_bits(plain.data(), offset, n) == (value & low_mask(n)));
        REQUIRE(get_bits(before.data(), offset, n) == slow_get(before, offset, n));
      }
    }
  }
}

TEST_CASE("packing and unpacking are the element-wise operations") {
  CHECK(rc::check("pack, unpack", [] {
    const auto n = *rc::gen::inRange(1u, 65u);
    const auto offset = *rc::gen::inRange(std::size_t{0}, std::size_t{20});
    const auto values = *rc::gen::arbitrary<std::vector<std::uint64_t>>();
    Bytes stream(bytes_for_bits(offset + values.size() * n), 0x5a);
    Bytes expected = stream;
    for (std::size_t k = 0; k < values.size(); ++k)
      slow_put(expected, offset + k * n, n, values[k]);
    pack_bits(stream.data(), offset, n, values);
    RC_ASSERT((stream == expected));
    std::vector<std::uint64_t> read(values.size());
    unpack_bits(stream.data(), offset, n, read);
    for (std::size_t k = 0; k < values.size(); ++k)
      RC_ASSERT((read[k] == (values[k] & low_mask(n))));
  }));
}

TEST_CASE("long runs of every width unpack") {
  for (unsigned n = 1; n <= 64; ++n) {
    Bytes stream(bytes_for_bits(100 * n + 3));
    for (std::size_t i = 0; i < stream.size(); ++i)
      stream[i] = static_cast<std::uint8_t>(i * 167 + 13);
    std::vector<std::uint64_t> read(100);
    unpack_bits(stream.data(), 3, n, read);
    for (std::size_t k = 0; k < read.size(); ++k)
      REQUIRE(read[k] == slow_get(stream, 3 + k * n, n));
  }
}

TEST_CASE("threads that write neighbouring elements of one byte do not disturb each other") {
  constexpr unsigned n = 3;
  constexpr std::size_t count = 4096;
  Bytes stream(bytes_for_bits(count * n), 0);
  const auto writer = [&](std::size_t first) {
    for (std::size_t k = first; k < count; k += 2) put_bits_atomic(stream.data(), k * n, n, k % 8);
  };
  std::thread odd(writer, 1);
  writer(0);
  odd.join();
  std::size_t wrong = 0;
  for (std::size_t k = 0; k < count; ++k) wrong += get_bits(stream.data(), k * n, n) != k % 8;
  CHECK(wrong == 0);
}

TEST_CASE("masks and byte counts at their ends") {
  CHECK(low_mask(0) == 0);
  CHECK(low_mask(1) == 1);
  CHECK(low_mask(63) == 0x7fffffffffffffff);
  CHECK(low_mask(64) == ~std::uint64_t{0});
  CHECK(bytes_for_bits(0) == 0);
  CHECK(bytes_for_bits(1) == 1);
  CHECK(bytes_for_bits(8) == 1);
  CHECK(bytes_for_bits(9) == 2);
}

}  // namespace
}  // namespace tilevm::isa
