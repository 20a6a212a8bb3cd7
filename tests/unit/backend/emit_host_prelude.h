// The device prelude's functions on the host, so that the portable part of emitted programs can be
// tested without a GPU. What hardware does in one instruction is modelled by isa.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "isa/type/arith.h"
#include "isa/type/number.h"

#define TV_FN inline
#define TV_LONG_FN inline
#define TV_UNROLL
#define TV_UNROLL_BY(n)

namespace tv {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = unsigned long long;
using i32 = std::int32_t;
using i64 = long long;

inline u64 host_block = 0;
inline u32 host_thread = 0;
inline u64 block_number() { return host_block; }
inline u32 thread() { return host_thread; }

inline int faults = 0;
inline void fault() { ++faults; }

template <class T>
T load_as(const u8* address) {
  T value;
  std::memcpy(&value, address, sizeof value);
  return value;
}
template <class T>
void store_as(u8* address, T value) {
  std::memcpy(address, &value, sizeof value);
}
template <int bytes>
void load_words(u32* words, const u8* address) {
  std::memcpy(words, address, bytes);
}
template <int bytes>
void store_words(u8* address, const u32* words) {
  std::memcpy(address, words, bytes);
}
inline void store_bits(u8* address, u32 mask, u32 value) {
  store_as<u32>(address, (load_as<u32>(address) & ~mask) | value);
}

inline void count(u8* address) { store_as<u64>(address, load_as<u64>(address) + 1); }
inline u64 add_for_block(u8* address, u64 n) {
  const u64 before = load_as<u64>(address);
  store_as<u64>(address, before + n);
  return before;
}

namespace host {
using tilevm::isa::BinaryOp;
inline u32 f32(BinaryOp op, u32 a, u32 b) {
  return static_cast<u32>(tilevm::isa::apply(op, tilevm::isa::f32, a, b));
}
inline u64 f64(BinaryOp op, u64 a, u64 b) {
  const double x = std::bit_cast<double>(a), y = std::bit_cast<double>(b);
  switch (op) {
    case BinaryOp::add:
      return std::bit_cast<u64>(x + y);
    case BinaryOp::sub:
      return std::bit_cast<u64>(x - y);
    case BinaryOp::mul:
      return std::bit_cast<u64>(x * y);
    default:
      return std::bit_cast<u64>(x / y);
  }
}
inline u32 convert(const tilevm::isa::DType& from, const tilevm::isa::DType& to, u32 a) {
  return static_cast<u32>(tilevm::isa::cast(from, to, a));
}
}  // namespace host

inline u32 f32_add(u32 a, u32 b) { return host::f32(host::BinaryOp::add, a, b); }
inline u32 f32_sub(u32 a, u32 b) { return host::f32(host::BinaryOp::sub, a, b); }
inline u32 f32_mul(u32 a, u32 b) { return host::f32(host::BinaryOp::mul, a, b); }
inline u32 f32_div(u32 a, u32 b) {
  const float x = std::bit_cast<float>(a) / std::bit_cast<float>(b);
  return x != x ? 0x7fffffffU : std::bit_cast<u32>(x);
}
inline u32 f32_fma(u32 a, u32 b, u32 c) {
  return std::bit_cast<u32>(
      std::fma(std::bit_cast<float>(a), std::bit_cast<float>(b), std::bit_cast<float>(c)));
}
inline u32 f32_sqrt(u32 a) { return std::bit_cast<u32>(std::sqrt(std::bit_cast<float>(a))); }
inline u64 f64_sqrt(u64 a) { return std::bit_cast<u64>(std::sqrt(std::bit_cast<double>(a))); }
inline u32 f32_min(u32 a, u32 b) { return host::f32(host::BinaryOp::min, a, b); }
inline u32 f32_max(u32 a, u32 b) { return host::f32(host::BinaryOp::max, a, b); }
inline u64 f64_add(u64 a, u64 b) { return host::f64(host::BinaryOp::add, a, b); }
inline u64 f64_sub(u64 a, u64 b) { return host::f64(host::BinaryOp::sub, a, b); }
inline u64 f64_mul(u64 a, u64 b) { return host::f64(host::BinaryOp::mul, a, b); }
inline u64 f64_div(u64 a, u64 b) { return host::f64(host::BinaryOp::div, a, b); }
inline u64 f64_fma(u64 a, u64 b, u64 c) {
  return std::bit_cast<u64>(
      std::fma(std::bit_cast<double>(a), std::bit_cast<double>(b), std::bit_cast<double>(c)));
}
namespace host {
/// a * b + c with the sum rounded to a double first, which is harmless for the operands of tests.
inline u32 small_fma(const tilevm::isa::DType& type, u32 a, u32 b, u32 c) {
  const auto value = [&](u32 code) {
    return tilevm::isa::to_double(tilevm::isa::decode(type, code));
  };
  return static_cast<u32>(
      tilevm::isa::encode(type, tilevm::isa::number_from(std::fma(value(a), value(b), value(c)))));
}
}  // namespace host
inline u32 f16_fma(u32 a, u32 b, u32 c) { return host::small_fma(tilevm::isa::f16, a, b, c); }
inline u32 bf16_fma(u32 a, u32 b, u32 c) { return host::small_fma(tilevm::isa::bf16, a, b, c); }
namespace host {
template <class F>
u32 in_halves(F f, u32 a, u32 b, u32 c = 0) {
  return f(a & 0xffff, b & 0xffff, c & 0xffff) | f(a >> 16, b >> 16, c >> 16) << 16;
}
inline u32 half(BinaryOp op, u32 a, u32 b) {
  return in_halves(
      [op](u32 x, u32 y, u32) {
        return static_cast<u32>(tilevm::isa::apply(op, tilevm::isa::f16, x, y));
      },
      a, b);
}
}  // namespace host
inline u32 f16x2_fma(u32 a, u32 b, u32 c) { return host::in_halves(f16_fma, a, b, c); }
inline u32 bf16x2_fma(u32 a, u32 b, u32 c) { return host::in_halves(bf16_fma, a, b, c); }
inline u32 f16x2_add(u32 a, u32 b) { return host::half(host::BinaryOp::add, a, b); }
inline u32 f16x2_sub(u32 a, u32 b) { return host::half(host::BinaryOp::sub, a, b); }
inline u32 f16x2_mul(u32 a, u32 b) { return host::half(host::BinaryOp::mul, a, b); }
inline u32 and_xor(u32 a, u32 mask, u32 b) { return (a & mask) ^ b; }
inline u32 rotate_left(u32 a, u32 n) { return std::rotl(a, static_cast<int>(n)); }
inline u32 funnel_right(u32 low, u32 high, u32 n) {
  return static_cast<u32>((static_cast<u64>(high) << 32 | low) >> n);
}
inline u32 half_twice(u32 a, int half) { return (a >> (16 * half) & 0xffffU) * 0x10001U; }
inline u32 permute_bytes(u32 low, u32 high, u32 selector) {
  const u64 bytes = static_cast<u64>(high) << 32 | low;
  u32 result = 0;
  for (u32 i = 0; i < 4; ++i) {
    result |= static_cast<u32>(bytes >> (8 * (selector >> (4 * i) & 7)) & 0xff) << (8 * i);
  }
  return result;
}
inline u32 f16_from_f32(u32 a) { return host::convert(tilevm::isa::f32, tilevm::isa::f16, a); }
inline u32 bf16_from_f32(u32 a) { return host::convert(tilevm::isa::f32, tilevm::isa::bf16, a); }
inline u32 f16x2_from_f32(u32 low, u32 high) {
  return f16_from_f32(low) | f16_from_f32(high) << 16;
}
inline u32 bf16x2_from_f32(u32 low, u32 high) {
  return bf16_from_f32(low) | bf16_from_f32(high) << 16;
}
inline u32 f16x2_from_e4m3x2(u32 a) {
  const auto f16_from = [](u32 code) {
    return host::convert(tilevm::isa::f8e4m3, tilevm::isa::f16, code & 0xff);
  };
  return f16_from(a) | f16_from(a >> 8) << 16;
}
inline u32 f32_from_f16(u32 a) { return host::convert(tilevm::isa::f16, tilevm::isa::f32, a); }
inline u32 f32_from_i32(i32 a) { return std::bit_cast<u32>(static_cast<float>(a)); }
inline u32 f32_from_u32(u32 a) { return std::bit_cast<u32>(static_cast<float>(a)); }
inline i32 i32_from_f32(u32 a) {
  return static_cast<i32>(host::convert(tilevm::isa::f32, tilevm::isa::i32, a));
}
inline u32 u32_from_f32(u32 a) { return host::convert(tilevm::isa::f32, tilevm::isa::u32, a); }
inline i32 leading_zeros(u64 a) { return std::countl_zero(a); }
inline u32 f32_bits(float a) { return std::bit_cast<u32>(a); }
inline float f32_value(u32 a) { return std::bit_cast<float>(a); }

}  // namespace tv

// In the order of the emitted text.
// clang-format off
#include "backend/prelude/memory.cuh"
#include "backend/prelude/element.cuh"
#include "backend/prelude/arithmetic.cuh"
#include "isa/type/function_sequences.h"
#include "backend/prelude/function.cuh"
#include "backend/prelude/dot.cuh"
#include "backend/prelude/scalar.cuh"
#include "backend/prelude/print.cuh"
// clang-format on
