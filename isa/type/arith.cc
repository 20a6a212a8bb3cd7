#include "isa/type/arith.h"

#include <bit>
#include <cmath>

#include "isa/type/bits.h"
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
    case BinaryOp::mod:
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
  if (faults_on_zero(op, type)) return divide(op, type, a, b);
  if (type.is_integer()) return operate_wrapping(op, a, b) & low_mask(type.bits);
  if (type == f32) return operate_bits<float, std::uint32_t>(op, type, a, b);
  if (type == f64) return operate_bits<double, std::uint64_t>(op, type, a, b);
  const DType wide = host_type(type);
  return cast(wide, type, apply(op, wide, cast(type, wide, a), cast(type, wide, b)));
}

std::uint64_t apply(UnaryOp op, const DType& type, std::uint64_t a) {
  switch (op) {
    case UnaryOp::neg:
      break;
  }
  if (type.is_integer()) return (std::uint64_t{0} - a) & low_mask(type.bits);
  Number value = decode(type, a);
  value.negative = !value.negative;
  // Casts to small floats saturate, so encode would lose an Inf (f8e5m2).
  if (value.is_inf() && type.bits <= 8)
    return (a ^ (std::uint64_t{1} << (type.bits - 1))) & low_mask(type.bits);
  return encode(type, value);
}

}  // namespace tilevm::isa
