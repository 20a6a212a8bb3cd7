// The machine, part 5, in plain C++: the functions of the part before, on elements of every type,
// and random numbers.

namespace tv {

struct Machine {
  static TV_FN u32 add(u32 a, u32 b) { return f32_add(a, b); }
  static TV_FN u32 sub(u32 a, u32 b) { return f32_sub(a, b); }
  static TV_FN u32 mul(u32 a, u32 b) { return f32_mul(a, b); }
  static TV_FN u32 div(u32 a, u32 b) { return f32_div(a, b); }
  static TV_FN u32 fma(u32 a, u32 b, u32 c) { return f32_fma(a, b, c); }
  static TV_FN u32 sqrt(u32 a) { return f32_sqrt(a); }
  static TV_FN bool less(u32 a, u32 b) { return f32_value(a) < f32_value(b); }
  static TV_FN i32 leading_zeros(u64 a) { return tv::leading_zeros(a); }
};

template <class Op>
struct Function {
  template <class T>
  static TV_FN Code<T::bits> apply(Code<T::bits> a) {
    if constexpr (T::bits == 64) {
      return f64_canonical(Op::f64(a));
    } else if constexpr (T::bits == 32 && T::unused == 0) {
      return Op::f32(a);
    } else {
      return from_f32<T>(Op::f32(to_f32<T>(a)));
    }
  }
};

struct Exp2 : Function<Exp2> {
  static TV_FN u32 f32(u32 a) { return tilevm::functions::exp2<Machine>(a); }
};
struct Exp : Function<Exp> {
  static TV_FN u32 f32(u32 a) { return tilevm::functions::exp<Machine>(a); }
};
struct Log2 : Function<Log2> {
  static TV_FN u32 f32(u32 a) { return tilevm::functions::log2<Machine>(a); }
};
struct Log : Function<Log> {
  static TV_FN u32 f32(u32 a) { return tilevm::functions::log<Machine>(a); }
};
struct Sin : Function<Sin> {
  static TV_FN u32 f32(u32 a) { return tilevm::functions::sin<Machine>(a); }
};
struct Cos : Function<Cos> {
  static TV_FN u32 f32(u32 a) { return tilevm::functions::cos<Machine>(a); }
};
struct Tanh : Function<Tanh> {
  static TV_FN u32 f32(u32 a) { return tilevm::functions::tanh<Machine>(a); }
};
struct Sigmoid : Function<Sigmoid> {
  static TV_FN u32 f32(u32 a) { return tilevm::functions::sigmoid<Machine>(a); }
};
struct Sqrt : Function<Sqrt> {
  static TV_FN u32 f32(u32 a) { return tilevm::functions::sqrt<Machine>(a); }
  static TV_FN u64 f64(u64 a) { return f64_sqrt(a); }
};
struct Rsqrt : Function<Rsqrt> {
  static TV_FN u32 f32(u32 a) { return tilevm::functions::rsqrt<Machine>(a); }
};
struct Rcp : Function<Rcp> {
  static TV_FN u32 f32(u32 a) { return tilevm::functions::rcp<Machine>(a); }
  static TV_FN u64 f64(u64 a) { return f64_div(0x3ff0000000000000ull, a); }
};

struct Erf : Function<Erf> {
  static TV_FN u32 f32(u32 a) { return tilevm::functions::erf<Machine>(a); }
};
struct Exp2Approximate : Function<Exp2Approximate> {
  static TV_FN u32 f32(u32 a) { return tilevm::functions::exp2_approximate<Machine>(a); }
};

TV_LONG_FN u32 f32_pow(u32 a, u32 b) { return tilevm::functions::pow<Machine>(a, b); }
struct Pow : OnValues {
  static TV_FN u32 f32(u32 a, u32 b) { return f32_pow(a, b); }
};

/// An instruction that PTX calls approximate: on f32, and on what else Op has.
template <class Op>
struct Approximation {
  template <class T>
  static TV_FN Code<T::bits> apply(Code<T::bits> a) {
    if constexpr (T::bits == 64) {
      return Op::f64(a);
    } else if constexpr (T::bits == 16) {
      return halves<T>(a) & 0xffffu;
    } else {
      return Op::f32(a);
    }
  }
  /// Applies the operation to both halves of a word.
  template <class T>
  static TV_FN u32 halves(u32 a) {
    if constexpr (T::exponent == 5) {
      return Op::f16x2(a);
    } else {
      return Op::bf16x2(a);
    }
  }
};

struct Ex2Approx : Approximation<Ex2Approx> {
  static TV_FN u32 f32(u32 a) { return ex2_approx_f32(a); }
  static TV_FN u32 f16x2(u32 a) { return ex2_approx_f16x2(a); }
};
struct Ex2ApproxFtz : Approximation<Ex2ApproxFtz> {
  static TV_FN u32 f32(u32 a) { return ex2_approx_ftz_f32(a); }
  static TV_FN u32 bf16x2(u32 a) { return ex2_approx_ftz_bf16x2(a); }
};
struct Lg2Approx : Approximation<Lg2Approx> {
  static TV_FN u32 f32(u32 a) { return lg2_approx_f32(a); }
};
struct Lg2ApproxFtz : Approximation<Lg2ApproxFtz> {
  static TV_FN u32 f32(u32 a) { return lg2_approx_ftz_f32(a); }
};
struct RcpApprox : Approximation<RcpApprox> {
  static TV_FN u32 f32(u32 a) { return rcp_approx_f32(a); }
};
struct RcpApproxFtz : Approximation<RcpApproxFtz> {
  static TV_FN u32 f32(u32 a) { return rcp_approx_ftz_f32(a); }
  static TV_FN u64 f64(u64 a) { return rcp_approx_ftz_f64(a); }
};
struct RsqrtApprox : Approximation<RsqrtApprox> {
  static TV_FN u32 f32(u32 a) { return rsqrt_approx_f32(a); }
};
struct RsqrtApproxFtz : Approximation<RsqrtApproxFtz> {
  static TV_FN u32 f32(u32 a) { return rsqrt_approx_ftz_f32(a); }
  static TV_FN u64 f64(u64 a) { return rsqrt_approx_ftz_f64(a); }
};
struct SqrtApprox : Approximation<SqrtApprox> {
  static TV_FN u32 f32(u32 a) { return sqrt_approx_f32(a); }
};
struct SqrtApproxFtz : Approximation<SqrtApproxFtz> {
  static TV_FN u32 f32(u32 a) { return sqrt_approx_ftz_f32(a); }
};
struct SinApprox : Approximation<SinApprox> {
  static TV_FN u32 f32(u32 a) { return sin_approx_f32(a); }
};
struct SinApproxFtz : Approximation<SinApproxFtz> {
  static TV_FN u32 f32(u32 a) { return sin_approx_ftz_f32(a); }
};
struct CosApprox : Approximation<CosApprox> {
  static TV_FN u32 f32(u32 a) { return cos_approx_f32(a); }
};
struct CosApproxFtz : Approximation<CosApproxFtz> {
  static TV_FN u32 f32(u32 a) { return cos_approx_ftz_f32(a); }
};
struct TanhApprox : Approximation<TanhApprox> {
  static TV_FN u32 f32(u32 a) { return tanh_approx_f32(a); }
  static TV_FN u32 f16x2(u32 a) { return tanh_approx_f16x2(a); }
  static TV_FN u32 bf16x2(u32 a) { return tanh_approx_bf16x2(a); }
};

struct DivFull : OnValues {
  static TV_FN u32 f32(u32 a, u32 b) { return div_full_f32(a, b); }
};
struct DivFullFtz : OnValues {
  static TV_FN u32 f32(u32 a, u32 b) { return div_full_ftz_f32(a, b); }
};
struct DivApprox : OnValues {
  static TV_FN u32 f32(u32 a, u32 b) { return div_approx_f32(a, b); }
};
struct DivApproxFtz : OnValues {
  static TV_FN u32 f32(u32 a, u32 b) { return div_approx_ftz_f32(a, b); }
};
/// A quotient whose divisor may be known to the assembler.
template <class Op>
struct HiddenDivisor : OnValues {
  static TV_FN u32 f32(u32 a, u32 b) { return Op::f32(a, hidden(b)); }
};

/// `hides`: elements may be known to the assembler.
template <class Op, class T, int count, bool hides>
TV_FN void approximate_tile(u32* d, const u32* a) {
  if constexpr (T::bits == 16) {
    TV_UNROLL_UP_TO((count + 1) / 2)
    for (int i = 0; i < (count + 1) / 2; ++i) {
      d[i] = Op::template halves<T>(hides ? hidden(a[i]) : a[i]);
    }
  } else {
    TV_UNROLL_UP_TO(count)
    for (int i = 0; i < count; ++i) {
      const Code<T::bits> code = get<T::bits>(a, i);
      put<T::bits>(d, i, Op::template apply<T>(hides ? hidden(code) : code));
    }
  }
}

/// The words 0 of all counters, then the words 1 and so on.
template <int count>
TV_FN void philox_tile(u32* d, const u32* counters, u64 stream, u64 key) {
  TV_UNROLL_UP_TO(count)
  for (int i = 0; i < count; ++i) {
    const auto words = tilevm::functions::philox(counters[i], 0, stream, key);
    TV_UNROLL for (int w = 0; w < 4; ++w) d[w * count + i] = words.word[w];
  }
}

}  // namespace tv
