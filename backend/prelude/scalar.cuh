// The machine, part 7, in plain C++: scalars.

namespace tv {

// ---- Scalars ----------------------------------------------------------------------------------
// Integers wrap; `/` truncates; a division by zero is a fault; shift counts clamp.

TV_FN i32 add(i32 a, i32 b) { return static_cast<i32>(static_cast<u32>(a) + static_cast<u32>(b)); }
TV_FN i32 sub(i32 a, i32 b) { return static_cast<i32>(static_cast<u32>(a) - static_cast<u32>(b)); }
TV_FN i32 mul(i32 a, i32 b) { return static_cast<i32>(static_cast<u32>(a) * static_cast<u32>(b)); }
TV_FN i64 add(i64 a, i64 b) { return static_cast<i64>(static_cast<u64>(a) + static_cast<u64>(b)); }
TV_FN i64 sub(i64 a, i64 b) { return static_cast<i64>(static_cast<u64>(a) - static_cast<u64>(b)); }
TV_FN i64 mul(i64 a, i64 b) { return static_cast<i64>(static_cast<u64>(a) * static_cast<u64>(b)); }
TV_FN u32 add(u32 a, u32 b) { return a + b; }
TV_FN u32 sub(u32 a, u32 b) { return a - b; }
TV_FN u32 mul(u32 a, u32 b) { return a * b; }
TV_FN u64 add(u64 a, u64 b) { return a + b; }
TV_FN u64 sub(u64 a, u64 b) { return a - b; }
TV_FN u64 mul(u64 a, u64 b) { return a * b; }
TV_FN float add(float a, float b) { return f32_value(f32_add(f32_bits(a), f32_bits(b))); }
TV_FN float sub(float a, float b) { return f32_value(f32_sub(f32_bits(a), f32_bits(b))); }
TV_FN float mul(float a, float b) { return f32_value(f32_mul(f32_bits(a), f32_bits(b))); }

TV_FN i32 neg(i32 a) { return sub(0, a); }
TV_FN i64 neg(i64 a) { return sub(i64{0}, a); }
TV_FN u32 neg(u32 a) { return 0u - a; }
TV_FN u64 neg(u64 a) { return u64{0} - a; }
TV_FN float neg(float a) { return f32_value(negate<Single>(f32_bits(a))); }

template <class T>
TV_FN T least(T a, T b) {
  return b < a ? b : a;
}
template <class T>
TV_FN T greatest(T a, T b) {
  return b > a ? b : a;
}
TV_FN float least(float a, float b) {
  return f32_value(f32_canonical(f32_min(f32_bits(a), f32_bits(b))));
}
TV_FN float greatest(float a, float b) {
  return f32_value(f32_canonical(f32_max(f32_bits(a), f32_bits(b))));
}

TV_FN float div(float a, float b) { return f32_value(f32_div(f32_bits(a), f32_bits(b))); }

/// The count is read as unsigned.
template <class T>
TV_FN T shl(T a, u64 count) {
  return count < sizeof(T) * 8 ? static_cast<T>(static_cast<u64>(a) << count) : T{0};
}
template <class T>
TV_FN T shr(T a, u64 count) {
  constexpr u64 last = sizeof(T) * 8 - 1;
  return count <= last ? static_cast<T>(a >> count) : static_cast<T>(a >> last >> 1);
}

/// Truncates and saturates; NaN gives 0.
template <class T>
TV_FN T from_float(float a) {
  typedef Type<(T(-1) < T{0} ? signed_int : unsigned_int), int(sizeof(T) * 8)> To;
  return static_cast<T>(cast<Single, To>(f32_bits(a)));
}

/// The value of a range in its trip k.
template <class T>
TV_FN T range_value(T begin, u64 k, T step) {
  return static_cast<T>(static_cast<u64>(begin) + k * static_cast<u64>(step));
}

/// How often a range runs: the number of k >= 0 with begin + k * step before end.
template <class T>
TV_FN u64 trips(T begin, T end, T step) {
  if (step == T{0}) {
    fault();
    return 0;
  }
  if (step > T{0}) {
    const u64 width = static_cast<u64>(end) - static_cast<u64>(begin);
    return begin < end ? (width - 1) / static_cast<u64>(step) + 1 : 0;
  }
  const u64 width = static_cast<u64>(begin) - static_cast<u64>(end);
  return end < begin ? (width - 1) / (u64{0} - static_cast<u64>(step)) + 1 : 0;
}

}  // namespace tv
