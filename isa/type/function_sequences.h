// The functions Exp2, Exp, Log2, Log, Sin, Cos, Tanh, Sigmoid, Erf, Sqrt, Rsqrt, Rcp and Pow on
// f32, as fixed sequences of IEEE operations, and random numbers: whoever computes them gets the
// same bits. This text is compiled into the simulator and stands in every emitted program as well.
//
// Numbers are bit patterns of f32. M is the machine, a class of static functions:
//   add sub mul div (a, b), fma(a, b, c), sqrt(a)   rounded once, to nearest even, subnormals kept
//   less(a, b)                                      of numbers
//   leading_zeros(x)                                of 64 bits, x not 0
// Whatever NaN the machine makes, that of a result is 0x7fffffff. There are no branches but those
// around far arguments of Sin and Cos, so that loops over these functions vectorise.
//
// More than 400 lines: it is one text, which emitted programs contain.
//
// Polynomials are minimax approximations in f32 coefficients; docs/reference/semantics.md has the
// errors.
#pragma once

#ifdef __CUDACC__
#define TILEVM_FUNCTION __device__ __forceinline__
#define TILEVM_LONG_FUNCTION __device__ __noinline__
#else
#define TILEVM_FUNCTION [[gnu::always_inline]] inline
#define TILEVM_LONG_FUNCTION inline
#endif

