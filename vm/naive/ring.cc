#include "vm/naive/ring.h"

#include <algorithm>
#include <functional>

#include <fmt/format.h>

#include "isa/base/check.h"

namespace tilevm::vm::naive {
namespace {

using isa::BinaryOp, isa::UnaryOp;

/// Below 2^32: products fit 64 bits.
std::uint64_t power(std::uint64_t base, std::uint64_t exponent, std::uint64_t modulus) {
  std::uint64_t result = 1 % modulus;
  for (base %= modulus; exponent != 0; exponent >>= 1, base = base * base % modulus) {
    if ((exponent & 1) != 0) result = result * base % modulus;
  }
  return result;
}

/// By trial: a factor of a number below 2^32 is below 2^16 or leaves a prime.
std::uint64_t largest_prime_factor(std::uint64_t number) {
  std::uint64_t largest = 1;
  for (std::uint64_t factor = 2; factor * factor <= number; ++factor) {
    while (number % factor == 0) {
      largest = factor;
      number /= factor;
    }
  }
  return std::max(largest, number);
}

/// The factor 2^exponent of a number.
std::uint64_t scaled(std::uint64_t significand, int exponent, std::uint64_t modulus) {
  const std::uint64_t two = exponent < 0 ? (modulus + 1) / 2 : 2;
  const auto magnitude = static_cast<std::uint64_t>(exponent < 0 ? -exponent : exponent);
  return significand % modulus * power(two, magnitude, modulus) % modulus;
}

std::uint64_t negated(std::uint64_t value, std::uint64_t modulus) {
  return value == 0 ? 0 : modulus - value;
}

/// Names of opaque functions: those of the instructions, and others above them.
enum class Opaque : std::uint64_t {
  unary = 0x100,
  binary = 0x200,
  infinity = 0x300,
  nan,
  quotient_by_zero,
  constant,
  power_as_exponent,
};
std::uint64_t name_of(UnaryOp op) {
  return static_cast<std::uint64_t>(Opaque::unary) + static_cast<std::uint64_t>(op);
}
std::uint64_t name_of(BinaryOp op) {
  return static_cast<std::uint64_t>(Opaque::binary) + static_cast<std::uint64_t>(op);
}

/// A permutation of words whose every bit of the result depends on every bit (SplitMix64's last
/// step).
std::uint64_t mixed(std::uint64_t word) {
  word = (word ^ word >> 30) * 0xbf58476d1ce4e5b9;
  word = (word ^ word >> 27) * 0x94d049bb133111eb;
  return word ^ word >> 31;
}

constexpr double log2_e = 0x1.715476p+0;  ///< the f32 that kernels write
constexpr double ln_2 = 0x1.62e43p-1;

}  // namespace

Result<Ring> Ring::make(std::uint64_t modulus) {
  constexpr std::uint64_t least = 65'537, end = std::uint64_t{1} << 32;
  if (modulus < least || modulus >= end || largest_prime_factor(modulus) != modulus) {
    return Error{ErrorKind::usage,
                 fmt::format("--ring {} is not a prime from {} up to 2^32; {} is one", modulus,
                             least, default_modulus)};
  }
  const std::uint64_t q = largest_prime_factor(modulus - 1);
  if (q < least) {
    return Error{ErrorKind::usage,
                 fmt::format("--ring {}: exponents are residues modulo the largest prime factor "
                             "of {}, which is {}: too few to tell them apart; {} is a prime with a "
                             "larger one",
                             modulus, modulus - 1, q, default_modulus)};
  }
  return Ring(modulus, q);
}

Ring::Ring(std::uint64_t p, std::uint64_t q) : p_(p), q_(q) {
  // 2 itself where its order is q: then exp2(1) is 2.
  if (power(2, q, p) == 1) return;
  for (std::uint64_t candidate = 2; base_ == 2 || base_ == 1; ++candidate) {
    base_ = power(candidate, (p - 1) / q, p);
  }
}

Ring Ring::free() {
  Ring ring = *make(default_modulus);
  ring.is_free_ = true;
  return ring;
}

Residue Ring::of_code(const isa::DType& type, std::uint64_t code) const {
  if (!is_free_) return of(isa::decode(type, code));
  const std::uint64_t function =
      static_cast<std::uint64_t>(Opaque::constant) + std::hash<isa::DType>{}(type);
  return opaque(mixed(function) ^ mixed(code), {});
}

Residue Ring::of(const isa::Number& number) const {
  if (number.is_nan()) return opaque(static_cast<std::uint64_t>(Opaque::nan), {});
  if (number.is_inf()) {
    const Residue infinity = opaque(static_cast<std::uint64_t>(Opaque::infinity), {});
    return number.negative ? subtract(Residue(0, 0), infinity) : infinity;
  }
  const std::uint64_t a = scaled(number.significand, number.exponent, p_);
  const std::uint64_t b = scaled(number.significand, number.exponent, q_);
  return number.negative ? Residue(negated(a, p_), negated(b, q_)) : Residue(a, b);
}

Residue Ring::constant(double value) const { return of(isa::number_from(value)); }

Residue Ring::add(Residue a, Residue b) const {
  return {(a.modulo_p() + b.modulo_p()) % p_, (a.modulo_q() + b.modulo_q()) % q_};
}
Residue Ring::subtract(Residue a, Residue b) const {
  return add(a, {negated(b.modulo_p(), p_), negated(b.modulo_q(), q_)});
}
Residue Ring::multiply(Residue a, Residue b) const {
  return {a.modulo_p() * b.modulo_p() % p_, a.modulo_q() * b.modulo_q() % q_};
}

Residue Ring::inverse(Residue a) const {
  if (a.modulo_p() == 0 || a.modulo_q() == 0) {
    return opaque(static_cast<std::uint64_t>(Opaque::quotient_by_zero), {a});
  }
  return {power(a.modulo_p(), p_ - 2, p_), power(a.modulo_q(), q_ - 2, q_)};
}

Residue Ring::opaque(std::uint64_t function, std::span<const Residue> arguments) const {
  std::uint64_t first = mixed(function), second = mixed(~function);
  for (const Residue argument : arguments) {
    // The residues modulo q of one formula may differ, if it is a power.
    const std::uint64_t word = is_free_ ? argument.word() : argument.modulo_p();
    first = mixed(first ^ word) + 0x9e3779b97f4a7c15;
    second = mixed(second + word) ^ 0xc2b2ae3d27d4eb4f;
  }
  return {first % p_, second % q_};
}

Residue Ring::exp2(Residue a) const {
  const std::uint64_t result = power(base_, a.modulo_q(), p_);
  // A power as an exponent is a hash of itself.
  const Residue exponent =
      opaque(static_cast<std::uint64_t>(Opaque::power_as_exponent), {Residue(result, 0)});
  return {result, exponent.modulo_q()};
}

Residue Ring::exponential(Residue a) const { return exp2(multiply(a, constant(log2_e))); }

Residue Ring::apply(UnaryOp op, Residue a, bool negative) const {
  const Residue zero(0, 0), one(1, 1);
  switch (op) {
    case UnaryOp::neg:
      return subtract(zero, a);
    case UnaryOp::abs:
      return negative ? subtract(zero, a) : a;
    case UnaryOp::exp2:
    case UnaryOp::exp2_approximate:
    case UnaryOp::ex2_approx:
    case UnaryOp::ex2_approx_ftz:
      return exp2(a);
    case UnaryOp::exp:
      return exponential(a);
    case UnaryOp::sigmoid:
      return inverse(add(one, exponential(subtract(zero, a))));
    case UnaryOp::tanh:
    case UnaryOp::tanh_approx: {
      const Residue two = add(one, one);
      return subtract(one, multiply(two, inverse(add(one, exponential(multiply(two, a))))));
    }
    case UnaryOp::rcp:
    case UnaryOp::rcp_approx:
    case UnaryOp::rcp_approx_ftz:
      return inverse(a);
    case UnaryOp::sqrt_approx:
    case UnaryOp::sqrt_approx_ftz:
      return apply(UnaryOp::sqrt, a, negative);
    case UnaryOp::rsqrt:
    case UnaryOp::rsqrt_approx:
    case UnaryOp::rsqrt_approx_ftz:
      return inverse(apply(UnaryOp::sqrt, a, negative));
    case UnaryOp::lg2_approx:
    case UnaryOp::lg2_approx_ftz:
      return apply(UnaryOp::log2, a, negative);
    case UnaryOp::log:
      return multiply(apply(UnaryOp::log2, a, negative), constant(ln_2));
    case UnaryOp::sin_approx:
    case UnaryOp::sin_approx_ftz:
      return apply(UnaryOp::sin, a, negative);
    case UnaryOp::cos_approx:
    case UnaryOp::cos_approx_ftz:
      return apply(UnaryOp::cos, a, negative);
    case UnaryOp::log2:
    case UnaryOp::sin:
    case UnaryOp::cos:
    case UnaryOp::sqrt:
    case UnaryOp::erf:
    case UnaryOp::floor:
    case UnaryOp::ceil:
    case UnaryOp::round:
    case UnaryOp::trunc:
      return opaque(name_of(op), {a});
  }
  TILEVM_NO_ENUMERATOR();
}

Residue Ring::apply(BinaryOp op, Residue a, Residue b, bool takes_b) const {
  switch (op) {
    case BinaryOp::add:
      return add(a, b);
    case BinaryOp::sub:
      return subtract(a, b);
    case BinaryOp::mul:
      return multiply(a, b);
    case BinaryOp::div:
    case BinaryOp::div_full:
    case BinaryOp::div_full_ftz:
    case BinaryOp::div_approx:
    case BinaryOp::div_approx_ftz:
      return multiply(a, inverse(b));
    case BinaryOp::min:
    case BinaryOp::max:
      return takes_b ? b : a;
    case BinaryOp::mod:
    case BinaryOp::pow:
      return opaque(name_of(op), {a, b});
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
      return {};
  }
  TILEVM_NO_ENUMERATOR();
}

}  // namespace tilevm::vm::naive
