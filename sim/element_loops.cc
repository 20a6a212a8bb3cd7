// The loops that casts and arithmetic run: fast where the host has the operation, else by table,
// else by the definition in isa/type.
#include <cmath>
#include <utility>
#include <vector>

#include "isa/type/bits.h"
#include "isa/type/number.h"
#include "sim/elements.h"
#include "sim/float_bits.h"

namespace tilevm::sim {
namespace {

using isa::BinaryOp;
using isa::DType;

/// A loop over a function that the compiler can inline.
template <class F>
UnaryLoop loop_over(F f) {
  return [f](const std::uint32_t* in, std::uint32_t* out, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) out[i] = f(in[i]);
  };
}
template <class F>
BinaryLoop loop_over_pairs(F f) {
  return [f](std::uint32_t* a, const std::uint32_t* b, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) a[i] = f(a[i], b[i]);
  };
}

/// The function as a table of all codes; for types of at most 16 bits.
template <class F>
UnaryLoop by_table(const DType& type, F f) {
  auto table = std::make_shared<std::vector<std::uint32_t>>(std::size_t{1} << type.bits);
  for (std::size_t code = 0; code < table->size(); ++code) {
    (*table)[code] = static_cast<std::uint32_t>(f(code));
  }
  return [table = std::move(table)](const std::uint32_t* in, std::uint32_t* out, std::size_t n) {
    const std::uint32_t* values = table->data();
    for (std::size_t i = 0; i < n; ++i) out[i] = values[in[i]];
  };
}

std::uint32_t sign_extend(std::uint32_t code, unsigned bits) {
  const unsigned shift = 32 - bits;
  return static_cast<std::uint32_t>(static_cast<std::int32_t>(code << shift) >> shift);
}

/// Wraps: extend by the source's sign, cut at the destination's width.
UnaryLoop integer_cast(const DType& from, const DType& to) {
  const auto mask = static_cast<std::uint32_t>(isa::low_mask(to.bits));
  const unsigned bits = from.bits;
  if (!from.is_signed_int()) return loop_over([mask](std::uint32_t x) { return x & mask; });
  return loop_over([mask, bits](std::uint32_t x) { return sign_extend(x, bits) & mask; });
}

/// The host's conversion rounds to nearest even, as Cast does.
UnaryLoop integer_to_f32(const DType& from) {
  const unsigned bits = from.bits;
  if (!from.is_signed_int()) {
    return loop_over([](std::uint32_t x) { return as_bits(static_cast<float>(x)); });
  }
  return loop_over([bits](std::uint32_t x) {
    return as_bits(static_cast<float>(static_cast<std::int32_t>(sign_extend(x, bits))));
  });
}

/// Toward zero, saturating, NaN gives 0.
std::uint32_t f32_to_i32(std::uint32_t code) {
  const float value = as_float(code);
  if (!(value >= -2147483648.0F)) return value != value ? 0 : 0x80000000;
  if (value >= 2147483648.0F) return 0x7fffffff;
  return static_cast<std::uint32_t>(static_cast<std::int32_t>(value));
}

/// The pairs that programs use most and the host can do; an empty function for all others.
UnaryLoop host_cast(const DType& from, const DType& to) {
  using isa::bf16, isa::f16, isa::f32, isa::i32;
  if (from.is_integer() && to.is_integer()) return integer_cast(from, to);
  if (from.is_integer() && to == f32) return integer_to_f32(from);
  if (from == f16 && to == f32) return loop_over([](std::uint32_t x) { return f16_to_f32(x); });
  if (from == bf16 && to == f32) return loop_over([](std::uint32_t x) { return bf16_to_f32(x); });
  if (from == f32 && to == f32) return loop_over([](std::uint32_t x) { return canonical_f32(x); });
  if (from == f32 && to == f16) return loop_over([](std::uint32_t x) { return f32_to_f16(x); });
  if (from == f32 && to == bf16) return loop_over([](std::uint32_t x) { return f32_to_bf16(x); });
  if (from == f32 && to == i32) return loop_over([](std::uint32_t x) { return f32_to_i32(x); });
  return {};
}