namespace tilevm::functions {

using Bits = unsigned int;
using Wide = unsigned long long;
static_assert(sizeof(Bits) == 4 && sizeof(Wide) == 8 && sizeof(int) == 4, "widths of integers");

constexpr Bits sign_bit = 0x80000000u, infinity = 0x7f800000u, nan = 0x7fffffffu;
constexpr Bits one = 0x3f800000u, half = 0x3f000000u, log2_e = 0x3fb8aa3bu;
/// 1.5 * 2^23: adding it rounds to an integer, which its low bits then hold.
constexpr Bits magic = 0x4b400000u;

TILEVM_FUNCTION Bits negated(Bits x) { return x ^ sign_bit; }
TILEVM_FUNCTION Bits magnitude(Bits x) { return x & ~sign_bit; }
TILEVM_FUNCTION bool is_nan(Bits x) { return magnitude(x) > infinity; }
TILEVM_FUNCTION Bits canonical(Bits x) { return is_nan(x) ? nan : x; }

/// c[0] x^n + .. + c[n].
template <class M>
TILEVM_FUNCTION Bits polynomial(Bits, Bits sum) {
  return sum;
}
template <class M, class... Rest>
TILEVM_FUNCTION Bits polynomial(Bits x, Bits sum, Bits next, Rest... rest) {
  return polynomial<M>(x, M::fma(sum, x, next), rest...);
}

/// p * 2^n for p near 1 and |n| < 250, rounded once.
template <class M>
TILEVM_FUNCTION Bits scaled(Bits p, int n) {
  const int first = n >> 1, second = n - first;
  const Bits once = M::mul(p, static_cast<Bits>(first + 127) << 23);
  return M::mul(once, static_cast<Bits>(second + 127) << 23);
}

/// x, but at least low and at most high; a NaN becomes a number.
template <class M>
TILEVM_FUNCTION Bits clamped(Bits x, Bits low, Bits high) {
  const Bits below = M::less(x, high) ? x : high;
  return M::less(low, below) ? below : low;
}

// ---- Exponentials -------------------------------------------------------------------------------

template <class M>
TILEVM_FUNCTION Bits exp2(Bits x) {
  const Bits z = clamped<M>(x, 0xc3170000u, 0x43010000u);  // -151, 129
  const Bits t = M::add(z, magic);
  const Bits f = M::sub(z, M::sub(t, magic));
  const Bits p = polynomial<M>(f, 0x3920e99au, 0x3aafa2b5u, 0x3c1d96deu, 0x3d63576au, 0x3e75fdedu,
                               0x3f317218u, one);
  return is_nan(x) ? nan : scaled<M>(p, static_cast<int>(t - magic));
}

template <class M>
TILEVM_FUNCTION Bits exp(Bits x) {
  const Bits z = clamped<M>(x, 0xc2d10000u, 0x42b20000u);  // -104.5, 89
  const Bits t = M::fma(z, log2_e, magic);
  const Bits j = M::sub(t, magic);
  const Bits r = M::fma(j, 0xb5bfbe8eu, M::fma(j, 0xbf317200u, z));  // -log(2), in two parts
  const Bits p =
      polynomial<M>(r, 0x3ab55cb7u, 0x3c09368fu, 0x3d2aac4du, 0x3e2aaa05u, 0x3efffffdu, one, one);
  return is_nan(x) ? nan : scaled<M>(p, static_cast<int>(t - magic));
}

/// A polynomial of degree 3 whose exponent a power of two is added to. So results beyond the
/// largest number are Inf, and those below 2^-126 are wrong by up to 2^-127.
template <class M>
TILEVM_FUNCTION Bits exp2_approximate(Bits x) {
  const Bits z = clamped<M>(x, 0xc2fe0000u, 0x43000000u);  // -127, 128
  const Bits t = M::add(z, magic);
  const Bits f = M::sub(z, M::sub(t, magic));
  const Bits p = polynomial<M>(f, 0x3d615126u, 0x3e780625u, 0x3f317afdu, one);
  return is_nan(x) ? nan : p + ((t - magic) << 23);
}

// ---- Logarithms ---------------------------------------------------------------------------------

/// x = 2^e (1 + r), e an integer as f32, r between sqrt(1/2) - 1 and sqrt(2) - 1; and w so that
/// log(1 + r) = r + r^2 w.
struct LogParts {
  Bits e, r, w;
};

template <class M>
TILEVM_FUNCTION LogParts log_parts(Bits x) {
  const bool subnormal = magnitude(x) < 0x00800000u;
  const Bits y = subnormal ? M::mul(x, 0x4b000000u) : x;  // * 2^23
  const int exponent = static_cast<int>(y - 0x3f3504f3u) >> 23;
  const Bits r = M::sub(y - (static_cast<Bits>(exponent) << 23), one);
  const int e = subnormal ? exponent - 23 : exponent;
  const Bits q = polynomial<M>(r, 0xbda132d0u, 0x3e03db88u, 0xbe065e63u, 0x3e113863u, 0xbe2a3e6bu,
                               0x3e4cd2c5u, 0xbe800107u, 0x3eaaaaa5u);
  return {M::sub(magic + static_cast<Bits>(e), magic), r, M::fma(r, q, negated(half))};
}

/// The logarithm is `value` where x is positive and finite.
TILEVM_FUNCTION Bits log_result(Bits x, Bits value) {
  const Bits positive = x >= infinity ? x : value;
  const bool invalid = is_nan(x) || x > sign_bit;
  return magnitude(x) == 0 ? sign_bit | infinity : invalid ? nan : positive;
}

template <class M>
TILEVM_FUNCTION Bits log2(Bits x) {
  const LogParts part = log_parts<M>(x);
  const Bits v = M::mul(M::mul(part.r, part.r), part.w);
  const Bits u = M::fma(v, log2_e, M::mul(part.r, 0x32a57060u));  // log2(e) in two parts
  const Bits high = M::mul(part.r, log2_e);
  const Bits low = M::fma(part.r, log2_e, negated(high));
  const Bits sum = M::add(part.e, high);
  const Bits lost = part.e != 0 ? M::sub(high, M::sub(sum, part.e)) : 0;
  return log_result(x, M::add(sum, M::add(lost, M::add(low, u))));
}

template <class M>
TILEVM_FUNCTION Bits log(Bits x) {
  const LogParts part = log_parts<M>(x);
  const Bits tail = M::fma(part.e, 0x35bfbe8eu, M::mul(M::mul(part.r, part.r), part.w));
  return log_result(x, M::fma(part.e, 0x3f317200u, M::add(tail, part.r)));
}

// ---- Sine and cosine ----------------------------------------------------------------------------

/// |x| = quarter * pi / 2 + r, |r| <= pi / 4; quarter modulo 4.
struct Reduced {
  Bits r, quarter;
};

/// Beyond this, 32768, arguments are far.
constexpr Bits last_near = 0x47000000u;
TILEVM_FUNCTION bool is_far(Bits x) { return magnitude(x) > last_near; }

/// pi / 2 in three parts.
template <class M>
TILEVM_FUNCTION Reduced reduce_near(Bits size) {
  const Bits t = M::fma(size, 0x3f22f983u, magic);  // * 2 / pi
  const Bits j = M::sub(t, magic);
  const Bits r = M::fma(j, 0xb3a22168u, M::fma(j, 0xbfc90fdau, size));
  return {M::fma(j, 0xa7c234c4u, r), t - magic};
}

/// Bits 32 k .. 32 k + 31 of 2 / pi behind 32 zeros.
TILEVM_FUNCTION Wide two_over_pi(Bits k) {
  const Bits low = k == 0 ? 0u : k == 1 ? 0xa2f9836eu : k == 2 ? 0x4e441529u : 0xfc2757d1u;
  const Bits high = k == 4   ? 0xf534ddc0u
                    : k == 5 ? 0xdb629599u
                    : k == 6 ? 0x3c439041u
                             : 0xfe5163abu;
  return k < 4 ? low : high;
}

/// The upper half of a product.
TILEVM_FUNCTION Wide multiply_high(Wide a, Wide b) {
  const Wide a0 = static_cast<Bits>(a), a1 = a >> 32, b0 = static_cast<Bits>(b), b1 = b >> 32;
  const Wide middle = a1 * b0 + (a0 * b0 >> 32);
  return a1 * b1 + (middle >> 32) + ((a0 * b1 + static_cast<Bits>(middle)) >> 32);
}

/// In integers (Payne and Hanek): of 2 / pi only the 96 bits matter that begin at the one which
/// makes 2 of the product; what is above makes multiples of 4.
template <class M>
TILEVM_LONG_FUNCTION Reduced reduce_far(Bits size) {
  const Wide significand = (size & 0x007fffffu) | 0x00800000u;
  const Bits begin = (size >> 23) - 120, k = begin / 32, shift = 32 - begin % 32;
  const Wide w0 = two_over_pi(k), w1 = two_over_pi(k + 1), w2 = two_over_pi(k + 2);
  const Wide w3 = two_over_pi(k + 3);
  const Wide p2 = significand * static_cast<Bits>((w2 << 32 | w3) >> shift);
  const Wide p1 = significand * static_cast<Bits>((w1 << 32 | w2) >> shift) + (p2 >> 32);
  const Wide p0 = significand * static_cast<Bits>((w0 << 32 | w1) >> shift) + (p1 >> 32);
  const Bits top = static_cast<Bits>(p0);
  const Wide fraction = static_cast<Wide>(top) << 34 |
                        static_cast<Wide>(static_cast<Bits>(p1)) << 2 | static_cast<Bits>(p2) >> 30;
  const bool negative = fraction >> 63 != 0;  // nearer to the next quarter
  const Wide distance = (negative ? 0 - fraction : fraction) | 1;
  const int zeros = M::leading_zeros(distance);
  const Wide product = multiply_high(distance << zeros, 0xc90fdaa22168c235ull);  // pi / 2
  const bool small = product >> 63 == 0;
  const Wide r = small ? product << 1 : product;
  const Wide rest = r & 0xffffffffffull, middle = 0x8000000000ull;
  const bool up = rest > middle || (rest == middle && (r >> 40 & 1) != 0);
  const Bits exponent = static_cast<Bits>(126 - zeros - (small ? 1 : 0));
  const Bits value = (exponent << 23) + static_cast<Bits>(r >> 40) + (up ? 1 : 0);
  return {negative ? negated(value) : value, (top >> 30) + (negative ? 1 : 0)};
}

/// The sine of r + quarter * pi / 2.
template <class M>
TILEVM_FUNCTION Bits sine_of(const Reduced& angle) {
  const Bits z = M::mul(angle.r, angle.r);
  const Bits p = polynomial<M>(z, 0x36366c1cu, 0xb95007cfu, 0x3c088884u, 0xbe2aaaabu);
  const Bits sine = M::fma(M::mul(p, z), angle.r, angle.r);
  const Bits cosine =
      polynomial<M>(z, 0xb4920f35u, 0x37d0086fu, 0xbab60b5cu, 0x3d2aaaabu, negated(half), one);
  const Bits value = (angle.quarter & 1) != 0 ? cosine : sine;
  return (angle.quarter & 2) != 0 ? negated(value) : value;
}

/// For arguments that are not far.
template <class M>
TILEVM_FUNCTION Bits sin_near(Bits x) {
  return sine_of<M>(reduce_near<M>(magnitude(x))) ^ (x & sign_bit);
}
template <class M>
TILEVM_FUNCTION Bits cos_near(Bits x) {
  const Reduced angle = reduce_near<M>(magnitude(x));
  return sine_of<M>({angle.r, angle.quarter + 1});
}

template <class M>
TILEVM_FUNCTION Bits sin(Bits x) {
  if (!is_far(x)) return sin_near<M>(x);
  if (magnitude(x) >= infinity) return nan;
  return sine_of<M>(reduce_far<M>(magnitude(x))) ^ (x & sign_bit);
}
template <class M>
TILEVM_FUNCTION Bits cos(Bits x) {
  if (!is_far(x)) return cos_near<M>(x);
  if (magnitude(x) >= infinity) return nan;
  const Reduced angle = reduce_far<M>(magnitude(x));
  return sine_of<M>({angle.r, angle.quarter + 1});
}

// ---- Sigmoids -----------------------------------------------------------------------------------

template <class M>
TILEVM_FUNCTION Bits tanh(Bits x) {
  const Bits a = magnitude(x), z = M::mul(a, a);
  const Bits p = polynomial<M>(z, 0xbbbaf0e7u, 0x3ca9134eu, 0xbd5c1e2du, 0x3e088393u, 0xbeaaaa99u);
  const Bits small = M::fma(M::mul(p, z), a, a);
  const Bits b = a < 0x41200000u ? a : 0x41200000u;  // 10
  const Bits e = exp<M>(M::add(b, b));
  const Bits large = M::sub(one, M::div(0x40000000u, M::add(e, one)));  // 1 - 2 / (e + 1)
  const Bits y = a < 0x3f200000u ? small : large;                       // 0.625
  return is_nan(x) ? nan : y | (x & sign_bit);
}

/// 1 / (1 + e), or e / (1 + e) for negative x, where e = exp(-|x|).
template <class M>
TILEVM_FUNCTION Bits sigmoid(Bits x) {
  const Bits e = exp<M>(magnitude(x) | sign_bit);
  const Bits y = M::div((x & sign_bit) != 0 ? e : one, M::add(one, e));
  return is_nan(x) ? nan : y;
}

/// Near zero x + x q(x^2); elsewhere 1 - exp(g), where g is the logarithm of 1 - erf(|x|).
template <class M>
TILEVM_FUNCTION Bits erf(Bits x) {
  const Bits a = magnitude(x), z = M::mul(a, a);
  const Bits q = polynomial<M>(z, 0x38a4fe46u, 0xba526844u, 0x3baa18c5u, 0xbcdbffc8u, 0x3de716aeu,
                               0xbec093a0u, 0x3e0375d4u);
  const Bits small = M::fma(q, a, a);
  const Bits b = a < 0x40800000u ? a : 0x40800000u;  // 4
  const Bits g = polynomial<M>(b, 0x3952be9du, 0xbb4aa65eu, 0x3cb7aa07u, 0xbdd5a975u, 0xbf23013bu,
                               0xbf906035u, 0xb90c1607u);
  const Bits large = M::sub(one, exp<M>(g));
  const Bits y = a < 0x3f600000u ? small : large;  // 0.875
  return is_nan(x) ? nan : y | (x & sign_bit);
}

// ---- Powers -------------------------------------------------------------------------------------

/// high + low, where low is at most half a unit in the last place of high.
struct Pair {
  Bits high, low;
};

/// a + b, exactly, where |a| >= |b| or a is 0.
template <class M>
TILEVM_FUNCTION Pair fast_sum(Bits a, Bits b) {
  const Bits sum = M::add(a, b);
  return {sum, M::sub(b, M::sub(sum, a))};
}

/// a b, exactly.
template <class M>
TILEVM_FUNCTION Pair product(Bits a, Bits b) {
  const Bits high = M::mul(a, b);
  return {high, M::fma(a, b, negated(high))};
}

/// The logarithm to the base 2 of a positive number, with twenty bits more than an f32 has: of x =
/// 2^e m by s = (m - 1) / (m + 1), log(m) = 2 s + 2/3 s^3 + s^5 q(s^2).
template <class M>
TILEVM_FUNCTION Pair log2_pair(Bits x) {
  const bool subnormal = x < 0x00800000u;
  const Bits y = subnormal ? M::mul(x, 0x4b000000u) : x;  // * 2^23
  const int exponent = static_cast<int>(y - 0x3f3504f3u) >> 23;
  const Bits m = y - (static_cast<Bits>(exponent) << 23);
  const Bits e = M::sub(magic + static_cast<Bits>(subnormal ? exponent - 23 : exponent), magic);
  const Bits f = M::sub(m, one);
  const Pair d = fast_sum<M>(m < one ? one : m, m < one ? m : one);
  const Bits s = M::div(f, d.high);
  const Bits rest = M::fma(negated(s), d.low, M::fma(negated(s), d.high, f));
  const Bits s_low = M::div(rest, d.high);
  // z = s^2 and the term of s^3 in two parts; what follows needs one.
  const Pair square = product<M>(s, s);
  const Bits square_low = M::fma(M::add(s, s), s_low, square.low);
  const Pair third = product<M>(square.high, 0x3eaaaaabu);  // 1/3
  const Bits third_low =
      M::fma(square.high, 0xb2aaaaabu, M::fma(square_low, 0x3eaaaaabu, third.low));
  const Bits q = polynomial<M>(square.high, 0x3dba2e8cu, 0x3de38e39u, 0x3e124925u, 0x3e4ccccdu);
  // w = s^2 / 3 + s^4 q, so that log(m) = 2 s (1 + w).
  const Bits fourth = M::mul(M::mul(square.high, square.high), q);
  const Pair w = fast_sum<M>(third.high, M::add(fourth, third_low));
  const Pair sw = product<M>(s, w.high);
  const Bits sw_low = M::fma(s, w.low, M::fma(s_low, w.high, sw.low));
  const Pair sum = fast_sum<M>(s, sw.high);
  const Bits sum_low = M::add(sum.low, M::add(s_low, sw_low));
  // 2 / log(2) in two parts.
  const Pair scaled_sum = product<M>(sum.high, 0x4038aa3bu);
  const Bits scaled_low =
      M::fma(sum.high, 0x33257060u, M::fma(sum_low, 0x4038aa3bu, scaled_sum.low));
  const Pair first = fast_sum<M>(e, scaled_sum.high);  // |e| >= 1, or e is 0
  const Pair all = fast_sum<M>(first.high, M::add(first.low, scaled_low));
  return all;
}

/// |x|^y for a positive number x and a number y.
template <class M>
TILEVM_FUNCTION Bits power_of(Bits x, Bits y) {
  const Pair l = log2_pair<M>(x);
  const Pair whole = product<M>(y, l.high);
  const bool far = magnitude(whole.high) > 0x43200000u;  // 160, or y is so large
  const Bits low = far ? 0 : M::fma(y, l.low, whole.low);
  const Bits z = clamped<M>(whole.high, 0xc3200000u, 0x43200000u);
  const Bits t = M::add(z, magic);
  const Bits f = M::add(M::sub(z, M::sub(t, magic)), low);
  const Bits p = polynomial<M>(f, 0x3920e99au, 0x3aafa2b5u, 0x3c1d96deu, 0x3d63576au, 0x3e75fdedu,
                               0x3f317218u, one);
  return scaled<M>(p, static_cast<int>(t - magic));
}

/// The parity of a number: 0 if it is not an integer, 1 if it is odd, 2 if it is even.
TILEVM_FUNCTION Bits parity(Bits y) {
  const Bits exponent = magnitude(y) >> 23;  // less than 127: below 1
  const Bits shift = exponent < 127 ? 0 : exponent > 150 ? 24 : exponent - 127;
  const Bits significand = (y & 0x007fffffu) | 0x00800000u;
  const Bits bits = significand << shift;  // the last bit before the point is bit 23
  const bool whole = exponent >= 127 ? (bits & 0x007fffffu) == 0 : magnitude(y) == 0;
  const bool odd = exponent >= 127 && exponent <= 150 && (bits & 0x00800000u) != 0;
  return !whole ? 0 : odd ? 1 : 2;
}

/// As IEEE 754 has it: 1 if y is 0 or x is 1, whatever the other is; NaN for a negative number x
/// and y that is not an integer.
template <class M>
TILEVM_FUNCTION Bits pow(Bits x, Bits y) {
  const Bits a = magnitude(x), b = magnitude(y), kind = parity(y);
  const Bits sign = kind == 1 ? x & sign_bit : 0;
  const bool grows = (a > one) == ((y & sign_bit) == 0);
  const Bits limit = a == one ? one : grows ? infinity : 0;  // where x or y is 0 or infinite
  const bool special = a == 0 || a >= infinity || b >= infinity;
  const Bits value = special ? limit : power_of<M>(a, y);
  const bool root = (x & sign_bit) != 0 && a - 1 < infinity - 1 && kind == 0;
  const bool invalid = is_nan(x) || is_nan(y) || root;
  const Bits number = invalid ? nan : value | sign;
  return b == 0 || x == one ? one : number;
}

// ---- Roots and reciprocals: rounded correctly ---------------------------------------------------

template <class M>
TILEVM_FUNCTION Bits sqrt(Bits x) {
  return canonical(M::sqrt(x));
}

template <class M>
TILEVM_FUNCTION Bits rcp(Bits x) {
  return canonical(M::div(one, x));
}

/// y = 1 / sqrt(x), nearly; then y + y (e / 2 + 3 e^2 / 8), where e = 1 - x y y: rounded correctly,
/// which a test shows for every significand and both parities of the exponent.
template <class M>
TILEVM_FUNCTION Bits rsqrt(Bits x) {
  const Bits y = M::div(one, M::sqrt(x));
  const Bits high = M::mul(x, y), low = M::fma(x, y, negated(high));
  const Bits error = M::fma(negated(low), y, M::fma(negated(high), y, one));
  const Bits step = M::fma(M::mul(0x3ec00000u, error), error, M::mul(half, error));
  const Bits better = M::fma(y, step, y);
  return x - 1 < infinity - 1 ? better : canonical(y);
}

// ---- Random numbers -----------------------------------------------------------------------------

/// Four words that a counter and a key give: Philox 4x32 of 10 rounds (Salmon et al., Parallel
/// Random Numbers: As Easy as 1, 2, 3).
struct RandomWords {
  Bits word[4];
};
TILEVM_FUNCTION RandomWords philox(Bits c0, Bits c1, Wide stream, Wide key) {
  Bits c2 = static_cast<Bits>(stream), c3 = static_cast<Bits>(stream >> 32);
  Bits k0 = static_cast<Bits>(key), k1 = static_cast<Bits>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const Wide even = static_cast<Wide>(0xd2511f53u) * c0;
    const Wide odd = static_cast<Wide>(0xcd9e8d57u) * c2;
    c0 = static_cast<Bits>(odd >> 32) ^ c1 ^ k0;
    c2 = static_cast<Bits>(even >> 32) ^ c3 ^ k1;
    c1 = static_cast<Bits>(odd);
    c3 = static_cast<Bits>(even);
    k0 += 0x9e3779b9u;
    k1 += 0xbb67ae85u;
  }
  return {{c0, c1, c2, c3}};
}

}  // namespace tilevm::functions
