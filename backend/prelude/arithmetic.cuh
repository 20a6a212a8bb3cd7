// The machine, part 4, in plain C++: arithmetic on elements and on a thread's share of a tile.

namespace tv {

// ---- Division ----------------------------------------------------------------------------------
// Of integers: quotients truncate, the one that overflows wraps, a divisor of zero is a fault.

template <class T>
TV_FN T div(T a, T b) {
  if (b == T{0}) {
    fault();
    return T{0};
  }
  if (T(-1) < T{0} && b == T(-1)) return static_cast<T>(u64{0} - static_cast<u64>(a));
  return a / b;
}

template <class T>
TV_FN T mod(T a, T b) {
  if (b == T{0}) {
    fault();
    return T{0};
  }
  if (T(-1) < T{0} && b == T(-1)) return T{0};
  return a % b;
}

template <bool is_signed, bool wide>
struct StandardOf {
  typedef u32 type;
};
template <>
struct StandardOf<false, true> {
  typedef u64 type;
};
template <>
struct StandardOf<true, false> {
  typedef i32 type;
};
template <>
struct StandardOf<true, true> {
  typedef i64 type;
};
/// An integer code as a number of the type that computes for it: i32, u32, i64 or u64.
template <class T>
TV_FN auto standard(Code<T::bits> code) {
  typedef typename StandardOf<T::kind == signed_int, (T::bits > 32)>::type Standard;
  return static_cast<Standard>(to_integer<T>(code));
}

/// |a| modulo |b| for finite a and b, b not zero: an integer times 2^(the lesser exponent), found
/// by long division of the significands, as many bits a step as 64 hold.
TV_FN Number long_division(const Number& a, const Number& b) {
  const i32 room = leading_zeros(b.significand);
  i32 gap = a.exponent - b.exponent;
  if (gap < 0) {
    const bool smaller = -gap > room;  // a is less than b: fewer bits than b << -gap has
    const u64 rest = smaller ? a.significand : a.significand % (b.significand << -gap);
    return {Number::finite, a.negative, rest, a.exponent};
  }
  u64 rest = a.significand % b.significand;
  while (gap > 0 && rest != 0) {
    const i32 step = gap < room ? gap : room;
    rest = (rest << step) % b.significand;
    gap -= step;
  }
  return {Number::finite, a.negative, rest, b.exponent};
}

/// a - b * trunc(a / b), exactly.
template <class T>
TV_FN Code<T::bits> float_mod(Code<T::bits> a, Code<T::bits> b) {
  const Number x = decode_float<T>(a), y = decode_float<T>(b);
  if (x.cls != Number::finite || y.cls == Number::nan) {
    return encode_float<T>({Number::nan, false, 0, 0});
  }
  if (y.cls == Number::infinite) return a;
  if (y.significand == 0) return encode_float<T>({Number::nan, false, 0, 0});
  return encode_float<T>(long_division(x, y));
}
TV_LONG_FN u32 f32_mod(u32 a, u32 b) { return float_mod<Single>(a, b); }
TV_LONG_FN u64 f64_mod(u64 a, u64 b) { return float_mod<Float<64, 11, 52>>(a, b); }

// ---- Arithmetic on elements -------------------------------------------------------------------

/// An operation that is one of i32, u32, i64, u64, f32 and f64, or one on the codes of any type.
struct OnValues {
  static constexpr bool on_codes = false;
  /// Whether f16 and bf16 have an instruction for both halves of a word that rounds once: as f32
  /// would, rounded again, since f32 has more than twice their bits.
  static constexpr bool on_halves = false;
  /// Whether each bit is for itself, so that words of packed elements are as good as elements.
  static constexpr bool on_bits = false;
};
struct OnHalves : OnValues {
  static constexpr bool on_halves = true;
};
struct OnCodes : OnValues {
  static constexpr bool on_codes = true;
};
struct OnBits : OnCodes {
  static constexpr bool on_bits = true;
};

struct Add : OnHalves {
  template <class T>
  static TV_FN Code<T::bits> integer(Code<T::bits> a, Code<T::bits> b) {
    return a + b;
  }
  static TV_FN u32 f32(u32 a, u32 b) { return f32_add(a, b); }
  static TV_FN u64 f64(u64 a, u64 b) { return f64_add(a, b); }
  static TV_FN u32 f16x2(u32 a, u32 b) { return f16x2_add(a, b); }
  static TV_FN u32 bf16x2(u32 a, u32 b) { return bf16x2_fma(a, 0x3f803f80u, b); }
};
struct Sub : OnHalves {
  template <class T>
  static TV_FN Code<T::bits> integer(Code<T::bits> a, Code<T::bits> b) {
    return a - b;
  }
  static TV_FN u32 f32(u32 a, u32 b) { return f32_sub(a, b); }
  static TV_FN u64 f64(u64 a, u64 b) { return f64_sub(a, b); }
  static TV_FN u32 f16x2(u32 a, u32 b) { return f16x2_sub(a, b); }
  static TV_FN u32 bf16x2(u32 a, u32 b) { return bf16x2_fma(b, 0xbf80bf80u, a); }
};
struct Mul : OnHalves {
  template <class T>
  static TV_FN Code<T::bits> integer(Code<T::bits> a, Code<T::bits> b) {
    return a * b;
  }
  static TV_FN u32 f32(u32 a, u32 b) { return f32_mul(a, b); }
  static TV_FN u64 f64(u64 a, u64 b) { return f64_mul(a, b); }
  static TV_FN u32 f16x2(u32 a, u32 b) { return f16x2_mul(a, b); }
  static TV_FN u32 bf16x2(u32 a, u32 b) { return bf16x2_fma(a, b, 0x80008000u); }
};
struct Div : OnValues {
  template <class T>
  static TV_FN Code<T::bits> integer(Code<T::bits> a, Code<T::bits> b) {
    return static_cast<Code<T::bits>>(div(standard<T>(a), standard<T>(b)));
  }
  static TV_FN u32 f32(u32 a, u32 b) { return f32_canonical(f32_div(a, b)); }
  static TV_FN u64 f64(u64 a, u64 b) { return f64_div(a, b); }
};
struct Mod : OnValues {
  template <class T>
  static TV_FN Code<T::bits> integer(Code<T::bits> a, Code<T::bits> b) {
    return static_cast<Code<T::bits>>(mod(standard<T>(a), standard<T>(b)));
  }
  static TV_FN u32 f32(u32 a, u32 b) { return f32_mod(a, b); }
  static TV_FN u64 f64(u64 a, u64 b) { return f64_mod(a, b); }
};

// ---- Order: min, max and comparisons ------------------------------------------------------------
// Codes as integers whose order is that of the values.

template <class T>
TV_FN bool is_nan(Code<T::bits> code) {
  if constexpr (T::kind != floating || T::special == all_finite) {
    return false;
  } else {
    const u64 magnitude = static_cast<u64>(code >> T::unused) & all_ones<T>();
    return magnitude > largest_code<T>() + (T::special == ieee ? 1 : 0);
  }
}

/// -0 is less than +0; or, with `zeros_alike`, equal to it.
template <class T, bool zeros_alike>
TV_FN i64 rank(Code<T::bits> code) {
  if constexpr (T::kind == floating) {
    const i64 magnitude = static_cast<i64>(static_cast<u64>(code >> T::unused) & all_ones<T>());
    const bool negative = T::has_sign && (code >> (T::bits - 1) & 1) != 0;
    return negative ? (zeros_alike ? -magnitude : -1 - magnitude) : magnitude;
  } else {
    return to_integer<T>(code);
  }
}

/// Whether a is less than b; neither is NaN.
template <class T, bool zeros_alike>
TV_FN bool less(Code<T::bits> a, Code<T::bits> b) {
  if constexpr (T::kind == unsigned_int) {
    return a < b;
  } else if constexpr (T::bits <= 32) {
    return static_cast<i32>(rank<T, zeros_alike>(a)) < static_cast<i32>(rank<T, zeros_alike>(b));
  } else {
    return rank<T, zeros_alike>(a) < rank<T, zeros_alike>(b);
  }
}

template <class T, bool largest>
TV_FN Code<T::bits> choose(Code<T::bits> a, Code<T::bits> b) {
  if constexpr (T::kind == floating && T::bits == 32 && T::unused == 0) {
    return f32_canonical(largest ? f32_max(a, b) : f32_min(a, b));
  } else {
    const bool a_nan = is_nan<T>(a), b_nan = is_nan<T>(b);
    if constexpr (T::kind == floating) {
      if (a_nan && b_nan) return static_cast<Code<T::bits>>(all_ones<T>()) << T::unused;
    }
    const bool first = b_nan || (!a_nan && less<T, false>(a, b) != largest);
    return (first ? a : b) >> T::unused << T::unused;
  }
}

enum Relation { equal, unequal, is_less, is_less_or_equal, is_greater, is_greater_or_equal };

template <Relation relation>
TV_FN u32 f32_compare(float a, float b) {
  if (relation == equal) return a == b;
  if (relation == unequal) return a != b;
  if (relation == is_less) return a < b;
  if (relation == is_greater) return a > b;
  return relation == is_less_or_equal ? a <= b : a >= b;
}

template <Relation relation, class T>
TV_FN u32 compare(Code<T::bits> a, Code<T::bits> b) {
  if constexpr (T::kind == floating && T::bits == 32 && T::unused == 0) {
    return f32_compare<relation>(f32_value(a), f32_value(b));
  }
  if (is_nan<T>(a) || is_nan<T>(b)) return relation == unequal;
  const bool below = less<T, true>(a, b), above = less<T, true>(b, a);
  if (relation == equal) return !below && !above;
  if (relation == unequal) return below || above;
  if (relation == is_less) return below;
  if (relation == is_greater) return above;
  return relation == is_less_or_equal ? !above : !below;
}

struct Min : OnCodes {
  template <class T>
  static TV_FN Code<T::bits> codes(Code<T::bits> a, Code<T::bits> b) {
    return choose<T, false>(a, b);
  }
};
struct Max : OnCodes {
  template <class T>
  static TV_FN Code<T::bits> codes(Code<T::bits> a, Code<T::bits> b) {
    return choose<T, true>(a, b);
  }
};

template <Relation relation>
struct Comparison : OnCodes {
  template <class T>
  static TV_FN u32 codes(Code<T::bits> a, Code<T::bits> b) {
    return compare<relation, T>(a, b);
  }
};
typedef Comparison<equal> Eq;
typedef Comparison<unequal> Ne;
typedef Comparison<is_less> Lt;
typedef Comparison<is_less_or_equal> Le;
typedef Comparison<is_greater> Gt;
typedef Comparison<is_greater_or_equal> Ge;

// ---- Bits of integers ---------------------------------------------------------------------------

struct And : OnBits {
  template <class T>
  static TV_FN Code<T::bits> codes(Code<T::bits> a, Code<T::bits> b) {
    return a & b;
  }
};
struct Or : OnBits {
  template <class T>
  static TV_FN Code<T::bits> codes(Code<T::bits> a, Code<T::bits> b) {
    return a | b;
  }
};
struct Xor : OnBits {
  template <class T>
  static TV_FN Code<T::bits> codes(Code<T::bits> a, Code<T::bits> b) {
    return a ^ b;
  }
};
/// Counts clamp at the width.
struct Shl : OnCodes {
  template <class T>
  static TV_FN Code<T::bits> codes(Code<T::bits> a, Code<T::bits> b) {
    return b < T::bits ? a << b & low_mask<T::bits>() : Code<T::bits>{0};
  }
};
struct Shr : OnCodes {
  template <class T>
  static TV_FN Code<T::bits> codes(Code<T::bits> a, Code<T::bits> b) {
    const Code<T::bits> last = T::bits - 1;
    if constexpr (T::kind == unsigned_int) {
      return b > last ? Code<T::bits>{0} : a >> b;
    } else {
      return static_cast<Code<T::bits>>(standard<T>(a) >> (b > last ? last : b)) &
             low_mask<T::bits>();
    }
  }
};

template <int n>
TV_FN Code<n> where(u32 condition, Code<n> a, Code<n> b) {
  return condition != 0 ? a : b;
}

// ---- Any operation ------------------------------------------------------------------------------

TV_FN u64 f64_canonical(u64 a) {
  return (a & 0x7fffffffffffffffull) > 0x7ff0000000000000ull ? 0x7fffffffffffffffull : a;
}

template <class Op, class T>
TV_FN auto binary(Code<T::bits> a, Code<T::bits> b) {
  if constexpr (Op::on_codes) {
    return Op::template codes<T>(a, b);
  } else if constexpr (T::is_int) {
    return Op::template integer<T>(a, b) & low_mask<T::bits>();
  } else if constexpr (T::kind == bipolar) {
    const u32 result = Op::template integer<Int<32>>(static_cast<u32>(to_integer<T>(a)),  //
                                                     static_cast<u32>(to_integer<T>(b)));
    return cast_exact<Int<32>, T>(result);
  } else if constexpr (T::bits == 64) {
    return f64_canonical(Op::f64(a, b));
  } else if constexpr (T::bits == 32 && T::unused == 0) {
    return Op::f32(a, b);
  } else {
    return from_f32<T>(Op::f32(to_f32<T>(a), to_f32<T>(b)));
  }
}

/// Op::on_halves, and T is f16 or bf16.
template <class Op, class T>
TV_FN u32 binary_halves(u32 a, u32 b) {
  return T::exponent == 5 ? Op::f16x2(a, b) : Op::bf16x2(a, b);
}

template <class T>
TV_FN Code<T::bits> negate(Code<T::bits> a) {
  if constexpr (T::is_int) {
    return (0 - a) & low_mask<T::bits>();
  } else if constexpr (T::kind == bipolar) {
    return ~a & low_mask<T::bits>();
  } else if constexpr (!T::has_sign) {
    return is_nan<T>(a) ? a : 0;  // the least value
  } else {
    constexpr Code<T::bits> sign = Code<T::bits>{1} << (T::bits - 1);
    const Code<T::bits> magnitude = (a & ~sign) >> T::unused;
    const bool nan = (T::special == ieee && magnitude > infinity_code<T>()) ||
                     (T::special == nan_only && magnitude == all_ones<T>());
    if (nan) return static_cast<Code<T::bits>>(all_ones<T>()) << T::unused;
    return (a >> T::unused << T::unused) ^ sign;
  }
}

template <class T>
TV_FN Code<T::bits> absolute(Code<T::bits> a) {
  const bool top = (a >> (T::bits - 1) & 1) != 0;
  if constexpr (T::kind == floating && !T::has_sign) {
    return a;
  } else if constexpr (T::kind == floating) {
    return negate<T>(top ? a : negate<T>(a));
  } else {
    return T::kind == unsigned_int || top == (T::kind == bipolar) ? a : negate<T>(a);
  }
}

struct Neg {
  template <class T>
  static TV_FN Code<T::bits> apply(Code<T::bits> a) {
    return negate<T>(a);
  }
};
struct Abs {
  template <class T>
  static TV_FN Code<T::bits> apply(Code<T::bits> a) {
    return absolute<T>(a);
  }
};
/// An integer near an element; `F` has it for f32 and f64.
template <class F>
struct NearInteger {
  template <class T>
  static TV_FN Code<T::bits> apply(Code<T::bits> a) {
    if constexpr (T::bits == 64) {
      const u64 magnitude = a & low_mask<63>();
      return magnitude > infinity_code<T>() ? low_mask<63>() : F::on_f64(a);
    } else {
      return from_f32<T>(F::on_f32(to_f32<T>(a)));
    }
  }
};
struct Floor : NearInteger<Floor> {
  static TV_FN u32 on_f32(u32 a) { return f32_floor(a); }
  static TV_FN u64 on_f64(u64 a) { return f64_floor(a); }
};
struct Ceil : NearInteger<Ceil> {
  static TV_FN u32 on_f32(u32 a) { return f32_ceil(a); }
  static TV_FN u64 on_f64(u64 a) { return f64_ceil(a); }
};
struct Round : NearInteger<Round> {
  static TV_FN u32 on_f32(u32 a) { return f32_round(a); }
  static TV_FN u64 on_f64(u64 a) { return f64_round(a); }
};
struct Trunc : NearInteger<Trunc> {
  static TV_FN u32 on_f32(u32 a) { return f32_trunc(a); }
  static TV_FN u64 on_f64(u64 a) { return f64_trunc(a); }
};

// ---- Elementwise, on a thread's share of a tile -------------------------------------------------

template <class T, int count>
TV_FN void fill_tile(u32* d, Code<T::bits> code) {
  TV_UNROLL_UP_TO(count)
  for (int i = 0; i < count; ++i) put<T::bits>(d, i, code);
}

template <class T>
TV_FN constexpr bool is_half() {
  return T::kind == floating && T::bits == 16;
}

template <class From, class To, int count>
TV_FN void cast_tile(u32* d, const u32* a) {
  constexpr bool rounds_pairs = is_half<To>() && From::kind == floating && From::bits == 32 &&
                                From::unused == 0 && count % 2 == 0;
  if constexpr (rounds_pairs) {
    TV_UNROLL_UP_TO(count / 2)
    for (int i = 0; i < count / 2; ++i) {
      d[i] = To::exponent == 5 ? f16x2_from_f32(a[2 * i], a[2 * i + 1])
                               : bf16x2_from_f32(a[2 * i], a[2 * i + 1]);
    }
  } else {
    TV_UNROLL_UP_TO(count)
    for (int i = 0; i < count; ++i) {
      put<To::bits>(d, i, cast<From, To>(get<From::bits>(a, i)));
    }
  }
}

/// Elements i and j of 16 bits in one word.
TV_FN u32 halves(const u32* words, int i, int j) {
  if (i % 2 == 0 && j == i + 1) return words[i / 2];
  if (i == j) return half_twice(words[i / 2], i % 2);
  const u32 low = i % 2 == 0 ? 0x10 : 0x32, high = j % 2 == 0 ? 0x5400 : 0x7600;
  return permute_bytes(words[i / 2], words[j / 2], low | high);
}

template <class Op, class T, int count>
TV_FN void binary_tile(u32* d, const u32* a, const u32* b) {
  if constexpr (Op::on_halves && is_half<T>()) {
    TV_UNROLL_UP_TO((count + 1) / 2)
    for (int i = 0; i < (count + 1) / 2; ++i) d[i] = binary_halves<Op, T>(a[i], b[i]);
  } else if constexpr (Op::on_bits) {
    TV_UNROLL_UP_TO((count * T::bits + 31) / 32)
    for (int i = 0; i < (count * T::bits + 31) / 32; ++i) {
      d[i] = Op::template codes<Int<32>>(a[i], b[i]);
    }
  } else {
    TV_UNROLL_UP_TO(count)
    for (int i = 0; i < count; ++i) {
      put<T::bits>(d, i, binary<Op, T>(get<T::bits>(a, i), get<T::bits>(b, i)));
    }
  }
}

template <class Op, class T, int count>
TV_FN void unary_tile(u32* d, const u32* a) {
  TV_UNROLL_UP_TO(count)
  for (int i = 0; i < count; ++i) {
    put<T::bits>(d, i, Op::template apply<T>(get<T::bits>(a, i)));
  }
}

template <int words>
TV_FN void copy_words(u32* d, const u32* a) {
  TV_UNROLL_UP_TO(words)
  for (int i = 0; i < words; ++i) d[i] = a[i];
}

}  // namespace tv