template <BinaryOp op, class T>
T operate(T a, T b) {
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

/// Quotients and remainders; 64 bits hold all of them. A divisor of zero gives 0.
template <BinaryOp op, class T>
std::uint32_t divide(T a, T b) {
  if (b == 0) return 0;
  return static_cast<std::uint32_t>(op == BinaryOp::div ? a / b : a % b);
}

template <BinaryOp op>
BinaryLoop integer_loop(const DType& type) {
  const auto mask = static_cast<std::uint32_t>(isa::low_mask(type.bits));
  if constexpr (op != BinaryOp::div && op != BinaryOp::mod) {
    return loop_over_pairs(
        [mask](std::uint32_t a, std::uint32_t b) { return operate<op>(a, b) & mask; });
  } else if (type.is_signed_int()) {
    const unsigned bits = type.bits;
    const auto extend = [bits](std::uint32_t x) {
      return std::int64_t{static_cast<std::int32_t>(sign_extend(x, bits))};
    };
    return loop_over_pairs([mask, extend](std::uint32_t a, std::uint32_t b) {
      return divide<op>(extend(a), extend(b)) & mask;
    });
  } else {
    return loop_over_pairs([](std::uint32_t a, std::uint32_t b) { return divide<op>(a, b); });
  }
}

template <BinaryOp op>
std::uint32_t operate_f32(std::uint32_t a, std::uint32_t b) {
  return canonical_f32(as_bits(operate<op>(as_float(a), as_float(b))));
}

template <BinaryOp op>
BinaryLoop arithmetic_loop(const DType& type) {
  if (type.is_integer()) return integer_loop<op>(type);
  if (type == isa::f32) {
    return loop_over_pairs([](std::uint32_t a, std::uint32_t b) { return operate_f32<op>(a, b); });
  }
  if (type == isa::f16) {
    return loop_over_pairs([](std::uint32_t a, std::uint32_t b) {
      return f32_to_f16(operate_f32<op>(f16_to_f32(a), f16_to_f32(b)));
    });
  }
  if (type == isa::bf16) {
    return loop_over_pairs([](std::uint32_t a, std::uint32_t b) {
      return f32_to_bf16(operate_f32<op>(bf16_to_f32(a), bf16_to_f32(b)));
    });
  }
  return loop_over_pairs([type](std::uint32_t a, std::uint32_t b) {
    return static_cast<std::uint32_t>(isa::apply(op, type, a, b));
  });
}

}  // namespace

UnaryLoop cast_loop(const DType& from, const DType& to) {
  if (auto loop = host_cast(from, to)) return loop;
  const auto convert = [from, to](std::uint64_t code) { return isa::cast(from, to, code); };
  if (from.bits <= 16) return by_table(from, convert);
  return loop_over(
      [convert](std::uint32_t code) { return static_cast<std::uint32_t>(convert(code)); });
}

UnaryLoop unary_loop(isa::UnaryOp op, const DType& type) {
  if (type.is_integer()) {
    const auto mask = static_cast<std::uint32_t>(isa::low_mask(type.bits));
    return loop_over([mask](std::uint32_t x) { return (0 - x) & mask; });
  }
  if (type == isa::f32) {
    return loop_over(
        [](std::uint32_t x) { return (x & 0x7fffffff) > f32_infinity ? f32_nan : x ^ 0x80000000; });
  }
  if (type == isa::f16 || type == isa::bf16) {
    const std::uint32_t infinity = type == isa::f16 ? 0x7c00 : 0x7f80;
    return loop_over(
        [infinity](std::uint32_t x) { return (x & 0x7fff) > infinity ? 0x7fff : x ^ 0x8000; });
  }
  const auto apply = [op, type](std::uint64_t code) { return isa::apply(op, type, code); };
  if (type.bits <= 16) return by_table(type, apply);
  return loop_over([apply](std::uint32_t code) { return static_cast<std::uint32_t>(apply(code)); });
}

BinaryLoop binary_loop(BinaryOp op, const DType& type) {
  switch (op) {
    case BinaryOp::add:
      return arithmetic_loop<BinaryOp::add>(type);
    case BinaryOp::sub:
      return arithmetic_loop<BinaryOp::sub>(type);
    case BinaryOp::mul:
      return arithmetic_loop<BinaryOp::mul>(type);
    case BinaryOp::div:
      return arithmetic_loop<BinaryOp::div>(type);
    case BinaryOp::mod:
      return arithmetic_loop<BinaryOp::mod>(type);
  }
  return {};
}

}  // namespace tilevm::sim
