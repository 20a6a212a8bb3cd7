#include "sim/elements.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include "isa/type/bits.h"
#include "isa/type/number.h"

using namespace tilevm;
using isa::DType;

namespace {

constexpr isa::BinaryOp all_ops[] = {isa::BinaryOp::add, isa::BinaryOp::sub, isa::BinaryOp::mul,
                                     isa::BinaryOp::div, isa::BinaryOp::mod};

std::vector<std::uint32_t> all_codes(const DType& type) {
  std::vector<std::uint32_t> codes(std::size_t{1} << type.bits);
  for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<std::uint32_t>(i);
  return codes;
}

/// Codes of 32 bits around everything that conversions treat apart, and noise.
std::vector<std::uint32_t> interesting_words() {
  std::vector<std::uint32_t> words;
  for (std::uint32_t exponent = 0; exponent < 256; ++exponent) {
    for (const std::uint32_t mantissa :
         {0U, 1U, 0xfffU, 0x1000U, 0x1001U, 0x2000U, 0x3000U, 0x7fffU, 0x8000U, 0x8001U, 0x18000U,
          0x400000U, 0x7fefffU, 0x7ff000U, 0x7fffffU}) {
      words.push_back(exponent << 23 | mantissa);
      words.push_back(0x80000000U | exponent << 23 | mantissa);
    }
  }
  std::uint64_t state = 1;
  for (int i = 0; i < 20000; ++i) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    words.push_back(static_cast<std::uint32_t>(state >> 32));
  }
  return words;
}

void check_cast(const DType& from, const DType& to, const std::vector<std::uint32_t>& codes) {
  std::vector<std::uint32_t> out(codes.size());
  sim::cast_loop(from, to)(codes.data(), out.data(), codes.size());
  for (std::size_t i = 0; i < codes.size(); ++i) {
    if (out[i] == isa::cast(from, to, codes[i])) continue;
    FAIL_CHECK(isa::to_string(from), " to ", isa::to_string(to), ": code ", codes[i], " gives ",
               out[i]);
    return;
  }
}

sim::Tile tile_of(unsigned bits, std::size_t threads, std::size_t locals) {
  return {0, isa::bytes_for_bits(locals * bits), threads, locals, bits};
}

}  // namespace

TEST_CASE("cast loops equal cast on every code of every type of 8 bits or fewer") {
  for (const DType& from : isa::all_dtypes()) {
    if (from.bits > 8) continue;
    for (const DType& to : isa::all_dtypes()) {
      if (to.bits <= 32) check_cast(from, to, all_codes(from));
    }
  }
}

TEST_CASE("cast loops of 16-bit sources equal cast on every code") {
  for (const DType& from : {isa::f16, isa::bf16, isa::i16, isa::u16}) {
    for (const DType& to : {isa::f32, isa::f16, isa::bf16, isa::i32, isa::i8, isa::f8e4m3}) {
      check_cast(from, to, all_codes(from));
    }
  }
}

TEST_CASE("cast loops of 32-bit sources equal cast on boundaries and noise") {
  const auto words = interesting_words();
  for (const DType& from : {isa::f32, isa::i32, isa::u32, isa::tf32}) {
    for (const DType& to : {isa::f32, isa::f16, isa::bf16, isa::tf32, isa::i32, isa::u32, isa::i8,
                            isa::u16, isa::f8e4m3, isa::small_float(3, 2), isa::bipolar(2)}) {
      check_cast(from, to, words);
    }
  }
}

TEST_CASE("arithmetic loops equal apply on every pair of codes of narrow types") {
  for (const DType& type : isa::all_dtypes()) {
    if (type.bits > 5 || type.is_bipolar()) continue;
    for (const auto op : all_ops) {
      const auto loop = sim::binary_loop(op, type);
      for (const std::uint32_t b : all_codes(type)) {
        auto a = all_codes(type);
        const std::vector<std::uint32_t> bs(a.size(), b);
        loop(a.data(), bs.data(), a.size());
        for (const std::uint32_t x : all_codes(type)) {
          REQUIRE(a[x] == isa::apply(op, type, x, b));
        }
      }
    }
  }
}

TEST_CASE("arithmetic loops equal apply on boundaries and noise of wide types") {
  const auto words = interesting_words();
  for (const DType& type : {isa::f32, isa::f16, isa::bf16, isa::tf32, isa::i32, isa::u32, isa::i16,
                            isa::u8, isa::f8e5m2}) {
    const auto mask = static_cast<std::uint32_t>(isa::low_mask(type.bits));
    for (const auto op : all_ops) {
      std::vector<std::uint32_t> a, b;
      for (std::size_t i = 0; i < words.size(); ++i) {
        a.push_back((type.bits == 16 ? words[i] >> 16 : words[i]) & mask);
        b.push_back((words[(i * 7919) % words.size()] >> (type.bits == 16 ? 16 : 0)) & mask);
      }
      auto result = a;
      sim::binary_loop(op, type)(result.data(), b.data(), result.size());
      for (std::size_t i = 0; i < a.size(); ++i) {
        REQUIRE(result[i] == isa::apply(op, type, a[i], b[i]));
      }
    }
  }
}

TEST_CASE("negation loops equal apply on every code") {
  for (const DType& type : isa::all_dtypes()) {
    if (type.bits > 32 || type.is_bipolar()) continue;
    const auto codes = type.bits <= 16 ? all_codes(type) : interesting_words();
    auto result = codes;
    sim::unary_loop(isa::UnaryOp::neg, type)(codes.data(), result.data(), codes.size());
    for (std::size_t i = 0; i < codes.size(); ++i) {
      REQUIRE(result[i] == isa::apply(isa::UnaryOp::neg, type, codes[i]));
    }
  }
}

TEST_CASE("unpack reads what get_bits reads, and pack writes it back, in every width") {
  CHECK(rc::check("unpack and pack", [](std::vector<std::uint8_t> noise) {
    const unsigned bits = *rc::gen::element(1U, 2U, 3U, 4U, 5U, 6U, 7U, 8U, 16U, 32U, 64U);
    const auto threads = *rc::gen::inRange<std::size_t>(1, 9);
    const auto locals = *rc::gen::inRange<std::size_t>(1, 21);
    const sim::Tile tile = tile_of(bits, threads, locals);
    noise.resize(tile.bytes() + 16);
    const auto first = *rc::gen::inRange<std::size_t>(0, threads);
    const std::size_t count = threads - first;
    std::vector<std::uint64_t> codes(count * locals);
    sim::unpack(tile, noise.data(), first, count, codes.data());
    for (std::size_t x = 0; x < codes.size(); ++x) {
      const std::uint8_t* stream = noise.data() + (first + x / locals) * tile.thread_bytes;
      RC_ASSERT((codes[x] == isa::get_bits(stream, x % locals * bits, bits)));
    }
    std::vector<std::uint8_t> written(tile.bytes() + 16, 0xaa);
    sim::pack(tile, codes.data(), first, count, written.data());
    std::vector<std::uint64_t> again(codes.size());
    sim::unpack(tile, written.data(), first, count, again.data());
    RC_ASSERT((again == codes));
    for (std::size_t i = tile.bytes(); i < written.size(); ++i) RC_ASSERT((written[i] == 0xaa));
    for (std::size_t i = 0; i < first * tile.thread_bytes; ++i) RC_ASSERT((written[i] == 0xaa));
  }));
}
