// Element-wise instructions of one operand as loops over lanes. Each equals isa::apply on every
// code.
#include "isa/type/bits.h"
#include "sim/elements.h"
#include "sim/float_bits.h"

namespace tilevm::sim {
namespace {

using isa::DType;

template <class Lane>
struct NegateInteger {
  Lane mask;
  TILEVM_INLINE Lane operator()(Lane code) const {
    return static_cast<Lane>((Lane{0} - code) & mask);
  }
};

/// An IEEE float that fills its lane.
template <class Lane>
struct NegateFloat {
  Lane infinity;
  TILEVM_INLINE Lane operator()(Lane code) const {
    constexpr auto largest = static_cast<Lane>(static_cast<Lane>(~Lane{0}) >> 1);
    const auto flipped = static_cast<Lane>(code ^ static_cast<Lane>(~largest));
    return (code & largest) > infinity ? largest : flipped;
  }
};

}  // namespace

LaneLoop1 unary_loop(isa::UnaryOp op, const DType& type, SimdLevel level) {
  if (type.is_integer()) {
    return with_lane(type.bits, [&]<class Lane>() {
      const auto mask = static_cast<Lane>(isa::low_mask(type.bits));
      return loop1<Lane, Lane>(level, NegateInteger<Lane>{mask});
    });
  }
  const bool fills_lane = type.bits >= 16 && type != isa::tf32;
  if (!fills_lane) {
    return defined_loop(type.bits, type.bits,
                        [op, type](std::uint64_t code) { return isa::apply(op, type, code); });
  }
  return with_lane(type.bits, [&]<class Lane>() {
    const std::uint64_t infinity = isa::low_mask(type.exponent_bits) << type.mantissa_bits;
    return loop1<Lane, Lane>(level, NegateFloat<Lane>{static_cast<Lane>(infinity)});
  });
}

}  // namespace tilevm::sim
