// Functions of one element: which sequence of isa/type/function_sequences.h each operation is.
#pragma once

#include <cmath>
#include <cstdint>

#include "isa/base/check.h"
#include "isa/type/function_sequences.h"
#include "isa/type/operations.h"

namespace tilevm::isa {

/// A function on f32, where M is the machine that computes, and on numbers. The operations that
/// IEEE 754 rounds are their own definition on f64. An operation that is a function has a
/// specialisation.
template <UnaryOp op>
struct Function;

template <>
struct Function<UnaryOp::exp2> {
  template <class M>
  TILEVM_FUNCTION static std::uint32_t f32(std::uint32_t x) {
    return functions::exp2<M>(x);
  }
  static double real(double x) { return std::exp2(x); }
};
template <>
struct Function<UnaryOp::exp> {
  template <class M>
  TILEVM_FUNCTION static std::uint32_t f32(std::uint32_t x) {
    return functions::exp<M>(x);
  }
  static double real(double x) { return std::exp(x); }
};
template <>
struct Function<UnaryOp::log2> {
  template <class M>
  TILEVM_FUNCTION static std::uint32_t f32(std::uint32_t x) {
    return functions::log2<M>(x);
  }
  static double real(double x) { return std::log2(x); }
};
template <>
struct Function<UnaryOp::log> {
  template <class M>
  TILEVM_FUNCTION static std::uint32_t f32(std::uint32_t x) {
    return functions::log<M>(x);
  }
  static double real(double x) { return std::log(x); }
};
template <>
struct Function<UnaryOp::sin> {
  template <class M>
  TILEVM_FUNCTION static std::uint32_t f32(std::uint32_t x) {
    return functions::sin<M>(x);
  }
  static double real(double x) { return std::sin(x); }
};
template <>
struct Function<UnaryOp::cos> {
  template <class M>
  TILEVM_FUNCTION static std::uint32_t f32(std::uint32_t x) {
    return functions::cos<M>(x);
  }
  static double real(double x) { return std::cos(x); }
};
template <>
struct Function<UnaryOp::tanh> {
  template <class M>
  TILEVM_FUNCTION static std::uint32_t f32(std::uint32_t x) {
    return functions::tanh<M>(x);
  }
  static double real(double x) { return std::tanh(x); }
};
template <>
struct Function<UnaryOp::sigmoid> {
  template <class M>
  TILEVM_FUNCTION static std::uint32_t f32(std::uint32_t x) {
    return functions::sigmoid<M>(x);
  }
  static double real(double x) { return 1 / (1 + std::exp(-x)); }
};
template <>
struct Function<UnaryOp::sqrt> {
  template <class M>
  TILEVM_FUNCTION static std::uint32_t f32(std::uint32_t x) {
    return functions::sqrt<M>(x);
  }
  static double real(double x) { return std::sqrt(x); }
};
template <>
struct Function<UnaryOp::rsqrt> {
  template <class M>
  TILEVM_FUNCTION static std::uint32_t f32(std::uint32_t x) {
    return functions::rsqrt<M>(x);
  }
  static double real(double x) { return 1 / std::sqrt(x); }
};
template <>
struct Function<UnaryOp::rcp> {
  template <class M>
  TILEVM_FUNCTION static std::uint32_t f32(std::uint32_t x) {
    return functions::rcp<M>(x);
  }
  static double real(double x) { return 1 / x; }
};

template <>
struct Function<UnaryOp::erf> {
  template <class M>
  TILEVM_FUNCTION static std::uint32_t f32(std::uint32_t x) {
    return functions::erf<M>(x);
  }
  static double real(double x) { return std::erf(x); }
};
template <>
struct Function<UnaryOp::exp2_approximate> {
  template <class M>
  TILEVM_FUNCTION static std::uint32_t f32(std::uint32_t x) {
    return functions::exp2_approximate<M>(x);
  }
  static double real(double x) { return std::exp2(x); }
};

/// Calls f(Function<op>{}).
template <class F>
decltype(auto) with_function(UnaryOp op, F&& f) {
  switch (op) {
    case UnaryOp::exp2:
      return f(Function<UnaryOp::exp2>{});
    case UnaryOp::exp:
      return f(Function<UnaryOp::exp>{});
    case UnaryOp::log2:
      return f(Function<UnaryOp::log2>{});
    case UnaryOp::log:
      return f(Function<UnaryOp::log>{});
    case UnaryOp::sin:
      return f(Function<UnaryOp::sin>{});
    case UnaryOp::cos:
      return f(Function<UnaryOp::cos>{});
    case UnaryOp::tanh:
      return f(Function<UnaryOp::tanh>{});
    case UnaryOp::sigmoid:
      return f(Function<UnaryOp::sigmoid>{});
    case UnaryOp::sqrt:
      return f(Function<UnaryOp::sqrt>{});
    case UnaryOp::rsqrt:
      return f(Function<UnaryOp::rsqrt>{});
    case UnaryOp::rcp:
      return f(Function<UnaryOp::rcp>{});
    case UnaryOp::erf:
      return f(Function<UnaryOp::erf>{});
    case UnaryOp::exp2_approximate:
      return f(Function<UnaryOp::exp2_approximate>{});
    case UnaryOp::neg:
    case UnaryOp::abs:
    case UnaryOp::floor:
    case UnaryOp::ceil:
    case UnaryOp::round:
    case UnaryOp::trunc:
    case UnaryOp::ex2_approx:
    case UnaryOp::ex2_approx_ftz:
    case UnaryOp::lg2_approx:
    case UnaryOp::lg2_approx_ftz:
    case UnaryOp::rcp_approx:
    case UnaryOp::rcp_approx_ftz:
    case UnaryOp::rsqrt_approx:
    case UnaryOp::rsqrt_approx_ftz:
    case UnaryOp::sqrt_approx:
    case UnaryOp::sqrt_approx_ftz:
    case UnaryOp::sin_approx:
    case UnaryOp::sin_approx_ftz:
    case UnaryOp::cos_approx:
    case UnaryOp::cos_approx_ftz:
    case UnaryOp::tanh_approx:
      break;
  }
  TILEVM_CHECK(false, "no function");
}

/// A function on a code of a type that it is defined on.
[[nodiscard]] std::uint64_t apply_function(UnaryOp op, const DType& type, std::uint64_t code);

/// a to the power of b, of a type that has it (BinaryClass::power).
[[nodiscard]] std::uint64_t apply_power(const DType& type, std::uint64_t a, std::uint64_t b);

}  // namespace tilevm::isa
