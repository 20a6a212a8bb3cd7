#include "sim/arithmetic/element_loops.h"
#include "sim/tiles/packing.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include "isa/type/arith.h"
#include "isa/type/bits.h"
#include "isa/type/fma.h"
#include "isa/type/number.h"

using namespace tilevm;
using isa::DType;

namespace {

std::vector<isa::BinaryOp> defined_ops(const DType& type) {
  std::vector<isa::BinaryOp> ops;
  for (int i = 0; i <= static_cast<int>(isa::BinaryOp::div_approx_ftz); ++i) {
    const auto op = static_cast<isa::BinaryOp>(i);
    if (isa::is_defined(op, type)) ops.push_back(op);
  }
  return ops;
}

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

/// Codes of a type as lanes, and back.
std::vector<std::uint8_t> to_lanes(const std::vector<std::uint32_t>& codes, const DType& type) {
  std::vector<std::uint8_t> lanes(codes.size() * sim::lane_bytes(type.bits));
  sim::with_lane(type.bits, [&]<class Lane>() {
    for (std::size_t i = 0; i < codes.size(); ++i) {
      sim::store_lane(lanes.data(), i, static_cast<Lane>(codes[i] & isa::low_mask(type.bits)));
    }
  });
  return lanes;
}
std::uint64_t lane_at(const std::vector<std::uint8_t>& lanes, std::size_t i, const DType& type) {
  return sim::with_lane(type.bits, [&]<class Lane>() {
    return std::uint64_t{sim::load_lane<Lane>(lanes.data(), i)};
  });
}

void check_cast(const DType& from, const DType& to, const std::vector<std::uint32_t>& codes) {
  const auto in = to_lanes(codes, from);
  for (const sim::SimdLevel level : sim::simd_levels()) {
    std::vector<std::uint8_t> out(codes.size() * sim::lane_bytes(to.bits));
    sim::cast_loop(from, to, level)(in.data(), out.data(), codes.size());
    for (std::size_t i = 0; i < codes.size(); ++i) {
      const std::uint64_t code = lane_at(in, i, from);
      if (lane_at(out, i, to) == isa::cast(from, to, code)) continue;
      FAIL_CHECK(isa::to_string(from), " to ", isa::to_string(to), ", ", sim::to_string(level),
                 ": code ", code, " gives ", lane_at(out, i, to));
      return;
    }
  }
}

/// The loop of every level, in place as well, against the definition.
void check_binary(isa::BinaryOp op, const DType& type, const std::vector<std::uint8_t>& a,
                  const std::vector<std::uint8_t>& b) {
  const DType result = isa::result_type(op, type);
  const std::size_t n = a.size() / sim::lane_bytes(type.bits);
  for (const sim::SimdLevel level : sim::simd_levels()) {
    const auto loop = sim::binary_loop(op, type, level);
    std::vector<std::uint8_t> out(n * sim::lane_bytes(result.bits));
    loop(a.data(), b.data(), out.data(), n);
    if (result == type) {
      auto first = a, second = b;
      loop(first.data(), b.data(), first.data(), n);
      loop(a.data(), second.data(), second.data(), n);
      REQUIRE(out == first);
      REQUIRE(out == second);
    }
    for (std::size_t i = 0; i < n; ++i) {
      const std::uint64_t x = lane_at(a, i, type), y = lane_at(b, i, type);
      const std::uint64_t wanted = isa::apply(op, type, x, y);
      if (lane_at(out, i, result) == wanted) continue;
      FAIL_CHECK(isa::to_string(type), " operation ", static_cast<int>(op), ", ",
                 sim::to_string(level), ": ", x, " and ", y, " give ", lane_at(out, i, result),
                 ", not ", wanted);
      return;
    }
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

TEST_CASE("arithmetic loops equal apply on every pair of codes of types of 8 bits or fewer") {
  for (const DType& type : isa::all_dtypes()) {
    if (type.bits > 8 || type.is_bipolar()) continue;
    std::vector<std::uint32_t> a, b;
    for (const std::uint32_t x : all_codes(type)) {
      for (const std::uint32_t y : all_codes(type)) {
        a.push_back(x);
        b.push_back(y);
      }
    }
    for (const auto op : defined_ops(type))
      check_binary(op, type, to_lanes(a, type), to_lanes(b, type));
  }
}

TEST_CASE("arithmetic loops equal apply on boundaries and noise of wide types") {
  const auto words = interesting_words();
  for (const DType& type :
       {isa::f32, isa::f16, isa::bf16, isa::tf32, isa::i32, isa::u32, isa::i16, isa::u16}) {
    std::vector<std::uint32_t> a, b;
    for (std::size_t i = 0; i < words.size(); ++i) {
      const unsigned shift = type.bits == 16 ? 16 : 0;
      a.push_back(words[i] >> shift);
      b.push_back(words[(i * 7919) % words.size()] >> shift);
    }
    for (const auto op : defined_ops(type))
      check_binary(op, type, to_lanes(a, type), to_lanes(b, type));
  }
}

/// 64-bit codes around what arithmetic treats apart, and noise.
std::vector<std::uint8_t> wide_lanes(std::size_t n, std::uint64_t seed) {
  constexpr std::uint64_t special[] = {0,
                                       1,
                                       ~std::uint64_t{0},
                                       std::uint64_t{1} << 63,
                                       ~(std::uint64_t{1} << 63),
                                       0x7ff0000000000000,
                                       0xfff0000000000000,
                                       0x7ff0000000000001,
                                       0x000fffffffffffff,
                                       0x7fefffffffffffff,
                                       0x3ff0000000000000,
                                       0xbff0000000000001};
  std::vector<std::uint8_t> lanes(n * 8);
  std::uint64_t state = seed;
  for (std::size_t i = 0; i < n; ++i) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    const bool plain = (state >> 60) % 4 == 0;
    const std::uint64_t noise = state ^ state >> 29;
    sim::store_lane(lanes.data(), i, plain ? special[(state >> 32) % std::size(special)] : noise);
  }
  return lanes;
}

TEST_CASE("arithmetic loops equal apply on types of 64 bits") {
  for (const DType& type : {isa::i64, isa::u64, isa::f64}) {
    for (const auto op : defined_ops(type))
      check_binary(op, type, wide_lanes(3001, 1), wide_lanes(3001, 2));
  }
}

/// The loop of every level, in place as well, against the definition.
void check_fma(const DType& type, const std::vector<std::uint8_t>& a,
               const std::vector<std::uint8_t>& b, const std::vector<std::uint8_t>& c) {
  const std::size_t n = a.size() / sim::lane_bytes(type.bits);
  for (const sim::SimdLevel level : sim::simd_levels()) {
    auto out = c;
    sim::fma_loop(type, level)(a.data(), b.data(), out.data(), out.data(), n);
    for (std::size_t i = 0; i < n; ++i) {
      const std::uint64_t x = lane_at(a, i, type), y = lane_at(b, i, type), z = lane_at(c, i, type);
      const std::uint64_t wanted = isa::apply_fma(type, x, y, z);
      if (lane_at(out, i, type) == wanted) continue;
      FAIL_CHECK(isa::to_string(type), ", ", sim::to_string(level), ": ", x, " * ", y, " + ", z,
                 " gives ", lane_at(out, i, type), ", not ", wanted);
      return;
    }
  }
}

TEST_CASE("fma loops equal the definition, with sums that cancel") {
  for (const DType& type : isa::all_dtypes()) {
    if (!isa::has_fma(type)) continue;
    const std::size_t bytes = sim::lane_bytes(type.bits), n = 30011 * 8 / bytes;
    auto a = wide_lanes(30011, 6), b = wide_lanes(30011, 7), c = wide_lanes(30011, 8);
    sim::with_lane(type.bits, [&]<class Lane>() {
      for (std::size_t i = 0; i < n; i += 2) {  // near the negative product
        const std::uint64_t product =
            isa::apply(isa::BinaryOp::mul, type, lane_at(a, i, type), lane_at(b, i, type));
        const std::uint64_t near = isa::apply(isa::UnaryOp::neg, type, product) + i % 8 / 2;
        sim::store_lane(c.data(), i, static_cast<Lane>(near));
      }
    });
    check_fma(type, a, b, c);
  }
}

TEST_CASE("where takes the bits of one or the other, in every width") {
  for (const DType& type : {isa::u1, isa::f8e4m3, isa::f16, isa::f32, isa::f64}) {
    const std::size_t n = 1001, bytes = sim::lane_bytes(type.bits);
    auto a = wide_lanes(n, 4), b = wide_lanes(n, 5);
    std::vector<std::uint8_t> conditions(n);
    for (std::size_t i = 0; i < n; ++i) conditions[i] = a[i * 8 + 3] & 1;
    for (const sim::SimdLevel level : sim::simd_levels()) {
      std::vector<std::uint8_t> out(n * bytes);
      sim::where_loop(type, level)(conditions.data(), a.data(), b.data(), out.data(), n);
      for (std::size_t i = 0; i < n * bytes; ++i) {
        REQUIRE(out[i] == (conditions[i / bytes] != 0 ? a[i] : b[i]));
      }
    }
  }
}

TEST_CASE("negation and absolute value loops equal apply on every code") {
  for (const DType& type : isa::all_dtypes()) {
    if (type.is_bipolar()) continue;
    const auto codes = type.bits > 32    ? wide_lanes(3001, 3)
                       : type.bits <= 16 ? to_lanes(all_codes(type), type)
                                         : to_lanes(interesting_words(), type);
    const std::size_t n = codes.size() / sim::lane_bytes(type.bits);
    for (const sim::SimdLevel level : sim::simd_levels()) {
      for (const auto op : {isa::UnaryOp::neg, isa::UnaryOp::abs}) {
        auto result = codes;
        sim::unary_loop(op, type, level)(codes.data(), result.data(), n);
        for (std::size_t i = 0; i < n; ++i) {
          REQUIRE(lane_at(result, i, type) == isa::apply(op, type, lane_at(codes, i, type)));
        }
      }
    }
  }
}

TEST_CASE(
    "unpack reads what get_bits reads, and pack writes it back, in every width below a byte") {
  CHECK(rc::check("unpack and pack", [](std::vector<std::uint8_t> noise) {
    const unsigned bits = *rc::gen::inRange(1U, 8U);
    const auto threads = *rc::gen::inRange<std::size_t>(1, 9);
    const auto locals = *rc::gen::inRange<std::size_t>(1, 21);
    const sim::Tile tile = tile_of(bits, threads, locals);
    noise.resize(tile.bytes() + 16);
    const auto first = *rc::gen::inRange<std::size_t>(0, threads);
    const std::size_t count = threads - first;
    std::vector<std::uint8_t> codes(count * locals);
    sim::unpack(tile, noise.data(), first, count, codes.data());
    for (std::size_t x = 0; x < codes.size(); ++x) {
      const std::uint8_t* stream = noise.data() + (first + x / locals) * tile.thread_bytes;
      RC_ASSERT((codes[x] == isa::get_bits(stream, x % locals * bits, bits)));
    }
    std::vector<std::uint8_t> written(tile.bytes() + 16, 0xaa);
    sim::pack(tile, codes.data(), first, count, written.data());
    std::vector<std::uint8_t> again(codes.size());
    sim::unpack(tile, written.data(), first, count, again.data());
    RC_ASSERT((again == codes));
    for (std::size_t i = tile.bytes(); i < written.size(); ++i) RC_ASSERT((written[i] == 0xaa));
    for (std::size_t i = 0; i < first * tile.thread_bytes; ++i) RC_ASSERT((written[i] == 0xaa));
  }));
}
