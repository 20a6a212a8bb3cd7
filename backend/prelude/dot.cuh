// The machine, part 6, in plain C++: what Dot needs beside tensor-core instructions.

namespace tv {

// ---- Chains of multiply-adds --------------------------------------------------------------------

/// NaN becomes canonical; other codes stay.
template <class T>
TV_FN Code<T::bits> canonical(Code<T::bits> a) {
  if constexpr (T::is_int) {
    return a;
  } else if constexpr (T::bits == 64) {
    return f64_canonical(a);
  } else {
    const u32 magnitude = a & static_cast<u32>(all_ones<T>());
    return magnitude > infinity_code<T>() ? static_cast<u32>(all_ones<T>()) : a;
  }
}

/// a * b + c in the type C, rounded once.
template <class C>
TV_FN Code<C::bits> fused(Code<C::bits> a, Code<C::bits> b, Code<C::bits> c) {
  if constexpr (C::is_int) return a * b + c;
  if constexpr (C::kind == floating && C::bits == 64) return f64_fma(a, b, c);
  if constexpr (C::kind == floating && C::bits == 32) return f32_fma(a, b, c);
  if constexpr (C::kind == floating && C::bits == 16) {
    return C::exponent == 5 ? f16_fma(a, b, c) : bf16_fma(a, b, c);
  }
}

/// An operand as a code of C, which holds its value; of integers, modulo 2^n.
template <class T, class C>
TV_FN Code<C::bits> operand(Code<T::bits> a) {
  if constexpr (T::kind == C::kind && T::bits == C::bits && T::exponent == C::exponent &&
                T::unused == 0) {
    return a;
  } else if constexpr (T::kind == bipolar && C::is_int) {
    return static_cast<Code<C::bits>>(to_integer<T>(a));
  } else {
    return cast<T, C>(a);
  }
}

template <class A, class B, class C>
TV_FN Code<C::bits> multiply_add(Code<A::bits> a, Code<B::bits> b, Code<C::bits> c) {
  return fused<C>(operand<A, C>(a), operand<B, C>(b), c);
}

// ---- Bipolar integers on tensor cores -----------------------------------------------------------

/// Bit p of a code of n bits becomes bit j of planes[p].
template <int n>
TV_FN void put_planes(u32* planes, int j, u32 code) {
  TV_UNROLL
  for (int p = 0; p < n; ++p) planes[p] |= (code >> p & 1u) << j;
}

/// A bipolar code of n bits becomes byte j of the word: its value, or with 8 bits (value - 1) / 2.
template <int n>
TV_FN void put_bipolar(u32* word, int j, u32 code) {
  const u32 value = n == 8 ? code ^ 0x80u : 2 * code - low_mask<n>();
  *word |= (value & 0xffu) << (8 * j);
}

template <int count>
TV_FN void twice(u32* words) {
  TV_UNROLL
  for (int i = 0; i < count; ++i) words[i] *= 2;
}

}  // namespace tv
