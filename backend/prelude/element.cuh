// The machine, part 3, in plain C++: element types and casts.

namespace tv {

// ---- Element types ----------------------------------------------------------------------------

enum Kind { signed_int, unsigned_int, floating, bipolar };
/// Which codes with the highest exponent are not numbers: Inf and NaN, only all ones (NaN), none.
enum Special { ieee, nan_only, all_finite };

template <Kind the_kind, int n, int e = 0, int m = 0, Special the_special = ieee>
struct Type {
  static constexpr Kind kind = the_kind;
  static constexpr int bits = n, exponent = e, mantissa = m;
  static constexpr Special special = the_special;
  static constexpr bool is_int = kind == signed_int || kind == unsigned_int;
  static constexpr int bias = e > 0 ? (1 << (e > 0 ? e - 1 : 0)) - 1 : 0;
  /// For a float: a sign, and zero and subnormals with exponent field 0 (not f8e8m0).
  static constexpr bool has_sign = n > e + m, has_zero = m > 0;
  static constexpr int least_exponent = (has_zero ? 1 : 0) - bias;
  /// Bits below the mantissa that mean nothing (tf32).
  static constexpr int unused = e > 0 && has_sign ? n - 1 - e - m : 0;
  /// Every value is a value of f32.
  static constexpr bool in_f32 = is_int ? n <= 16 : kind == bipolar || (e <= 8 && m <= 23);
};
template <int n>
using Int = Type<signed_int, n>;
template <int n>
using Uint = Type<unsigned_int, n>;
template <int n>
using Bipolar = Type<bipolar, n>;
template <int n, int e, int m, Special special = ieee>
using Float = Type<floating, n, e, m, special>;
typedef Float<32, 8, 23> Single;

// Codes of a float without its sign.
template <class T>
TV_FN constexpr u64 all_ones() {
  return low_mask<(T::exponent + T::mantissa)>();
}
template <class T>
TV_FN constexpr u64 infinity_code() {
  return static_cast<u64>(low_mask<T::exponent>()) << T::mantissa;
}
template <class T>
TV_FN constexpr u64 largest_code() {
  return T::special == ieee       ? infinity_code<T>() - 1
         : T::special == nan_only ? all_ones<T>() - 1
                                  : all_ones<T>();
}

/// A code as a signed integer.
template <class T>
TV_FN i64 to_integer(Code<T::bits> code) {
  if constexpr (T::kind == signed_int) {
    return static_cast<i64>(static_cast<u64>(code) << (64 - T::bits)) >> (64 - T::bits);
  } else if constexpr (T::kind == bipolar) {
    return 2 * static_cast<i64>(code) - static_cast<i64>(low_mask<T::bits>());
  } else {
    return static_cast<i64>(code);
  }
}

// ---- Exact values -----------------------------------------------------------------------------

/// (-1)^negative * significand * 2^exponent, or Inf, or NaN.
struct Number {
  enum Class { finite, infinite, nan };
  Class cls;
  bool negative;
  u64 significand;
  i32 exponent;
};

template <class T>
TV_FN Number decode_float(Code<T::bits> code) {
  const bool negative = T::has_sign && (code >> (T::bits - 1) & 1) != 0;
  const u64 magnitude = static_cast<u64>(code >> T::unused) & all_ones<T>();
  if (T::special == ieee && magnitude >= infinity_code<T>()) {
    return {magnitude == infinity_code<T>() ? Number::infinite : Number::nan, negative, 0, 0};
  }
  if (T::special == nan_only && magnitude == all_ones<T>()) {
    return {Number::nan, negative, 0, 0};
  }
  const u64 fraction = magnitude & low_mask<T::mantissa>();
  const i32 field = static_cast<i32>(magnitude >> T::mantissa);
  const u64 hidden = field > 0 || !T::has_zero ? u64{1} << T::mantissa : 0;
  return {Number::finite, negative, fraction | hidden,
          (field > 0 ? field - T::bias : T::least_exponent) - T::mantissa};
}

template <class T>
TV_FN Number decode(Code<T::bits> code) {
  if constexpr (T::kind == floating) {
    return decode_float<T>(code);
  } else if constexpr (T::kind == unsigned_int) {
    return {Number::finite, false, code, 0};
  } else {
    const i64 value = to_integer<T>(code);
    const u64 bits = static_cast<u64>(value);
    return {Number::finite, value < 0, value < 0 ? 0 - bits : bits, 0};
  }
}

/// significand / 2^shift as an integer; tf32 rounds ties away, all others to even.
template <class T>
TV_FN u64 round_shift(u64 significand, i32 shift) {
  if (shift <= 0) return significand << -shift;
  if (shift > 64) return 0;
  const u64 floor = shift == 64 ? 0 : significand >> shift;
  const u64 half = u64{1} << (shift - 1);
  const u64 rest = significand & (half | (half - 1));
  const bool tie_up = T::unused > 0 || (floor & 1) != 0;
  return floor + (rest > half || (rest == half && tie_up) ? 1 : 0);
}

template <class T>
TV_FN u64 encode_magnitude(const Number& x) {
  constexpr bool saturates = T::bits <= 8;
  if (x.cls == Number::nan) return all_ones<T>();
  if (x.cls == Number::infinite) return saturates ? largest_code<T>() : infinity_code<T>();
  if (x.significand == 0) return 0;
  constexpr i32 smallest = T::least_exponent;
  const i32 top = x.exponent + 63 - leading_zeros(x.significand);
  const i32 normal = top > smallest ? top : smallest;
  const u64 rounded = round_shift<T>(x.significand, normal - T::mantissa - x.exponent);
  // The hidden bit of `rounded` adds one to the exponent field, and so does a carry. The least
  // number without a zero has field 0.
  const u64 field = static_cast<u64>(normal - smallest);
  const u64 code =
      T::has_zero ? (field << T::mantissa) + rounded : field + (rounded > 1 ? rounded - 1 : 0);
  if (code <= largest_code<T>()) return code;
  return saturates ? largest_code<T>() : infinity_code<T>();
}

template <class T>
TV_FN Code<T::bits> encode_float(const Number& x) {
  const bool negative = x.negative && x.cls != Number::nan;
  if (!T::has_sign && negative) return 0;
  const u64 code = encode_magnitude<T>(x) << T::unused;
  return static_cast<Code<T::bits>>(code | static_cast<u64>(negative) << (T::bits - 1));
}

/// The integer part of the magnitude, at most `most`.
TV_FN u64 integer_part(const Number& x, u64 most) {
  if (x.cls == Number::infinite) return most;
  if (x.significand == 0 || x.exponent <= -64) return 0;
  if (x.exponent > 0 && x.exponent > leading_zeros(x.significand)) return most;
  const u64 value = x.exponent < 0 ? x.significand >> -x.exponent : x.significand << x.exponent;
  return value < most ? value : most;
}

template <class T>
TV_FN Code<T::bits> encode_int(const Number& x) {
  if (x.cls == Number::nan) return 0;
  const u64 mask = low_mask<T::bits>();
  if (T::kind == unsigned_int) {
    return x.negative ? 0 : static_cast<Code<T::bits>>(integer_part(x, mask));
  }
  const u64 magnitude = integer_part(x, x.negative ? mask / 2 + 1 : mask / 2);
  return static_cast<Code<T::bits>>((x.negative ? 0 - magnitude : magnitude) & mask);
}

/// The nearest odd number, ties upward, saturating.
template <class T>
TV_FN Code<T::bits> encode_bipolar(const Number& x) {
  constexpr i64 end = i64{1} << T::bits;
  if (x.cls == Number::nan) return static_cast<Code<T::bits>>(end / 2);
  const i64 whole = static_cast<i64>(integer_part(x, static_cast<u64>(end)));
  const bool exact = x.cls == Number::infinite || x.exponent >= 0 || whole == end ||
                     (x.exponent > -64 && x.significand << (64 + x.exponent) == 0) ||
                     x.significand == 0;
  const i64 floor = x.negative ? (exact ? -whole : -whole - 1) : whole;
  const i64 code = floor < -end ? 0 : (floor + end) / 2;
  return static_cast<Code<T::bits>>(code < end ? code : end - 1);
}

template <class T>
TV_FN Code<T::bits> encode(const Number& x) {
  if constexpr (T::kind == floating) return encode_float<T>(x);
  if constexpr (T::is_int) return encode_int<T>(x);
  if constexpr (T::kind == bipolar) return encode_bipolar<T>(x);
}

/// Cast by its definition, for every pair of types.
template <class From, class To>
TV_FN Code<To::bits> cast_exact(Code<From::bits> code) {
  if constexpr (From::is_int && To::is_int) {
    return static_cast<Code<To::bits>>(to_integer<From>(code)) & low_mask<To::bits>();
  } else {
    return encode<To>(decode<From>(code));
  }
}

// ---- Conversions through f32 ------------------------------------------------------------------
// Where f32 holds every value of the source type, the way through f32 rounds once, too.

TV_FN bool f32_is_nan(u32 a) { return f32_value(a) != f32_value(a); }
TV_FN u32 f32_canonical(u32 a) { return f32_is_nan(a) ? 0x7fffffffu : a; }

/// A float of 8 bits or fewer: its fields in their place in f32, then times a power of two.
template <class T>
TV_FN u32 f32_from_small(u32 code) {
  const u32 magnitude = code & static_cast<u32>(all_ones<T>());
  const u32 sign = T::has_sign ? (code >> (T::bits - 1) & 1u) << 31 : 0u;
  if constexpr (!T::has_zero) {
    const u32 power = magnitude == 0u ? 0x00400000u : magnitude << 23;
    return magnitude == all_ones<T>() ? 0x7fffffffu : power;
  }
  const u32 scale = static_cast<u32>(254 - T::bias) << 23;  // 2^(127 - bias)
  u32 value = f32_mul(magnitude << (23 - T::mantissa), scale);
  if (T::special == ieee && magnitude >= infinity_code<T>()) {
    value = magnitude == infinity_code<T>() ? 0x7f800000u : 0x7fffffffu;
  }
  if (T::special == nan_only && magnitude == all_ones<T>()) value = 0x7fffffffu;
  return sign | value;
}

/// The value as f32; T::in_f32.
template <class T>
TV_FN u32 to_f32(Code<T::bits> code) {
  if constexpr (T::kind == floating) {
    if constexpr (T::bits <= 8) return f32_from_small<T>(code);
    if constexpr (T::exponent == 5 && T::bits == 16) return f32_from_f16(code);
    if constexpr (T::exponent == 8 && T::bits == 16) return code << 16;
    if constexpr (T::bits == 32) return code >> T::unused << T::unused;
  } else {
    return f32_from_i32(static_cast<i32>(to_integer<T>(code)));
  }
}

template <class T>
TV_FN constexpr bool from_f32_is_fast() {
  return T::kind == floating ? T::bits == 16 || (T::bits == 32 && T::unused == 0)
                             : T::is_int && T::bits <= 32;
}

/// The code of an f32 value.
template <class T>
TV_FN Code<T::bits> from_f32(u32 value) {
  if constexpr (!from_f32_is_fast<T>()) {
    return encode<T>(decode<Single>(value));
  } else if constexpr (T::kind == floating) {
    if constexpr (T::bits == 32) return f32_is_nan(value) ? 0x7fffffffu : value;
    if constexpr (T::bits == 16 && T::exponent == 5) return f16_from_f32(value);
    if constexpr (T::bits == 16 && T::exponent == 8) return bf16_from_f32(value);
  } else if constexpr (T::kind == unsigned_int) {
    const u32 integer = u32_from_f32(value);
    return integer < low_mask<T::bits>() ? integer : low_mask<T::bits>();
  } else {
    constexpr i32 most = static_cast<i32>(low_mask<T::bits>() / 2);
    const i32 integer = i32_from_f32(value);
    const i32 clamped = integer > most ? most : integer < -most - 1 ? -most - 1 : integer;
    return static_cast<u32>(clamped) & low_mask<T::bits>();
  }
}

template <class From, class To>
TV_FN Code<To::bits> cast(Code<From::bits> code) {
  constexpr bool f32_from_half = From::kind == floating && From::bits == 16 &&
                                 From::exponent == 5 && To::kind == floating && To::bits == 32 &&
                                 To::unused == 0;
  constexpr bool f32_from_word = !From::in_f32 && From::is_int && From::bits == 32 &&
                                 To::kind == floating && To::bits == 32 && To::unused == 0;
  if constexpr (From::is_int && To::is_int) {
    return cast_exact<From, To>(code);
  } else if constexpr (f32_from_half) {
    return f32_from_f16(code);  // a NaN is canonical already
  } else if constexpr (From::in_f32) {
    return from_f32<To>(to_f32<From>(code));
  } else if constexpr (f32_from_word) {
    return From::kind == signed_int ? f32_from_i32(static_cast<i32>(code)) : f32_from_u32(code);
  } else {
    return cast_exact<From, To>(code);
  }
}

}  // namespace tv
