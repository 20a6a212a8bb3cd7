// Min, Max and the comparisons as loops over lanes, by the order of codes as integers: no type has
// to be converted. Each equals isa::apply on every code.
#include <type_traits>

#include "isa/type/arith.h"
#include "isa/type/bits.h"
#include "isa/type/number.h"
#include "sim/arithmetic/element_loops.h"

namespace tilevm::sim {
namespace {

using isa::BinaryOp;
using isa::DType;

enum class Kind { unsigned_int, signed_int, floating };

/// Codes as integers whose order is that of the values. They are shifted to the top of the lane, so
/// that their sign is the lane's.
template <class Lane, Kind kind>
struct Order {
  using Signed = std::make_signed_t<Lane>;
  static constexpr int top = static_cast<int>(sizeof(Lane) * 8) - 1;
  static constexpr auto magnitude_bits = static_cast<Lane>(static_cast<Lane>(~Lane{0}) >> 1);

  /// A float without a sign has the codes of one with a sign of 0.
  explicit Order(const DType& type)
      : room(static_cast<int>(sizeof(Lane) * 8) - type.bits - (type.is_unsigned_float() ? 1 : 0)),
        used(static_cast<Lane>(~Lane{0})),
        last_number(magnitude_bits) {
    if (!type.is_float()) return;
    const unsigned unused = type.unused_bits();
    used = static_cast<Lane>(~isa::low_mask(unused));
    if (type.specials() == isa::Specials::finite) return;
    const std::uint64_t infinity = type.specials() == isa::Specials::ieee ? 1U : 0U;
    last_number = static_cast<Lane>((isa::max_code(type) + (infinity << unused)) << room);
    nan = static_cast<Lane>(isa::canonical_nan(type));
  }

  int room;          ///< bits of the lane above the code
  Lane used;         ///< mask of the bits that have a meaning (tf32)
  Lane last_number;  ///< the greatest magnitude that is not a NaN, at the top of the lane
  Lane nan = 0;      ///< the canonical NaN

  [[nodiscard]] TILEVM_INLINE Lane at_top(Lane code) const {
    return static_cast<Lane>((code & used) << room);
  }
  [[nodiscard]] TILEVM_INLINE bool is_nan(Lane code) const {
    return kind == Kind::floating && static_cast<Lane>(at_top(code) & magnitude_bits) > last_number;
  }
  using Rank = std::conditional_t<kind == Kind::unsigned_int, Lane, Signed>;
  [[nodiscard]] TILEVM_INLINE Lane sign(Lane x) const {
    return static_cast<Lane>(static_cast<Signed>(x) >> top);
  }
  /// -0 is less than +0.
  [[nodiscard]] TILEVM_INLINE Rank rank(Lane code) const {
    const Lane x = at_top(code);
    if constexpr (kind != Kind::floating) return static_cast<Rank>(x);
    return static_cast<Rank>(static_cast<Lane>(x ^ (sign(x) & magnitude_bits)));
  }
  /// -0 equals +0.
  [[nodiscard]] TILEVM_INLINE Rank value(Lane code) const {
    const Lane x = at_top(code);
    if constexpr (kind != Kind::floating) return static_cast<Rank>(x);
    const auto magnitude = static_cast<Lane>(x & magnitude_bits);
    return static_cast<Rank>(static_cast<Lane>((magnitude ^ sign(x)) - sign(x)));
  }
};

template <class Lane, Kind kind>
struct Choice {
  Order<Lane, kind> order;
  bool largest;
  TILEVM_INLINE Lane operator()(Lane a, Lane b) const {
    const bool a_nan = order.is_nan(a), b_nan = order.is_nan(b);
    const bool first = (order.rank(a) < order.rank(b)) != largest;
    const bool take_a = b_nan | (first & !a_nan);
    const auto chosen = static_cast<Lane>((take_a ? a : b) & order.used);
    return (a_nan & b_nan) ? order.nan : chosen;
  }
};

template <class Lane, Kind kind>
struct Equal {
  Order<Lane, kind> order;
  std::uint8_t negate;
  TILEVM_INLINE std::uint8_t operator()(Lane a, Lane b) const {
    const bool a_nan = order.is_nan(a), b_nan = order.is_nan(b);
    const bool equal = (order.value(a) == order.value(b)) & !(a_nan | b_nan);
    return static_cast<std::uint8_t>((equal ? 1U : 0U) ^ negate);
  }
};

template <class Lane, Kind kind, bool or_equal>
struct Less {
  Order<Lane, kind> order;
  TILEVM_INLINE std::uint8_t operator()(Lane a, Lane b) const {
    const bool a_nan = order.is_nan(a), b_nan = order.is_nan(b);
    const auto x = order.value(a), y = order.value(b);
    const bool less = or_equal ? x <= y : x < y;
    return (less & !(a_nan | b_nan)) ? 1 : 0;
  }
};

struct OnE8m0 {
  BinaryOp op;
  TILEVM_INLINE std::uint8_t operator()(std::uint8_t a, std::uint8_t b) const {
    return static_cast<std::uint8_t>(isa::apply(op, isa::f8e8m0, a, b));
  }
};

/// Calls f(order) with the order of a type's codes.
template <class F>
LaneLoop2 with_order(const DType& type, F&& f) {
  return with_lane(type.bits, [&]<class Lane>() {
    if (type.is_float()) return f(Order<Lane, Kind::floating>(type));
    if (type.is_signed_int()) return f(Order<Lane, Kind::signed_int>(type));
    return f(Order<Lane, Kind::unsigned_int>(type));
  });
}

}  // namespace

LaneLoop2 e8m0_loop(BinaryOp op) { return scalar_loop2<std::uint8_t, std::uint8_t>(OnE8m0{op}); }

LaneLoop2 choice_loop(bool largest, const DType& type, SimdLevel level) {
  if (type == isa::f8e8m0) return e8m0_loop(largest ? BinaryOp::max : BinaryOp::min);
  return with_order(type, [&]<class Lane, Kind kind>(const Order<Lane, kind>& order) {
    return loop2<Lane, Lane>(level, Choice<Lane, kind>{order, largest});
  });
}

LaneLoop2 equal_loop(bool negate, const DType& type, SimdLevel level) {
  if (type == isa::f8e8m0) return e8m0_loop(negate ? BinaryOp::ne : BinaryOp::eq);
  return with_order(type, [&]<class Lane, Kind kind>(const Order<Lane, kind>& order) {
    const std::uint8_t flipped = negate ? 1 : 0;
    return loop2<std::uint8_t, Lane>(level, Equal<Lane, kind>{order, flipped});
  });
}

LaneLoop2 less_loop(bool or_equal, const DType& type, SimdLevel level) {
  if (type == isa::f8e8m0) return e8m0_loop(or_equal ? BinaryOp::le : BinaryOp::lt);
  return with_order(type, [&]<class Lane, Kind kind>(const Order<Lane, kind>& order) {
    if (or_equal) return loop2<std::uint8_t, Lane>(level, Less<Lane, kind, true>{order});
    return loop2<std::uint8_t, Lane>(level, Less<Lane, kind, false>{order});
  });
}

LaneLoop2 exchanged(LaneLoop2 loop) {
  return [loop = std::move(loop)](const std::uint8_t* a, const std::uint8_t* b, std::uint8_t* out,
                                  std::size_t n) { loop(b, a, out, n); };
}

}  // namespace tilevm::sim
