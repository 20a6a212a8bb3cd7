// What Dot adds to the device prelude, on the host: multiply-adds, and bipolar operands as bits and
// bytes.
#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <limits>

#include "isa/type/bits.h"
#include "tests/unit/backend/emit_host_prelude.h"

namespace {

using tilevm::isa::get_bits;

/// Any words; one more than 32 codes of 8 bits need.
std::array<tv::u32, 9> some_words(std::uint64_t seed) {
  std::array<tv::u32, 9> words;
  for (tv::u32& word : words) {
    seed = seed * 6364136223846793005U + 1442695040888963407U;
    word = static_cast<tv::u32>(seed >> 32);
  }
  return words;
}

template <int n>
void check_planes() {
  CAPTURE(n);
  int places[32];
  for (int j = 0; j < 32; ++j) places[j] = 31 - j;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const auto words = some_words(seed);
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(words.data());
    std::array<tv::u32, n> backwards{};
    tv::gather_codes<n>(backwards.data(), words.data(), places);
    for (int p = 0; p < n; ++p) {
      tv::u32 expected = 0, reversed = 0;
      for (unsigned j = 0; j < 32; ++j) {
        const auto bit = static_cast<tv::u32>(get_bits(bytes, j * n, n) >> p & 1);
        expected |= bit << j;
        reversed |= bit << (31 - j);
      }
      CHECK(tv::plane<n>(words.data(), p) == expected);
      CHECK(tv::plane<n>(backwards.data(), p) == reversed);
    }
  }
}

template <int n>
void check_bytes() {
  CAPTURE(n);
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const auto words = some_words(seed);
    const auto* stream = reinterpret_cast<const std::uint8_t*>(words.data());
    const tv::u32 bytes = tv::bipolar_bytes<n>(words.data(), 3, 0, 7, 2);
    unsigned at = 0;
    for (const unsigned place : {3, 0, 7, 2}) {
      int value = 0;  // every bit is -1 or +1
      for (unsigned bit = 0; bit < n; ++bit) {
        value += (get_bits(stream, place * n + bit, 1) != 0 ? 1 : -1) * (1 << bit);
      }
      const int byte = static_cast<std::int8_t>(bytes >> at++ * 8 & 0xff);
      CHECK((n == 8 ? 2 * byte + 1 : byte) == value);
    }
  }
}

template <int... n>
void check_widths() {
  (check_planes<n>(), ...);
  (check_bytes<n>(), ...);
}

using F16 = tv::Float<16, 5, 10>;
using Bf16 = tv::Float<16, 8, 7>;
using F64 = tv::Float<64, 11, 52>;
using E4m3 = tv::Float<8, 4, 3, tv::nan_only>;

}  // namespace

TEST_CASE("planes and bytes of bipolar codes of every width") {
  check_widths<1, 2, 3, 4, 5, 6, 7, 8>();
}

TEST_CASE("multiply-adds convert their operands to the accumulator") {
  CHECK(tv::multiply_add<tv::Single, tv::Single, tv::Single>(0x40000000, 0x40400000, 0x3f800000) ==
        0x40e00000);  // 2 * 3 + 1
  CHECK(tv::multiply_add<F16, tv::Int<8>, tv::Single>(0x4000, 0xfd, 0x3f800000) ==
        0xc0a00000);                                                                 // 2 * -3 + 1
  CHECK(tv::multiply_add<E4m3, tv::Bipolar<8>, F16>(0x38, 0xff, 0x3c00) == 0x5c00);  // 255 + 1
  CHECK(tv::multiply_add<Bf16, Bf16, Bf16>(0x4000, 0x4040, 0x3f80) == 0x40e0);
  CHECK(tv::multiply_add<tv::Uint<32>, tv::Int<32>, F64>(0xffffffff, 0xffffffff, 0) ==
        0xc1efffffffe00000);  // -(2^32 - 1)
  CHECK(tv::multiply_add<tv::Bipolar<2>, tv::Int<8>, tv::Int<32>>(0, 0x80, 1) == 385);  // -3 * -128
  CHECK(tv::multiply_add<tv::Uint<32>, tv::Bipolar<1>, tv::Uint<64>>(7, 0, 0) ==
        std::numeric_limits<tv::u64>::max() - 6);
  CHECK(tv::multiply_add<tv::Int<64>, tv::Int<5>, tv::Int<64>>(tv::u64{1} << 63, 0x1f, 1) ==
        (tv::u64{1} << 63) + 1);
}

TEST_CASE("only a NaN is changed when codes become canonical") {
  CHECK(tv::canonical<tv::Single>(0xffc00001) == 0x7fffffff);
  CHECK(tv::canonical<tv::Single>(0xff800000) == 0xff800000);
  CHECK(tv::canonical<F16>(0xfc01) == 0x7fff);
  CHECK(tv::canonical<Bf16>(0xff80) == 0xff80);
  CHECK(tv::canonical<Bf16>(0x7f81) == 0x7fff);
  CHECK(tv::canonical<F64>(0xfff0000000000001) == 0x7fffffffffffffff);
  CHECK(tv::canonical<F64>(0xfff0000000000000) == 0xfff0000000000000);
  CHECK(tv::canonical<tv::Int<32>>(0xffc00001) == 0xffc00001);
}
