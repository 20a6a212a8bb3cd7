// One element's value, exactly, and the rules that convert between types.
//
// Every code of every type is a Number; encode and cast are defined on Numbers alone, so that each
// rule of docs/reference/semantics.md is written once. Fast paths elsewhere are proved equal to
// these.
#pragma once

#include <cstdint>
#include <string>

#include "isa/type/dtype.h"

namespace tilevm::isa {

/// (-1)^negative * significand * 2^exponent, or Inf, or NaN. Zero has significand 0 (and a sign).
struct Number {
  enum class Class : std::uint8_t { finite, infinity, nan };
  Class cls = Class::finite;
  bool negative = false;
  std::uint64_t significand = 0;
  int exponent = 0;

  [[nodiscard]] bool is_zero() const { return cls == Class::finite && significand == 0; }
  [[nodiscard]] bool is_nan() const { return cls == Class::nan; }
  [[nodiscard]] bool is_inf() const { return cls == Class::infinity; }
};

/// The value of a code; `bits` is the code in the low type.bits bits (higher bits are ignored).
/// tf32: the low 13 bits are ignored.
[[nodiscard]] Number decode(const DType& type, std::uint64_t bits);

/// The code that Cast gives for a value (docs/reference/semantics.md, Cast):
///   to integers: truncate toward zero, saturate, NaN -> 0
///   to f16 bf16 f32 f64: nearest even, overflow to Inf, NaN canonical (0x7fff, 0x7fffffff,
///       0x7fffffffffffffff)
///   to tf32: nearest, ties away, overflow to Inf; NaN -> 0x7fffe000
///   to floats of 8 bits or fewer: nearest even once; beyond the largest finite, and Inf, saturate;
///       NaN -> the type's NaN (f8e4m3, f8e5m2, f7e4m3u: 0x7f, f8e8m0: 0xff) or +max where it has
///       none; zero keeps its sign. Without a sign, what is below the least value becomes it. A
///       significand of f8e8m0 is 1, which is odd: a tie goes up
///   to bipolar: the nearest representable (odd values of magnitude < 2^n; ties toward +),
///       saturating; NaN -> the code of +1
[[nodiscard]] std::uint64_t encode(const DType& type, const Number& value);

/// Cast: integer to integer wraps (two's complement of the exact value); everything else is
/// encode(to, decode(from, bits)). bf16 -> f32 and every other float widening of a NaN gives the
/// canonical NaN.
[[nodiscard]] std::uint64_t cast(const DType& from, const DType& to, std::uint64_t bits);

/// Whether the value is representable exactly: decode(encode(value)) == value, sign of zero aside.
[[nodiscard]] bool representable(const DType& type, const Number& value);

/// The exact Number of host values.
[[nodiscard]] Number number_from(double value);
[[nodiscard]] Number number_from(std::int64_t value);
[[nodiscard]] Number number_from(std::uint64_t value);

/// The nearest double (exact for every type but i64/u64 beyond 2^53).
[[nodiscard]] double to_double(const Number& value);

/// Shortest text that reads back to the same code: "-7", "0.5", "inf", "nan".
[[nodiscard]] std::string format_value(const DType& type, std::uint64_t bits);

/// Canonical NaN code of a float type that has one.
[[nodiscard]] std::uint64_t canonical_nan(const DType& type);

/// The codes of the largest and the smallest (most negative) finite value.
[[nodiscard]] std::uint64_t max_code(const DType& type);
[[nodiscard]] std::uint64_t lowest_code(const DType& type);

}  // namespace tilevm::isa
