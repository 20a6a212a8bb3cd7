// Loops over functions: every level of vector instructions gives the bits of the definition.
#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <string>
#include <vector>

#include "isa/inst/elementwise.h"
#include "isa/type/arith.h"
#include "sim/arithmetic/element_loops.h"

using namespace tilevm;
using isa::DType;
using isa::UnaryOp;

namespace {

std::vector<UnaryOp> functions() {
  std::vector<UnaryOp> ops;
  for (auto op = UnaryOp::exp2; op <= UnaryOp::rcp;
       op = static_cast<UnaryOp>(static_cast<int>(op) + 1)) {
    ops.push_back(op);
  }
  return ops;
}

std::vector<UnaryOp> approximations() {
  std::vector<UnaryOp> ops;
  for (auto op = UnaryOp::ex2_approx; op <= UnaryOp::tanh_approx;
       op = static_cast<UnaryOp>(static_cast<int>(op) + 1)) {
    ops.push_back(op);
  }
  return ops;
}

/// Codes as lanes of the type.
std::vector<std::uint8_t> lanes_of(const DType& type, const std::vector<std::uint64_t>& codes) {
  std::vector<std::uint8_t> lanes(codes.size() * sim::lane_bytes(type.bits));
  sim::with_lane(type.bits, [&]<class Lane>() {
    for (std::size_t i = 0; i < codes.size(); ++i) {
      sim::store_lane(lanes.data(), i, static_cast<Lane>(codes[i]));
    }
  });
  return lanes;
}

void check(UnaryOp op, const DType& type, const std::vector<std::uint64_t>& codes) {
  const auto in = lanes_of(type, codes);
  std::vector<std::uint64_t> wanted;
  for (const std::uint64_t code : codes) wanted.push_back(isa::apply(op, type, code));
  const auto right = lanes_of(type, wanted);
  for (const sim::SimdLevel level : sim::simd_levels()) {
    const auto loop = sim::unary_loop(op, type, level);
    auto in_place = in, apart = std::vector<std::uint8_t>(in.size());
    loop(in.data(), apart.data(), codes.size());
    loop(in_place.data(), in_place.data(), codes.size());
    const std::string name(isa::describe(op).mnemonic), type_name = isa::to_string(type);
    CAPTURE(name);
    CAPTURE(type_name);
    CAPTURE(sim::to_string(level));
    CHECK(apart == right);
    CHECK(in_place == right);
  }
}

/// Words of 32 bits: every exponent with significands at their ends, and noise.
std::vector<std::uint64_t> words() {
  std::vector<std::uint64_t> result;
  for (std::uint32_t top = 0; top < 512; ++top) {
    for (const std::uint32_t low : {0U, 1U, 0x3504f3U, 0x3504f4U, 0x400000U, 0x7fffffU}) {
      result.push_back(top << 23 | low);
    }
  }
  std::uint64_t state = 7;
  for (int i = 0; i < 30011; ++i) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    result.push_back(state >> 32);
  }
  return result;
}

}  // namespace

TEST_CASE("function loops equal the definition on f32 and tf32, over every exponent") {
  for (const UnaryOp op : functions()) {
    check(op, isa::f32, words());
    check(op, isa::tf32, words());
  }
}

TEST_CASE("function loops equal the definition on every code of 16 bits and fewer") {
  for (const DType& type : isa::all_dtypes()) {
    if (!type.is_float() || type.bits > 16) continue;
    std::vector<std::uint64_t> codes(std::size_t{1} << type.bits);
    for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = i;
    for (const UnaryOp op : functions()) check(op, type, codes);
  }
}

TEST_CASE("loops over approximations equal the definition on every type that has them") {
  for (const UnaryOp op : approximations()) {
    check(op, isa::f32, words());
    for (const DType& type : {isa::f16, isa::bf16}) {
      if (!is_defined(op, type)) continue;
      std::vector<std::uint64_t> codes(std::size_t{1} << 16);
      for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = i;
      check(op, type, codes);
    }
    if (!is_defined(op, isa::f64)) continue;
    std::vector<std::uint64_t> codes;
    for (const std::uint64_t word : words()) codes.push_back(word << 32 | word);
    check(op, isa::f64, codes);
  }
}

TEST_CASE("loops over approximate quotients equal the definition") {
  const std::vector<std::uint64_t> a = words();
  std::vector<std::uint64_t> b(a.rbegin(), a.rend());
  for (std::size_t i = 0; i < b.size(); i += 7) b[i] = (b[i] & 0x80ffffffU) | 0x7e800000U;
  for (std::size_t i = 3; i < b.size(); i += 7) b[i] &= 0x807fffffU;
  for (const isa::BinaryOp op : {isa::BinaryOp::div_full, isa::BinaryOp::div_full_ftz,
                                 isa::BinaryOp::div_approx, isa::BinaryOp::div_approx_ftz}) {
    std::vector<std::uint64_t> wanted;
    for (std::size_t i = 0; i < a.size(); ++i)
      wanted.push_back(isa::apply(op, isa::f32, a[i], b[i]));
    for (const sim::SimdLevel level : sim::simd_levels()) {
      std::vector<std::uint8_t> out = lanes_of(isa::f32, a);
      sim::binary_loop(op, isa::f32, level)(out.data(), lanes_of(isa::f32, b).data(), out.data(),
                                            a.size());
      CAPTURE(sim::to_string(level));
      CHECK(out == lanes_of(isa::f32, wanted));
    }
  }
}

TEST_CASE("roots and reciprocals of f64") {
  std::vector<std::uint64_t> codes{
      0, std::uint64_t{1} << 63, 1, 0x7ff0000000000000, 0x7ff0000000000001, 0xfff0000000000000};
  for (const std::uint64_t word : words()) codes.push_back(word << 32 | (word * 2654435761U >> 3));
  check(UnaryOp::sqrt, isa::f64, codes);
  check(UnaryOp::rcp, isa::f64, codes);
}

TEST_CASE("1 / sqrt(x) is rounded correctly for every significand and both parities") {
  const auto loop = sim::unary_loop(UnaryOp::rsqrt, isa::f32);
  std::vector<float> x(1 << 16), y(x.size());
  std::uint64_t wrong = 0;
  for (std::uint32_t begin = 0x3f800000; begin < 0x40800000; begin += 1 << 16) {
    for (std::uint32_t i = 0; i < x.size(); ++i) x[i] = std::bit_cast<float>(begin + i);
    loop(reinterpret_cast<const std::uint8_t*>(x.data()), reinterpret_cast<std::uint8_t*>(y.data()),
         x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      wrong += y[i] != static_cast<float>(1.0 / std::sqrt(static_cast<double>(x[i])));
    }
  }
  CHECK(wrong == 0);
}
