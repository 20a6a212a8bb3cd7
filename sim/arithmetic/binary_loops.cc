// Element-wise instructions of two operands as loops over lanes: with the host's arithmetic where
// it has the operation, which is everywhere but for remainders. Each equals isa::apply on every
// code.
#include <cmath>
#include <type_traits>

#include "isa/type/bits.h"
#include "sim/arithmetic/element_loops.h"
#include "sim/arithmetic/float_bits.h"
#include "sim/arithmetic/half_loops.h"

namespace tilevm::sim {
namespace {

using isa::BinaryOp;
using isa::DType;

template <BinaryOp op, class T>
TILEVM_INLINE T operate(T a, T b) {
  if constexpr (op == BinaryOp::add) {
    return a + b;
  } else if constexpr (op == BinaryOp::sub) {
    return a - b;
  } else if constexpr (op == BinaryOp::mul) {
    return a * b;
  } else if constexpr (op == BinaryOp::div) {
    return a / b;
  } else {
    static_assert(op == BinaryOp::mod);
    return std::fmod(a, b);
  }
}

// ---- Integers -----------------------------------------------------------------------------------

/// A lane in arithmetic that wraps, without the way through int.
template <class Lane>
using Word = decltype(Lane{} + 0U);

template <BinaryOp op, class Lane>
struct Wrapping {
  Lane mask;
  TILEVM_INLINE Lane operator()(Lane a, Lane b) const {
    return static_cast<Lane>(operate<op, Word<Lane>>(a, b) & mask);
  }
};

/// Quotients and remainders; a divisor of zero gives 0, and -1 never overflows.
template <BinaryOp op, class Lane>
struct Dividing {
  static_assert(op == BinaryOp::div || op == BinaryOp::mod);
  unsigned bits;
  bool is_signed;
  [[nodiscard]] std::int64_t extend(Lane code) const {
    return static_cast<std::int64_t>(std::uint64_t{code} << (64 - bits)) >> (64 - bits);
  }
  TILEVM_INLINE Lane operator()(Lane a, Lane b) const {
    constexpr bool quotient = op == BinaryOp::div;
    if (b == 0) return 0;
    if (!is_signed) return static_cast<Lane>(quotient ? a / b : a % b);
    const std::int64_t x = extend(a), y = extend(b);
    std::uint64_t result = 0;
    if (y == -1) {
      result = quotient ? 0 - static_cast<std::uint64_t>(x) : 0;
    } else {
      result = static_cast<std::uint64_t>(quotient ? x / y : x % y);
    }
    return static_cast<Lane>(result & isa::low_mask(bits));
  }
};

template <BinaryOp op>
LaneLoop2 integer_loop(const DType& type, SimdLevel level) {
  const unsigned bits = type.bits;
  return with_lane(bits, [&]<class Lane>() {
    if constexpr (op == BinaryOp::div || op == BinaryOp::mod) {
      return scalar_loop2<Lane, Lane>(Dividing<op, Lane>{bits, type.is_signed_int()});
    } else {
      const auto mask = static_cast<Lane>(isa::low_mask(bits));
      return loop2<Lane, Lane>(level, Wrapping<op, Lane>{mask});
    }
  });
}

template <BinaryOp op, class Lane>
struct OnBits {
  TILEVM_INLINE Lane operator()(Lane a, Lane b) const {
    if constexpr (op == BinaryOp::bit_and) {
      return a & b;
    } else if constexpr (op == BinaryOp::bit_or) {
      return a | b;
    } else {
      static_assert(op == BinaryOp::bit_xor);
      return a ^ b;
    }
  }
};

/// Codes of `bits` bits, at the top of the lane while they are shifted.
template <BinaryOp op, class Lane, bool is_signed>
struct Shifting {
  unsigned bits;
  TILEVM_INLINE Lane operator()(Lane a, Lane b) const {
    using Value = std::conditional_t<is_signed, std::make_signed_t<Lane>, Lane>;
    const auto width = static_cast<Lane>(bits);
    const unsigned room = static_cast<unsigned>(sizeof(Lane) * 8) - bits;
    const bool out = b >= width;
    if constexpr (op == BinaryOp::shl) {
      const Word<Lane> shifted = Word<Lane>{a} << (out ? 0 : b);
      return out ? Lane{0} : static_cast<Lane>(shifted & (static_cast<Lane>(~Lane{0}) >> room));
    } else {
      static_assert(op == BinaryOp::shr);
      const auto top = static_cast<Value>(static_cast<Lane>(Word<Lane>{a} << room));
      const auto value = static_cast<Value>(top >> room);
      const unsigned count = out ? bits - 1 : static_cast<unsigned>(b);
      const auto shifted = static_cast<Lane>(static_cast<Value>(value >> count));
      const auto cut = static_cast<Lane>(shifted & (static_cast<Lane>(~Lane{0}) >> room));
      return out && !is_signed ? Lane{0} : cut;
    }
  }
};

template <BinaryOp op>
LaneLoop2 bitwise_loop(const DType& type, SimdLevel level) {
  return with_lane(type.bits, [&]<class Lane>() {
    if constexpr (isa::is_bit_by_bit(op)) {
      return loop2<Lane, Lane>(level, OnBits<op, Lane>{});
    } else {
      if (type.is_signed_int()) {
        return loop2<Lane, Lane>(level, Shifting<op, Lane, true>{type.bits});
      }
      return loop2<Lane, Lane>(level, Shifting<op, Lane, false>{type.bits});
    }
  });
}

// ---- Floats -------------------------------------------------------------------------------------

template <BinaryOp op>
struct OnF32 {
  TILEVM_INLINE std::uint32_t operator()(std::uint32_t a, std::uint32_t b) const {
    return canonical_f32(as_bits(operate<op>(as_float(a), as_float(b))));
  }
};

template <BinaryOp op>
struct OnF64 {
  TILEVM_INLINE std::uint64_t operator()(std::uint64_t a, std::uint64_t b) const {
    const auto result = std::bit_cast<std::uint64_t>(
        operate<op>(std::bit_cast<double>(a), std::bit_cast<double>(b)));
    return canonical_f64(result);
  }
};

/// Through f32, rounded once more.
template <BinaryOp op>
struct OnF16 {
  TILEVM_INLINE std::uint32_t operator()(std::uint32_t a, std::uint32_t b) const {
    return f32_to_f16(OnF32<op>{}(f16_to_f32(a), f16_to_f32(b)));
  }
};
template <BinaryOp op>
struct OnBf16 {
  TILEVM_INLINE std::uint32_t operator()(std::uint32_t a, std::uint32_t b) const {
    return f32_to_bf16(OnF32<op>{}(bf16_to_f32(a), bf16_to_f32(b)));
  }
};
template <BinaryOp op>
struct OnTf32 {
  TILEVM_INLINE std::uint32_t operator()(std::uint32_t a, std::uint32_t b) const {
    return f32_to_tf32(OnF32<op>{}(tf32_to_f32(a), tf32_to_f32(b)));
  }
};
template <BinaryOp op>
struct OnSmall {
  SmallFloat type;
  TILEVM_INLINE std::uint32_t operator()(std::uint32_t a, std::uint32_t b) const {
    return f32_to_small(type, OnF32<op>{}(small_to_f32(type, a), small_to_f32(type, b)));
  }
};

template <class Lane, BinaryOp op, class F>
LaneLoop2 float_loop(SimdLevel level, const F& f) {
  if constexpr (op == BinaryOp::mod) return scalar_loop2<Lane, Lane>(f);
  return loop2<Lane, Lane>(level, f);
}

template <BinaryOp op>
LaneLoop2 loop_of(const DType& type, SimdLevel level) {
  if (type.is_integer()) return integer_loop<op>(type, level);
  if (type == isa::f32) return float_loop<std::uint32_t, op>(level, OnF32<op>{});
  if (type == isa::f64) return float_loop<std::uint64_t, op>(level, OnF64<op>{});
  if (type == isa::f16) {
    if (auto loop = f16_binary_loop(op, level)) return loop;
    return float_loop<std::uint16_t, op>(level, OnF16<op>{});
  }
  if (type == isa::bf16) return float_loop<std::uint16_t, op>(level, OnBf16<op>{});
  if (type == isa::tf32) return float_loop<std::uint32_t, op>(level, OnTf32<op>{});
  if (type == isa::f8e8m0) return e8m0_loop(op);
  return float_loop<std::uint8_t, op>(level, OnSmall<op>{SmallFloat(type)});
}

}  // namespace

LaneLoop3 where_loop(const DType& type, SimdLevel level) {
  return with_lane(type.bits, [&]<class Lane>() { return choice_loop<Lane>(level); });
}

LaneLoop2 binary_loop(BinaryOp op, const DType& type, SimdLevel level) {
  switch (op) {
    case BinaryOp::add:
      return loop_of<BinaryOp::add>(type, level);
    case BinaryOp::sub:
      return loop_of<BinaryOp::sub>(type, level);
    case BinaryOp::mul:
      return loop_of<BinaryOp::mul>(type, level);
    case BinaryOp::div:
      return loop_of<BinaryOp::div>(type, level);
    case BinaryOp::mod:
      return loop_of<BinaryOp::mod>(type, level);
    case BinaryOp::bit_and:
      return bitwise_loop<BinaryOp::bit_and>(type, level);
    case BinaryOp::bit_or:
      return bitwise_loop<BinaryOp::bit_or>(type, level);
    case BinaryOp::bit_xor:
      return bitwise_loop<BinaryOp::bit_xor>(type, level);
    case BinaryOp::shl:
      return bitwise_loop<BinaryOp::shl>(type, level);
    case BinaryOp::shr:
      return bitwise_loop<BinaryOp::shr>(type, level);
    case BinaryOp::min:
      return choice_loop(false, type, level);
    case BinaryOp::max:
      return choice_loop(true, type, level);
    case BinaryOp::eq:
      return equal_loop(false, type, level);
    case BinaryOp::ne:
      return equal_loop(true, type, level);
    case BinaryOp::lt:
      return less_loop(false, type, level);
    case BinaryOp::le:
      return less_loop(true, type, level);
    case BinaryOp::gt:
      return exchanged(less_loop(false, type, level));
    case BinaryOp::ge:
      return exchanged(less_loop(true, type, level));
    case BinaryOp::pow:
      return power_loop(type, level);
    case BinaryOp::div_full:
    case BinaryOp::div_full_ftz:
    case BinaryOp::div_approx:
    case BinaryOp::div_approx_ftz:
      return quotient_loop(op, level);
  }
  TILEVM_NO_ENUMERATOR();
}

}  // namespace tilevm::sim
