#include "isa/type/arith.h"

#include <bit>
#include <cmath>
#include <utility>

#include "isa/type/approximation.h"
#include "isa/type/bits.h"
#include "isa/type/function.h"
#include "isa/type/number.h"

namespace tilevm::isa {
namespace {

/// On codes of f32 or f64, by the host's IEEE arithmetic (round to nearest even, subnormals kept);
/// x86 and GPUs differ in the bits of a NaN, so it is replaced.
template <class Float, class Bits, class F>
std::uint64_t on_floats(const DType& type, std::uint64_t a, std::uint64_t b, F f) {
  const Float result =
      f(std::bit_cast<Float>(static_cast<Bits>(a)), std::bit_cast<Float>(static_cast<Bits>(b)));
  return result != result ? canonical_nan(type) : std::bit_cast<Bits>(result);
}

/// The highest bit; none of a float without a sign.
std::uint64_t sign_bit(const DType& type) {
  return type.is_unsigned_float() ? 0 : std::uint64_t{1} << (type.bits - 1);
}

bool is_nan(const DType& type, std::uint64_t code) {
  return type.is_float() && decode(type, code).is_nan();
}

/// The order of the values that are not NaN, -0 before +0.
std::int64_t rank(const DType& type, std::uint64_t code) {
  if (type.is_float()) {
    const auto magnitude =
        static_cast<std::int64_t>((code & ~sign_bit(type)) >> type.unused_bits());
    return (code & sign_bit(type)) != 0 ? -1 - magnitude : magnitude;
  }
  if (type.is_signed_int()) {
    return static_cast<std::int64_t>(code << (64 - type.bits)) >> (64 - type.bits);
  }
  return static_cast<std::int64_t>(code ^ std::uint64_t{1} << 63);  // of u64, too
}

/// Which of two elements min and max give.
enum class Choice : std::uint8_t { smaller, larger };

std::uint64_t choose(Choice choice, const DType& type, std::uint64_t a, std::uint64_t b) {
  if (is_nan(type, a) && is_nan(type, b)) return canonical_nan(type);
  const bool first_less = rank(type, a) < rank(type, b);
  const bool take_first =
      is_nan(type, b) || (!is_nan(type, a) && first_less == (choice == Choice::smaller));
  return (take_first ? a : b) & ~low_mask(type.unused_bits());
}

/// Whether holds(x, y) of the ranks of two elements, in which -0 and +0 are equal; with a NaN only
/// inequality holds.
template <class F>
std::uint64_t compare(const DType& type, std::uint64_t a, std::uint64_t b, F holds) {
  constexpr bool differs = holds(0, 1) && holds(1, 0);
  if (is_nan(type, a) || is_nan(type, b)) return differs ? 1 : 0;
  const bool zeros = type.is_float() && decode(type, a).is_zero() && decode(type, b).is_zero();
  const std::int64_t x = zeros ? 0 : rank(type, a), y = zeros ? 0 : rank(type, b);
  return holds(x, y) ? 1 : 0;
}

std::uint64_t shift_left(const DType& type, std::uint64_t a, std::uint64_t count) {
  return count >= type.bits ? 0 : (a << count) & low_mask(type.bits);
}

/// Signed integers keep their sign.
std::uint64_t shift_right(const DType& type, std::uint64_t a, std::uint64_t count) {
  const bool out = count >= type.bits;
  const bool negative = type.is_signed_int() && (a & sign_bit(type)) != 0;
  const std::uint64_t shifted = out ? 0 : a >> count;
  const std::uint64_t kept = out ? 0 : low_mask(type.bits) >> count;
  return negative ? shifted | (low_mask(type.bits) & ~kept) : shifted;
}

/// f(a, b) of the magnitudes of integers, with the sign put back: the least value needs no case of
/// its own. The result for a divisor of zero is 0.
template <class F>
std::uint64_t divide(const DType& type, std::uint64_t a, std::uint64_t b, F f) {
  const auto is_negative = [&](std::uint64_t code) {
    return type.is_signed_int() && (code & sign_bit(type)) != 0;
  };
  const auto magnitude = [&](std::uint64_t code) {
    return is_negative(code) ? (0 - code) & low_mask(type.bits) : code;
  };
  if (b == 0) return 0;
  const auto [result, negative] = f(magnitude(a), magnitude(b), is_negative(a), is_negative(b));
  return negative ? (0 - result) & low_mask(type.bits) : result;
}

/// Integers by `on_integers` of their codes; floats by `f`, narrow ones, and f16 and bf16, whose
/// results are exact in f32 before the one rounding, by way of f32.
template <class Integers, class F>
std::uint64_t arithmetic(const DType& type, std::uint64_t a, std::uint64_t b, Integers on_integers,
                         F f) {
  if (type.is_integer()) return on_integers(type, a, b);
  if (type == f32) return on_floats<float, std::uint32_t>(type, a, b, f);
  if (type == f64) return on_floats<double, std::uint64_t>(type, a, b, f);
  const DType compute = compute_type(type), wide = compute.is_float() ? f32 : compute;
  return cast(wide, type,
              arithmetic(wide, cast(type, wide, a), cast(type, wide, b), on_integers, f));
}

/// A sum, difference or product, whose low bits do not depend on higher ones: 64 bits serve for
/// every width and for both signs.
template <class F>
std::uint64_t arithmetic(const DType& type, std::uint64_t a, std::uint64_t b, F f) {
  const auto on_integers = [f](const DType& integer, std::uint64_t x, std::uint64_t y) {
    return f(x, y) & low_mask(integer.bits);
  };
  return arithmetic(type, a, b, on_integers, f);
}

std::uint64_t quotient(const DType& type, std::uint64_t a, std::uint64_t b) {
  return divide(type, a, b, [](std::uint64_t x, std::uint64_t y, bool minus_x, bool minus_y) {
    return std::pair(x / y, minus_x != minus_y);
  });
}

std::uint64_t remainder(const DType& type, std::uint64_t a, std::uint64_t b) {
  return divide(type, a, b, [](std::uint64_t x, std::uint64_t y, bool minus_x, bool) {
    return std::pair(x % y, minus_x);
  });
}

std::uint64_t negate(const DType& type, std::uint64_t a) {
  if (type.is_bipolar()) return ~a & low_mask(type.bits);
  if (type.is_integer()) return (0 - a) & low_mask(type.bits);
  if (is_nan(type, a)) return canonical_nan(type);
  if (!type.has_sign()) return lowest_code(type);
  return (a ^ sign_bit(type)) & ~low_mask(type.unused_bits());
}

std::uint64_t absolute(const DType& type, std::uint64_t a) {
  const bool top = (a & sign_bit(type)) != 0;
  if (type.is_bipolar()) return top ? a : negate(type, a);
  if (type.is_integer()) return top && type.is_signed_int() ? negate(type, a) : a;
  return is_nan(type, a) ? canonical_nan(type)
                         : a & ~sign_bit(type) & ~low_mask(type.unused_bits());
}

/// Whether the magnitude of an integer part is one larger, by the fraction that is cut off: its
/// first bit, and whether any other bit of it is set.
bool rounds_up(UnaryOp op, bool negative, bool is_odd, bool half, bool rest) {
  if (op == UnaryOp::trunc) return false;
  if (op == UnaryOp::round) return half && (rest || is_odd);
  return (half || rest) && negative == (op == UnaryOp::floor);
}

/// An integer near the value; the sign stays, also that of a zero.
std::uint64_t to_integral(UnaryOp op, const DType& type, std::uint64_t a) {
  Number value = decode(type, a);
  if (value.is_nan() || value.is_inf() || value.exponent >= 0) return encode(type, value);
  const int cut = -value.exponent;  // bits after the point
  const bool all = cut > 64;
  const std::uint64_t whole = cut >= 64 ? 0 : value.significand >> cut;
  const bool half = !all && (value.significand >> (cut - 1) & 1) != 0;
  const std::uint64_t below = all ? value.significand : value.significand & low_mask(cut - 1);
  const bool up = rounds_up(op, value.negative, (whole & 1) != 0, half, below != 0);
  value.significand = whole + (up ? 1 : 0);
  value.exponent = 0;
  return encode(type, value);
}

}  // namespace

DType compute_type(const DType& type) {
  switch (type.kind) {
    case TypeKind::signed_int:
      return type.bits == 64 ? type : i32;
    case TypeKind::unsigned_int:
      return type.bits == 64 ? type : u32;
    case TypeKind::bipolar:
      return i32;
    case TypeKind::floating:
      break;
  }
  return type == f16 || type == bf16 || type == f64 ? type : f32;
}

std::uint64_t apply(BinaryOp op, const DType& type, std::uint64_t a, std::uint64_t b) {
  switch (op) {
    case BinaryOp::add:
      return arithmetic(type, a, b, [](auto x, auto y) { return x + y; });
    case BinaryOp::sub:
      return arithmetic(type, a, b, [](auto x, auto y) { return x - y; });
    case BinaryOp::mul:
      return arithmetic(type, a, b, [](auto x, auto y) { return x * y; });
    case BinaryOp::div:
      return arithmetic(type, a, b, quotient, [](auto x, auto y) { return x / y; });
    case BinaryOp::mod:  // fmod is always exact
      return arithmetic(type, a, b, remainder, [](auto x, auto y) { return std::fmod(x, y); });
    case BinaryOp::min:
      return choose(Choice::smaller, type, a, b);
    case BinaryOp::max:
      return choose(Choice::larger, type, a, b);
    case BinaryOp::bit_and:
      return a & b;
    case BinaryOp::bit_or:
      return a | b;
    case BinaryOp::bit_xor:
      return a ^ b;
    case BinaryOp::shl:
      return shift_left(type, a, b);
    case BinaryOp::shr:
      return shift_right(type, a, b);
    case BinaryOp::eq:
      return compare(type, a, b, [](auto x, auto y) { return x == y; });
    case BinaryOp::ne:
      return compare(type, a, b, [](auto x, auto y) { return x != y; });
    case BinaryOp::lt:
      return compare(type, a, b, [](auto x, auto y) { return x < y; });
    case BinaryOp::le:
      return compare(type, a, b, [](auto x, auto y) { return x <= y; });
    case BinaryOp::gt:
      return compare(type, a, b, [](auto x, auto y) { return x > y; });
    case BinaryOp::ge:
      return compare(type, a, b, [](auto x, auto y) { return x >= y; });
    case BinaryOp::pow:
      return apply_power(type, a, b);
    case BinaryOp::div_full:
    case BinaryOp::div_full_ftz:
    case BinaryOp::div_approx:
    case BinaryOp::div_approx_ftz:
      return apply_quotient(op, a, b);
  }
  TILEVM_NO_ENUMERATOR();
}

RealFunction2 unrounded(BinaryOp op, const DType& type) {
  switch (op) {
    case BinaryOp::add:
      return [](double a, double b) { return a + b; };
    case BinaryOp::sub:
      return [](double a, double b) { return a - b; };
    case BinaryOp::mul:
      return [](double a, double b) { return a * b; };
    case BinaryOp::div:
      if (type.is_integer()) return [](double a, double b) { return std::trunc(a / b); };
      return [](double a, double b) { return a / b; };
    case BinaryOp::mod:
      return [](double a, double b) { return std::fmod(a, b); };
    case BinaryOp::min:
      return [](double a, double b) { return std::fmin(a, b); };
    case BinaryOp::max:
      return [](double a, double b) { return std::fmax(a, b); };
    case BinaryOp::pow:
      return [](double a, double b) { return std::pow(a, b); };
    case BinaryOp::div_full:
    case BinaryOp::div_full_ftz:
    case BinaryOp::div_approx:
    case BinaryOp::div_approx_ftz:
      return [](double a, double b) { return a / b; };
    case BinaryOp::bit_and:
    case BinaryOp::bit_or:
    case BinaryOp::bit_xor:
    case BinaryOp::shl:
    case BinaryOp::shr:
    case BinaryOp::eq:
    case BinaryOp::ne:
    case BinaryOp::lt:
    case BinaryOp::le:
    case BinaryOp::gt:
    case BinaryOp::ge:
      return nullptr;
  }
  TILEVM_NO_ENUMERATOR();
}

std::uint64_t apply(UnaryOp op, const DType& type, std::uint64_t a) {
  switch (class_of(op)) {
    case UnaryClass::negation:
      return negate(type, a);
    case UnaryClass::magnitude:
      return absolute(type, a);
    case UnaryClass::function:
    case UnaryClass::ieee_function:
      return apply_function(op, type, a);
    case UnaryClass::integral:
      return to_integral(op, type, a);
    case UnaryClass::approximation:
      return apply_approximation(op, type, a);
  }
  TILEVM_NO_ENUMERATOR();
}

RealFunction1 unrounded(UnaryOp op) {
  switch (class_of(op)) {
    case UnaryClass::negation:
      return [](double x) { return -x; };
    case UnaryClass::magnitude:
      return [](double x) { return std::fabs(x); };
    case UnaryClass::function:
    case UnaryClass::ieee_function:
      return with_function(
          op, []<class F>(F) -> RealFunction1 { return [](double x) { return F::real(x); }; });
    case UnaryClass::integral:
      if (op == UnaryOp::floor) return [](double x) { return std::floor(x); };
      if (op == UnaryOp::ceil) return [](double x) { return std::ceil(x); };
      if (op == UnaryOp::trunc) return [](double x) { return std::trunc(x); };
      return [](double x) { return std::nearbyint(x); };
    case UnaryClass::approximation:
      return unrounded_approximation(op);
  }
  TILEVM_NO_ENUMERATOR();
}

}  // namespace tilevm::isa
