// Element types of tensors.
//
//   i1..i8 i16 i32 i64      two's complement integers          (i1 holds 0 and -1)
//   u1..u8 u16 u32 u64      unsigned integers
//   f16 bf16 tf32 f32 f64   IEEE-like floats; tf32 lives in 32 bits whose low 13 mean nothing
//   f{n}e{E}m{M}            3 <= n = 1+E+M <= 8; bias 2^(E-1)-1, exponent field 0 is subnormal;
//                           f8e4m3 has NaN (S.1111.111) and no Inf, f8e5m2 is IEEE-like,
//                           all others are finite only
//   f8e8m0 f7e4m3u          scales, n = E+M: no sign, no Inf, the code of all ones is NaN.
//                           f8e8m0 is 2^(code - 127), without a zero; f7e4m3u has the values
//                           of f8e4m3 without a sign
//   b1..b8                  bipolar integers: every bit is -1 or +1, value = sum (2 b_i - 1) 2^i
//                           (APT-LLM)
//
// The paper: sections 6.1 and 7. Elements narrower than a byte are stored densely (bits.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tilevm::isa {

enum class TypeKind : std::uint8_t { signed_int, unsigned_int, floating, bipolar };

/// Which codes with the highest exponent are not numbers.
enum class Specials : std::uint8_t {
  ieee,    ///< highest exponent: Inf and NaN
  nan,     ///< only the all-ones code is NaN, no Inf (f8e4m3, f8e8m0, f7e4m3u)
  finite,  ///< every code is a number
};

/// An element type; a small value, equal if and only if the types are.
struct DType {
  TypeKind kind = TypeKind::signed_int;
  std::uint8_t bits = 32;          ///< width in registers and memory
  std::uint8_t exponent_bits = 0;  ///< floats only
  std::uint8_t mantissa_bits = 0;  ///< floats only, without the hidden bit

  friend bool operator==(const DType&, const DType&) = default;

  [[nodiscard]] constexpr bool is_float() const { return kind == TypeKind::floating; }
  [[nodiscard]] constexpr bool is_integer() const {
    return kind == TypeKind::signed_int || kind == TypeKind::unsigned_int;
  }
  [[nodiscard]] constexpr bool is_signed_int() const { return kind == TypeKind::signed_int; }
  [[nodiscard]] constexpr bool is_bipolar() const { return kind == TypeKind::bipolar; }
  [[nodiscard]] constexpr bool is_subbyte() const { return bits < 8; }
  /// Whether elements fill whole bytes: 8, 16, 32 or 64 bits.
  [[nodiscard]] constexpr bool is_byte_sized() const { return bits % 8 == 0; }

  /// Exponent bias of a float: 2^(E-1) - 1.
  [[nodiscard]] constexpr int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  /// For a float: whether a code has a sign bit, the highest one.
  [[nodiscard]] constexpr bool has_sign() const { return bits > exponent_bits + mantissa_bits; }
  /// Whether the type is a float without one.
  [[nodiscard]] constexpr bool is_unsigned_float() const { return is_float() && !has_sign(); }
  /// For a float: whether exponent field 0 holds zero and subnormals. Without a mantissa it is a
  /// power of two as all others are.
  [[nodiscard]] constexpr bool has_zero() const { return mantissa_bits > 0; }
  /// The exponent of the least normal number of a float.
  [[nodiscard]] constexpr int least_exponent() const { return (has_zero() ? 1 : 0) - bias(); }
  /// Bits below the significand that mean nothing: 13 of tf32.
  [[nodiscard]] constexpr unsigned unused_bits() const {
    return is_float() && has_sign() ? bits - 1U - exponent_bits - mantissa_bits : 0U;
  }
  [[nodiscard]] Specials specials() const;
};

inline constexpr DType i8{TypeKind::signed_int, 8, 0, 0}, i16{TypeKind::signed_int, 16, 0, 0},
    i32{TypeKind::signed_int, 32, 0, 0}, i64{TypeKind::signed_int, 64, 0, 0},
    u1{TypeKind::unsigned_int, 1, 0, 0}, u8{TypeKind::unsigned_int, 8, 0, 0},
    u16{TypeKind::unsigned_int, 16, 0, 0}, u32{TypeKind::unsigned_int, 32, 0, 0},
    u64{TypeKind::unsigned_int, 64, 0, 0}, f16{TypeKind::floating, 16, 5, 10},
    bf16{TypeKind::floating, 16, 8, 7}, tf32{TypeKind::floating, 32, 8, 10},
    f32{TypeKind::floating, 32, 8, 23}, f64{TypeKind::floating, 64, 11, 52},
    f8e4m3{TypeKind::floating, 8, 4, 3}, f8e5m2{TypeKind::floating, 8, 5, 2},
    f8e8m0{TypeKind::floating, 8, 8, 0}, f7e4m3u{TypeKind::floating, 7, 4, 3};

/// i{n} / u{n} / b{n}; n as listed above.
[[nodiscard]] constexpr DType signed_int(int n) {
  return {TypeKind::signed_int, static_cast<std::uint8_t>(n), 0, 0};
}
[[nodiscard]] constexpr DType unsigned_int(int n) {
  return {TypeKind::unsigned_int, static_cast<std::uint8_t>(n), 0, 0};
}
[[nodiscard]] constexpr DType bipolar(int n) {
  return {TypeKind::bipolar, static_cast<std::uint8_t>(n), 0, 0};
}
/// f{1+e+m}e{e}m{m}.
[[nodiscard]] constexpr DType small_float(int e, int m) {
  return {TypeKind::floating, static_cast<std::uint8_t>(1 + e + m), static_cast<std::uint8_t>(e),
          static_cast<std::uint8_t>(m)};
}

/// Reads a type's name, short (`i6`, `bf16`, `f6e3m2`) or long (`int6`, `bfloat16`, `float6_e3m2`,
/// `tfloat32`, `bipolar2`); nothing if it is none.
[[nodiscard]] std::optional<DType> parse_dtype(std::string_view name);

/// The short name. parse_dtype(to_string(t)) == t.
[[nodiscard]] std::string to_string(const DType& type);

/// Every type there is, in a fixed order.
[[nodiscard]] const std::vector<DType>& all_dtypes();

}  // namespace tilevm::isa

template <>
struct std::hash<tilevm::isa::DType> {
  std::size_t operator()(const tilevm::isa::DType& t) const noexcept {
    return (static_cast<std::size_t>(t.kind) << 24) | (static_cast<std::size_t>(t.bits) << 16) |
           (static_cast<std::size_t>(t.exponent_bits) << 8) | t.mantissa_bits;
  }
};
