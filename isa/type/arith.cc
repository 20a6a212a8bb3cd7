#include "isa/type/arith.h"

#include <bit>
#include <cmath>

#include "isa/type/bits.h"
#include "isa/type/function.h"
#include "isa/type/number.h"

namespace tilevm::isa {
namespace {

/// One operation of the host's IEEE arithmetic (round to nearest even, subnormals kept).
template <class Float>
Float operate(BinaryOp op, Float a, Float b) {
  switch (op) {
    case BinaryOp::add:
      return a + b;
    case BinaryOp::sub:
      return a - b;
    case BinaryOp::mul:
      return a * b;
    case BinaryOp::div:
      return a / b;
    default:
      break;
  }
  return std::fmod(a, b);  // always exact
}

/// On codes of f32 or f64; x86 and GPUs differ in the bits of a NaN, so it is replaced.
template <class Float, class Bits>
std::uint64_t operate_bits(BinaryOp op, const DType& type, std::uint64_t a, std::uint64_t b) {
  const Float result = operate(op, std::bit_cast<Float>(static_cast<Bits>(a)),
                               std::bit_cast<Float>(static_cast<Bits>(b)));
  return result != result ? canonical_nan(type) : std::bit_cast<Bits>(result);
}

/// Low bits of a sum, difference or product do not depend on higher bits, so 64 bits serve for
/// every width and for both signs.
std::uint64_t operate_wrapping(BinaryOp op, std::uint64_t a, std::uint64_t b) {
  switch (op) {
    case BinaryOp::add:
      return a + b;
    case BinaryOp::sub:
      return a - b;
    default:
      return a * b;
  }
}

/// Quotient or remainder of magnitudes; of negative numbers it is that of their magnitudes with the
/// sign put back, so the least value needs no case of its own.
std::uint64_t divide(BinaryOp op, const DType& type, std::uint64_t a, std::uint64_t b) {
  const auto is_negative = [&](std::uint64_t code) {
    return type.is_signed_int() && (code >> (type.bits - 1) & 1) != 0;
  };
  const auto negated = [&](std::uint64_t code) { return (0 - code) & low_mask(type.bits); };
  if (b == 0) return 0;
  const std::uint64_t x = is_negative(a) ? negated(a) : a, y = is_negative(b) ? negated(b) : b;
  if (op == BinaryOp::mod) return is_negative(a) ? negated(x % y) : x % y;
  return is_negative(a) != is_negative(b) ? negated(x / y) : x / y;
}

std::uint64_t sign_bit(const DType& type) { return std::uint64_t{1} << (type.bits - 1); }

/// The number of bits below the significand that mean nothing (tf32).
unsigned unused_bits(const DType& type) {
  return type.is_float() ? type.bits - 1U - type.exponent_bits - type.mantissa_bits : 0U;
}

bool is_nan(const DType& type, std::uint64_t code) {
  return type.is_float() && decode(type, code).is_nan();
}

/// The order of the values that are no NaN, -0 before +0.
std::int64_t rank(const DType& type, std::uint64_t code) {
  if (type.is_float()) {
    const auto magnitude = static_cast<std::int64_t>((code & ~sign_bit(type)) >> unused_bits(type));
    return (code & sign_bit(type)) != 0 ? -1 - magnitude : magnitude;
  }
  if (type.is_signed_int()) {
    return static_cast<std::int64_t>(code << (64 - type.bits)) >> (64 - type.bits);
  }
  return static_cast<std::int64_t>(code ^ std::uint64_t{1} << 63);  // of u64, too
}

std::uint64_t choose(BinaryOp op, const DType& type, std::uint64_t a, std::uint64_t b) {
  if (is_nan(type, a) && is_nan(type, b)) return canonical_nan(type);
  const bool first_less = rank(type, a) < rank(type, b);
  const bool take_first =
      is_nan(type, b) || (!is_nan(type, a) && first_less == (op == BinaryOp::min));
  return (take_first ? a : b) & ~low_mask(unused_bits(type));
}

bool compare(BinaryOp op, const DType& type, std::uint64_t a, std::uint64_t b) {
  if (is_nan(type, a) || is_nan(type, b)) return op == BinaryOp::ne;
  const bool zeros = type.is_float() && decode(type, a).is_zero() && decode(type, b).is_zero();
  const std::int64_t x = zeros ? 0 : rank(type, a), y = zeros ? 0 : rank(type, b);
  switch (op) {
    case BinaryOp::eq:
      return x == y;
    case BinaryOp::ne:
      return x != y;
    case BinaryOp::lt:
      return x < y;
    case BinaryOp::le:
      return x <= y;
    case BinaryOp::gt:
      return x > y;
    default:
      return x >= y;
  }
}

std::uint64_t operate_on_bits(BinaryOp op, const DType& type, std::uint64_t a, std::uint64_t b) {
  const bool out = b >= type.bits;
  const bool negative = type.is_signed_int() && (a & sign_bit(type)) != 0;
  switch (op) {
    case BinaryOp::bit_and:
      return a & b;
    case BinaryOp::bit_or:
      return a | b;
    case BinaryOp::bit_xor:
      return a ^ b;
    case BinaryOp::shl:
      return out ? 0 : (a << b) & low_mask(type.bits);
    default: {
      const std::uint64_t shifted = out ? 0 : a >> b;
      const std::uint64_t kept = out ? 0 : low_mask(type.bits) >> b;
      return negative ? shifted | (low_mask(type.bits) & ~kept) : shifted;
    }
  }
}

/// Types whose arithmetic is that of another: f16 and bf16 too, whose results are exact in f32
/// before the one rounding.
DType host_type(const DType& type) {
  const DType compute = compute_type(type);
  return compute == f16 || compute == bf16 ? f32 : compute;
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
  if (is_comparison(op)) return compare(op, type, a, b) ? 1 : 0;
  if (is_bitwise(op)) return operate_on_bits(op, type, a, b);
  if (op == BinaryOp::min || op == BinaryOp::max) return choose(op, type, a, b);
  if (faults_on_zero(op, type)) return divide(op, type, a, b);
  if (type.is_integer()) return operate_wrapping(op, a, b) & low_mask(type.bits);
  if (type == f32) return operate_bits<float, std::uint32_t>(op, type, a, b);
  if (type == f64) return operate_bits<double, std::uint64_t>(op, type, a, b);
  const DType wide = host_type(type);
  return cast(wide, type, apply(op, wide, cast(type, wide, a), cast(type, wide, b)));
}

std::uint64_t apply(UnaryOp op, const DType& type, std::uint64_t a) {
  if (is_function(op)) return apply_function(op, type, a);
  const bool top = (a & sign_bit(type)) != 0;
  if (type.is_bipolar()) return op == UnaryOp::abs && top ? a : ~a & low_mask(type.bits);
  if (type.is_integer()) {
    const bool negative = top && type.is_signed_int();
    return op == UnaryOp::abs && !negative ? a : (std::uint64_t{0} - a) & low_mask(type.bits);
  }
  if (is_nan(type, a)) return canonical_nan(type);
  const std::uint64_t magnitude = a & ~sign_bit(type) & ~low_mask(unused_bits(type));
  return op == UnaryOp::abs || top ? magnitude : magnitude | sign_bit(type);
}

}  // namespace tilevm::isa
