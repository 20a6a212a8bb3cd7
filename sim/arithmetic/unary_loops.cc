// Element-wise instructions of one operand as loops over lanes. Each equals isa::apply on every
// code.
#include "isa/type/bits.h"
#include "sim/tiles/elements.h"

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

/// Of an IEEE float that fills its lane: flips or clears the sign bit.
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

LaneLoop1 integer_loop(UnaryOp op, const DType& type, SimdLevel level) {
  return with_lane(type.bits, [&]<class Lane>() {
    const auto mask = static_cast<Lane>(isa::low_mask(type.bits));
    const auto sign = static_cast<Lane>(type.is_signed_int() ? mask ^ (mask >> 1) : 0);
    if (op == UnaryOp::abs) return loop1<Lane, Lane>(level, AbsInteger<Lane>{mask, sign});
    return loop1<Lane, Lane>(level, NegateInteger<Lane>{mask});
  });
}

LaneLoop1 sign_loop(UnaryOp op, const DType& type, SimdLevel level) {
  return with_lane(type.bits, [&]<class Lane>() {
    const auto infinity =
        static_cast<Lane>(isa::low_mask(type.exponent_bits) << type.mantissa_bits);
    if (op == UnaryOp::abs) return loop1<Lane, Lane>(level, OnSign<Lane, true>{infinity});
    return loop1<Lane, Lane>(level, OnSign<Lane, false>{infinity});
  });
}

}  // namespace

LaneLoop1 unary_loop(UnaryOp op, const DType& type, SimdLevel level) {
  if (isa::is_function(op)) return function_loop(op, type, level);
  if (type.is_integer()) return integer_loop(op, type, level);
  if (type.bits >= 16 && type != isa::tf32) return sign_loop(op, type, level);
  return defined_loop(type.bits, type.bits,
                      [op, type](std::uint64_t code) { return isa::apply(op, type, code); });
}

}  // namespace tilevm::sim
