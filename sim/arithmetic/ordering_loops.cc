// Min, Max and the comparisons as loops over lanes, by the order of codes as integers: no type has
// to be converted. Each equals isa::apply on every code.
#include <type_traits>

#include "isa/type/arith.h"
#include "isa/type/bits.h"
#include "isa/type/number.h"
#include "sim/arithmetic/element_loops.h"
#include "sim/arithmetic/float_bits.h"
#include "sim/arithmetic/half_loops.h"

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
    const auto magnitude = static_cast<Signed>(at_top(code) & magnitude_bits);
    return kind == Kind::floating && magnitude > static_cast<Signed>(last_number);
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
struct IntegerChoice {
  Order<Lane, kind> order;
  bool largest;
  TILEVM_INLINE Lane operator()(Lane a, Lane b) const {
    return (order.rank(a) < order.rank(b)) != largest ? a : b;
  }
};

/// Choice of floats, whose result is the extreme rank's code: a NaN ranks where every number wins.
template <class Lane, bool largest>
struct FloatChoice {
  using Ranks = Order<Lane, Kind::floating>;
  using Signed = std::make_signed_t<Lane>;
  static constexpr auto loser = static_cast<Signed>(
      largest ? static_cast<Lane>(~Ranks::magnitude_bits) : Ranks::magnitude_bits);

  explicit FloatChoice(const Ranks& ranks) : order(ranks), nan(ranks.nan) {
    if (ranks.last_number == Ranks::magnitude_bits) nan = code_of(loser);  // a number's rank
  }
  Ranks order;
  Lane nan;  ///< the result where both operands lose

  [[nodiscard]] TILEVM_INLINE Signed rank(Lane code) const {
    const Signed number = order.rank(code);  // before the test: loops have no branches
    return order.is_nan(code) ? loser : number;
  }
  [[nodiscard]] TILEVM_INLINE Lane code_of(Signed rank) const {
    const auto x = static_cast<Lane>(rank);
    const auto code = static_cast<Lane>(x ^ (order.sign(x) & Ranks::magnitude_bits));
    return static_cast<Lane>(code >> order.room);
  }
  TILEVM_INLINE Lane operator()(Lane a, Lane b) const {
    const Signed x = rank(a), y = rank(b);
    const Signed best = (x < y) == largest ? y : x;
    const Lane chosen = code_of(best), lost = nan;
    return best == loser ? lost : chosen;
  }
};

/// The host's comparison, in which -0 equals +0 and nothing equals a NaN.
template <BinaryOp op>
struct HostComparison {
  TILEVM_INLINE std::uint8_t operator()(std::uint32_t a, std::uint32_t b) const {
    const float x = as_float(a), y = as_float(b);
    if constexpr (op == BinaryOp::eq) return x == y ? 1 : 0;
    if constexpr (op == BinaryOp::ne) return x == y ? 0 : 1;
    if constexpr (op == BinaryOp::lt) return x < y ? 1 : 0;
    return x <= y ? 1 : 0;
  }
};

/// A comparison of f32 or f16; empty for other types.
template <BinaryOp op>
LaneLoop2 host_comparison(const DType& type, SimdLevel level) {
  if (type == isa::f16) return f16_comparison_loop(op, level);
  if (type == isa::f32) return loop2<std::uint8_t, std::uint32_t>(level, HostComparison<op>{});
  return {};
}

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
    if constexpr (kind == Kind::floating) {
      if (largest) return loop2<Lane, Lane>(level, FloatChoice<Lane, true>(order));
      return loop2<Lane, Lane>(level, FloatChoice<Lane, false>(order));
    } else {
      return loop2<Lane, Lane>(level, IntegerChoice<Lane, kind>{order, largest});
    }
  });
}

LaneLoop2 equal_loop(bool negate, const DType& type, SimdLevel level) {
  if (type == isa::f8e8m0) return e8m0_loop(negate ? BinaryOp::ne : BinaryOp::eq);
  if (auto loop = negate ? host_comparison<BinaryOp::ne>(type, level)
                         : host_comparison<BinaryOp::eq>(type, level)) {
    return loop;
  }
  return with_order(type, [&]<class Lane, Kind kind>(const Order<Lane, kind>& order) {
    const std::uint8_t flipped = negate ? 1 : 0;
    return loop2<std::uint8_t, Lane>(level, Equal<Lane, kind>{order, flipped});
  });
}

LaneLoop2 less_loop(bool or_equal, const DType& type, SimdLevel level) {
  if (type == isa::f8e8m0) return e8m0_loop(or_equal ? BinaryOp::le : BinaryOp::lt);
  if (auto loop = or_equal ? host_comparison<BinaryOp::le>(type, level)
                           : host_comparison<BinaryOp::lt>(type, level)) {
    return loop;
  }
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
