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

struct Add {
  template <class T>
  static TV_FN Code<T::bits> integer(Code<T::bits> a, Code<T::bits> b) {
    return a + b;
  }
  static TV_FN u32 f32(u32 a, u32 b) { return f32_add(a, b); }
  static TV_FN u64 f64(u64 a, u64 b) { return f64_add(a, b); }
};
struct Sub {
  template <class T>
  static TV_FN Code<T::bits> integer(Code<T::bits> a, Code<T::bits> b) {
    return a - b;
  }
  static TV_FN u32 f32(u32 a, u32 b) { return f32_sub(a, b); }
  static TV_FN u64 f64(u64 a, u64 b) { return f64_sub(a, b); }
};
struct Mul {
  template <class T>
  static TV_FN Code<T::bits> integer(Code<T::bits> a, Code<T::bits> b) {
    return a * b;
  }
  static TV_FN u32 f32(u32 a, u32 b) { return f32_mul(a, b); }
  static TV_FN u64 f64(u64 a, u64 b) { return f64_mul(a, b); }
};
struct Div {
  template <class T>
  static TV_FN Code<T::bits> integer(Code<T::bits> a, Code<T::bits> b) {
    return static_cast<Code<T::bits>>(div(standard<T>(a), standard<T>(b)));
  }
  static TV_FN u32 f32(u32 a, u32 b) { return f32_canonical(f32_div(a, b)); }
  static TV_FN u64 f64(u64 a, u64 b) { return f64_div(a, b); }
};
struct Mod {
  template <class T>
  static TV_FN Code<T::bits> integer(Code<T::bits> a, Code<T::bits> b) {
    return static_cast<Code<T::bits>>(mod(standard<T>(a), standard<T>(b)));
  }
  static TV_FN u32 f32(u32 a, u32 b) { return f32_mod(a, b); }
  static TV_FN u64 f64(u64 a, u64 b) { return f64_mod(a, b); }
};

TV_FN u64 f64_canonical(u64 a) {
  return (a & 0x7fffffffffffffffull) > 0x7ff0000000000000ull ? 0x7fffffffffffffffull : a;
}

template <class Op, class T>
TV_FN Code<T::bits> binary(Code<T::bits> a, Code<T::bits> b) {
  if constexpr (T::is_int) {
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

template <class T>
TV_FN Code<T::bits> negate(Code<T::bits> a) {
  if constexpr (T::is_int) {
    return (0 - a) & low_mask<T::bits>();
  } else if constexpr (T::kind == bipolar) {
    return ~a & low_mask<T::bits>();
  } else {
    constexpr Code<T::bits> sign = Code<T::bits>{1} << (T::bits - 1);
    const Code<T::bits> magnitude = (a & ~sign) >> T::unused;
    const bool nan = (T::special == ieee && magnitude > infinity_code<T>()) ||
                     (T::special == nan_only && magnitude == all_ones<T>());
    if (nan) return static_cast<Code<T::bits>>(all_ones<T>()) << T::unused;
    return (a >> T::unused << T::unused) ^ sign;
  }
}

// ---- Elementwise, on a thread's share of a tile -------------------------------------------------

template <class T, int count>
TV_FN void fill_tile(u32* d, Code<T::bits> code) {
  TV_UNROLL
  for (int i = 0; i < count; ++i) put<T::bits>(d, i, code);
}

template <class From, class To, int count>
TV_FN void cast_tile(u32* d, const u32* a) {
  TV_UNROLL
  for (int i = 0; i < count; ++i) {
    put<To::bits>(d, i, cast<From, To>(get<From::bits>(a, i)));
  }
}

template <class Op, class T, int count>
TV_FN void binary_tile(u32* d, const u32* a, const u32* b) {
  TV_UNROLL
  for (int i = 0; i < count; ++i) {
    put<T::bits>(d, i, binary<Op, T>(get<T::bits>(a, i), get<T::bits>(b, i)));
  }
}

template <class T, int count>
TV_FN void negate_tile(u32* d, const u32* a) {
  TV_UNROLL
  for (int i = 0; i < count; ++i) put<T::bits>(d, i, negate<T>(get<T::bits>(a, i)));
}

template <int words>
TV_FN void copy_words(u32* d, const u32* a) {
  TV_UNROLL
  for (int i = 0; i < words; ++i) d[i] = a[i];
}

}  // namespace tv
