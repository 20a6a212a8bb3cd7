// The functions (isa/type/function_sequences.h) as loops over lanes. Each equals isa::apply on
// every code.
#include <array>
#include <bit>
#include <cmath>
#include <utility>

#include "isa/type/arith.h"
#include "isa/type/function.h"
#include "sim/arithmetic/element_loops.h"
#include "sim/arithmetic/float_bits.h"

namespace tilevm::sim {
namespace {

using isa::DType;
using isa::UnaryOp;

/// The host's f32 arithmetic, but for fma.
struct HostMachine {
  TILEVM_INLINE static std::uint32_t add(std::uint32_t a, std::uint32_t b) {
    return as_bits(as_float(a) + as_float(b));
  }
  TILEVM_INLINE static std::uint32_t sub(std::uint32_t a, std::uint32_t b) {
    return as_bits(as_float(a) - as_float(b));
  }
  TILEVM_INLINE static std::uint32_t mul(std::uint32_t a, std::uint32_t b) {
    return as_bits(as_float(a) * as_float(b));
  }
  TILEVM_INLINE static std::uint32_t div(std::uint32_t a, std::uint32_t b) {
    return as_bits(as_float(a) / as_float(b));
  }
  TILEVM_INLINE static std::uint32_t sqrt(std::uint32_t a) {
    return as_bits(__builtin_sqrtf(as_float(a)));
  }
  TILEVM_INLINE static bool less(std::uint32_t a, std::uint32_t b) {
    return as_float(a) < as_float(b);
  }
  TILEVM_INLINE static int leading_zeros(std::uint64_t x) { return __builtin_clzll(x); }
};

/// For processors that have fma, and loops compiled for them.
struct FusedMachine : HostMachine {
  TILEVM_INLINE static std::uint32_t fma(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
    return as_bits(__builtin_fmaf(as_float(a), as_float(b), as_float(c)));
  }
};

/// For processors without fma. The product is exact in f64. The sum is rounded to odd in f64 (to
/// the neighbour whose last bit is 1, unless it is exact), so that rounding it to f32 is right.
struct PlainMachine : HostMachine {
  TILEVM_INLINE static std::uint32_t fma(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
    const double product = static_cast<double>(as_float(a)) * static_cast<double>(as_float(b));
    const double addend = static_cast<double>(as_float(c)), sum = product + addend;
    const double part = sum - product;
    const double lost = (product - (sum - part)) + (addend - part);
    const auto bits = std::bit_cast<std::uint64_t>(sum);
    const bool inexact = lost < 0 || lost > 0;  // false of NaN, too
    const std::uint64_t away = (lost > 0) == (sum > 0) ? bits + 1 : bits - 1;
    const std::uint64_t odd = inexact && (bits & 1) == 0 ? away : bits;
    return as_bits(static_cast<float>(std::bit_cast<double>(odd)));
  }
};

template <UnaryOp op, class M>
struct FunctionOnF32 {
  TILEVM_INLINE std::uint32_t operator()(std::uint32_t x) const {
    return isa::Function<op>::template f32<M>(x);
  }
};

/// Sine and cosine: near arguments all at once, then far arguments one by one.
template <bool cosine, class M>
struct WaveBody {
  TILEVM_INLINE void operator()(const std::uint8_t* a, std::uint8_t* out, std::size_t n) const {
    constexpr std::size_t most = 256;
    std::array<std::uint32_t, most> x{};
    for (std::size_t begin = 0; begin < n; begin += most) {
      const std::size_t count = n - begin < most ? n - begin : most;
      std::uint32_t far = 0;
      for (std::size_t i = 0; i < count; ++i) {
        x[i] = load_lane<std::uint32_t>(a, begin + i);
        far |= functions::is_far(x[i]) ? 1U : 0U;
      }
      for (std::size_t i = 0; i < count; ++i) {
        store_lane(out, begin + i,
                   cosine ? functions::cos_near<M>(x[i]) : functions::sin_near<M>(x[i]));
      }
      for (std::size_t i = 0; far != 0 && i < count; ++i) {
        if (!functions::is_far(x[i])) continue;
        store_lane(out, begin + i, cosine ? functions::cos<M>(x[i]) : functions::sin<M>(x[i]));
      }
    }
  }
};

template <UnaryOp op, class M>
LaneLoop1 loop_of(SimdLevel level) {
  if constexpr (op == UnaryOp::sin || op == UnaryOp::cos) {
    return detail::at_level<const std::uint8_t*, std::uint8_t*, std::size_t>(
        level, WaveBody < op == UnaryOp::cos, M > {});
  } else {
    return loop1<std::uint32_t, std::uint32_t>(level, FunctionOnF32<op, M>{});
  }
}

template <UnaryOp op>
LaneLoop1 f32_loop(SimdLevel level) {
  if (level == SimdLevel::portable) return loop_of<op, PlainMachine>(level);
  return loop_of<op, FusedMachine>(level);
}

LaneLoop1 f32_loop(UnaryOp op, SimdLevel level) {
  return isa::with_function(
      op, [level]<UnaryOp function>(isa::Function<function>) { return f32_loop<function>(level); });
}

template <class M>
struct Power {
  TILEVM_INLINE std::uint32_t operator()(std::uint32_t a, std::uint32_t b) const {
    return functions::pow<M>(a, b);
  }
};

LaneLoop2 f32_power_loop(SimdLevel level) {
  if (level == SimdLevel::portable) {
    return loop2<std::uint32_t, std::uint32_t>(level, Power<PlainMachine>{});
  }
  return loop2<std::uint32_t, std::uint32_t>(level, Power<FusedMachine>{});
}

/// By way of f32.
LaneLoop1 through_f32(const DType& type, LaneLoop1 function, SimdLevel level) {
  return [widen = cast_loop(type, isa::f32, level), narrow = cast_loop(isa::f32, type, level),
          function = std::move(function),
          bytes = lane_bytes(type.bits)](const std::uint8_t* in, std::uint8_t* out, std::size_t n) {
    constexpr std::size_t most = 512;
    std::array<std::uint8_t, most * 4> wide;
    for (std::size_t begin = 0; begin < n; begin += most) {
      const std::size_t count = n - begin < most ? n - begin : most;
      widen(in + begin * bytes, wide.data(), count);
      function(wide.data(), wide.data(), count);
      narrow(wide.data(), out + begin * bytes, count);
    }
  };
}

}  // namespace

LaneLoop2 power_loop(const DType& type, SimdLevel level) {
  if (type == isa::f32) return f32_power_loop(level);
  return [widen = cast_loop(type, isa::f32, level), narrow = cast_loop(isa::f32, type, level),
          power = f32_power_loop(level), bytes = lane_bytes(type.bits)](
             const std::uint8_t* a, const std::uint8_t* b, std::uint8_t* out, std::size_t n) {
    constexpr std::size_t most = 512;
    std::array<std::uint8_t, most * 4> base, exponent;
    for (std::size_t begin = 0; begin < n; begin += most) {
      const std::size_t count = n - begin < most ? n - begin : most;
      widen(a + begin * bytes, base.data(), count);
      widen(b + begin * bytes, exponent.data(), count);
      power(base.data(), exponent.data(), base.data(), count);
      narrow(base.data(), out + begin * bytes, count);
    }
  };
}

LaneLoop1 function_loop(UnaryOp op, const DType& type, SimdLevel level) {
  if (type == isa::f32) return f32_loop(op, level);
  if (type != isa::f64) return through_f32(type, f32_loop(op, level), level);
  return defined_loop(64, 64,
                      [op, type](std::uint64_t code) { return isa::apply(op, type, code); });
}

}  // namespace tilevm::sim
