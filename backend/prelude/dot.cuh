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

template <class T, int count>
TV_FN void canonical_tile(u32* d) {
  TV_UNROLL
  for (int i = 0; i < count; ++i) put<T::bits>(d, i, canonical<T>(get<T::bits>(d, i)));
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

/// A fused multiply-add with the one NaN that programs see, which only f64 does not have of itself.
template <class T>
TV_FN Code<T::bits> fma(Code<T::bits> a, Code<T::bits> b, Code<T::bits> c) {
  if constexpr (T::kind == floating && T::bits == 64) return canonical<T>(fused<T>(a, b, c));
  return fused<T>(a, b, c);
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

/// The bits [n * g * u, n * g * u + g) for all u.
TV_FN constexpr u32 every(int n, int g) {
  u32 mask = 0;
  for (int bit = 0; bit < 32; ++bit) mask |= static_cast<u32>(bit % (n * g) < g) << bit;
  return mask;
}

/// Bits 0, n, 2n, .. become bits 0, 1, 2, ..: groups of one, two, four .. bits move together.
template <int n>
TV_FN u32 compress(u32 bits) {
  constexpr u32 masks[] = {every(n, 1), every(n, 2), every(n, 4), every(n, 8), every(n, 16)};
  bits &= masks[0];
  TV_UNROLL
  for (int step = 0; n << step < 32; ++step) {
    bits = (bits | bits >> ((n - 1) << step)) & masks[step + 1];
  }
  return bits;
}

/// Bit p of each of 32 codes of n bits that fill the words.
template <int n>
TV_FN u32 plane(const u32* words, int p) {
  if constexpr (n == 1) {
    return words[0];
  } else {
    u32 bits = 0;
    TV_UNROLL
    for (int i = 0; i < n; ++i) {
      const int first = 32 * i <= p ? 0 : (32 * i - p + n - 1) / n;  // code whose bit is in word i
      bits |= compress<n>(words[i] >> (first * n + p - 32 * i)) << first;
    }
    return bits;
  }
}

/// 32 codes of n bits that stand anywhere, side by side.
template <int n>
TV_FN void gather_codes(u32* to, const u32* words, const int (&places)[32]) {
  TV_UNROLL
  for (int j = 0; j < 32; ++j) put<n>(to, j, get<n>(words, places[j]));
}

/// Bipolar codes of n bits as bytes: their values, or with 8 bits (value - 1) / 2.
template <int n>
TV_FN u32 bipolar_bytes(const u32* words, int first, int second, int third, int fourth) {
  const int places[] = {first, second, third, fourth};
  u32 bytes = 0;
  TV_UNROLL
  for (int j = 0; j < 4; ++j) {
    const u32 code = get<n>(words, places[j]);
    bytes |= ((n == 8 ? code ^ 0x80u : 2 * code - low_mask<n>()) & 0xffu) << (8 * j);
  }
  return bytes;
}

template <int count>
TV_FN void twice(u32* words) {
  TV_UNROLL
  for (int i = 0; i < count; ++i) words[i] *= 2;
}

}  // namespace tv
