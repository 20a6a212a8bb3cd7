// Element-wise instructions of one operand as loops over lanes. Each equals isa::apply on every
// code.
#include <bit>
#include <cmath>
#include <cstdint>

#include "isa/type/arith.h"
#include "isa/type/bits.h"
#include "sim/arithmetic/element_loops.h"

namespace tilevm::sim {
namespace {

using isa::DType;
using isa::UnaryOp;

template <class Lane>
struct NegateInteger {
  Lane mask;
  TILEVM_INLINE Lane operator()(Lane code) const {
    return static_cast<Lane>((Lane{0} - code) & mask);
  }
};

template <class Lane>
struct AbsInteger {
  Lane mask, sign;
  TILEVM_INLINE Lane operator()(Lane code) const {
    const auto negated = static_cast<Lane>((Lane{0} - code) & mask);
    return (code & sign) != 0 ? negated : code;
  }
};

/// The sign of an IEEE float that fills its lane: flips or clears the sign bit.
template <class Lane, bool clear>
struct OnSign {
  Lane infinity;
  TILEVM_INLINE Lane operator()(Lane code) const {
    constexpr auto largest = static_cast<Lane>(static_cast<Lane>(~Lane{0}) >> 1);
    const auto magnitude = static_cast<Lane>(code & largest);
    const auto result = clear ? magnitude : static_cast<Lane>(code ^ static_cast<Lane>(~largest));
    return magnitude > infinity ? largest : result;
  }
};

/// Flips signs, or clears them.
template <bool clear>
LaneLoop1 sign_loop(const DType& type, SimdLevel level) {
  if (type.is_integer()) {
    return with_lane(type.bits, [&]<class Lane>() {
      const auto mask = static_cast<Lane>(isa::low_mask(type.bits));
      const auto sign = static_cast<Lane>(type.is_signed_int() ? mask ^ (mask >> 1) : 0);
      if constexpr (clear) return loop1<Lane, Lane>(level, AbsInteger<Lane>{mask, sign});
      return loop1<Lane, Lane>(level, NegateInteger<Lane>{mask});
    });
  }
  if (type.bits >= 16 && type != isa::tf32) {
    return with_lane(type.bits, [&]<class Lane>() {
      const auto infinity =
          static_cast<Lane>(isa::low_mask(type.exponent_bits) << type.mantissa_bits);
      return loop1<Lane, Lane>(level, OnSign<Lane, clear>{infinity});
    });
  }
  constexpr UnaryOp op = clear ? UnaryOp::abs : UnaryOp::neg;
  return defined_loop(type.bits, type.bits,
                      [type](std::uint64_t code) { return isa::apply(op, type, code); });
}

/// An integer near an f32 or f64, of which Lane is the code.
template <class Lane, class Value, Value (*function)(Value)>
struct ToIntegral {
  TILEVM_INLINE Lane operator()(Lane code) const {
    constexpr Lane nan = static_cast<Lane>(~Lane{0}) >> 1;
    const Value value = std::bit_cast<Value>(code);
    return value != value ? nan : std::bit_cast<Lane>(function(value));
  }
};

template <class Lane, class Value>
LaneLoop1 integral_loop(UnaryOp op, SimdLevel level) {
  if (op == UnaryOp::floor) {
    return loop1<Lane, Lane>(level, ToIntegral<Lane, Value, std::floor>{});
  }
  if (op == UnaryOp::ceil) return loop1<Lane, Lane>(level, ToIntegral<Lane, Value, std::ceil>{});
  if (op == UnaryOp::trunc) return loop1<Lane, Lane>(level, ToIntegral<Lane, Value, std::trunc>{});
  return loop1<Lane, Lane>(level, ToIntegral<Lane, Value, std::nearbyint>{});
}

LaneLoop1 integral_loop(UnaryOp op, const DType& type, SimdLevel level) {
  if (type == isa::f32) return integral_loop<std::uint32_t, float>(op, level);
  if (type == isa::f64) return integral_loop<std::uint64_t, double>(op, level);
  return defined_loop(type.bits, type.bits,
                      [op, type](std::uint64_t code) { return isa::apply(op, type, code); });
}

}  // namespace

LaneLoop1 unary_loop(UnaryOp op, const DType& type, SimdLevel level) {
  switch (class_of(op)) {
    case isa::UnaryClass::negation:
      return sign_loop<false>(type, level);
    case isa::UnaryClass::magnitude:
      return sign_loop<true>(type, level);
    case isa::UnaryClass::function:
    case isa::UnaryClass::ieee_function:
      return function_loop(op, type, level);
    case isa::UnaryClass::integral:
      return integral_loop(op, type, level);
    case isa::UnaryClass::approximation:
      return approximation_loop(op, type, level);
  }
  TILEVM_NO_ENUMERATOR();
}

}  // namespace tilevm::sim
