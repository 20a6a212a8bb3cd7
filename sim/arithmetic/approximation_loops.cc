// The approximations (isa/type/approximation.h) as loops over lanes. Each equals isa::apply on
// every code.
#include <bit>
#include <cmath>
#include <cstring>

#include "isa/base/check.h"
#include "isa/type/approximation.h"
#include "sim/arithmetic/approximation_unit.h"
#include "sim/arithmetic/element_loops.h"

namespace tilevm::sim {
namespace unit {
namespace {

using isa::BinaryOp, isa::UnaryOp;

// ---- Instructions -------------------------------------------------------------------------------

/// An instruction `.ftz` is the unit's function alone.
template <class F>
struct Flushing {
  template <SimdLevel level>
  TILEVM_INLINE static void run(Bits* x, std::size_t n) {
    Unit<F>::template run<level>(x, n);
  }
};

/// Without it, subnormal arguments are multiplied by 2^24 before, results by a power of two after.
template <class F, int power>
struct Scaling {
  template <SimdLevel level>
  TILEVM_INLINE static void run(Bits* x, std::size_t n) {
    Lanes scaled;
    constexpr float after = power > 0 ? static_cast<float>(1 << power) : 1.0F / (1 << -power);
    TILEVM_LOOP
    for (std::size_t i = 0; i < n; ++i) {
      scaled[i] = is_subnormal(x[i]) ? exact_product(x[i], 16777216.0F) : x[i];
    }
    Unit<F>::template run<level>(scaled.data(), n);
    TILEVM_LOOP
    for (std::size_t i = 0; i < n; ++i) {
      const Bits result = canonical(exact_product(scaled[i], after));
      x[i] = is_subnormal(x[i]) ? result : scaled[i];
    }
  }
};

struct PlainRcp {
  TILEVM_INLINE static Bits scale(Bits x) {
    const Bits large = magnitude(x) > 0x7e800000U ? 0x3e800000U : one;  // 2^-2
    return is_subnormal(x) ? 0x4b800000U : large;                       // 2^24
  }
  template <SimdLevel level>
  TILEVM_INLINE static void run(Bits* x, std::size_t n) {
    Lanes scaled;
    TILEVM_LOOP
    for (std::size_t i = 0; i < n; ++i) scaled[i] = product(x[i], scale(x[i]));
    Unit<Rcp>::template run<level>(scaled.data(), n);
    TILEVM_LOOP
    for (std::size_t i = 0; i < n; ++i) x[i] = product(scaled[i], scale(x[i]));
  }
};

struct PlainLg2 {
  template <SimdLevel level>
  TILEVM_INLINE static void run(Bits* x, std::size_t n) {
    Lanes scaled;
    TILEVM_LOOP
    for (std::size_t i = 0; i < n; ++i) {
      scaled[i] = is_subnormal(x[i]) ? exact_product(x[i], 16777216.0F) : x[i];
    }
    Unit<Lg2>::template run<level>(scaled.data(), n);
    TILEVM_LOOP
    for (std::size_t i = 0; i < n; ++i) {
      const Bits result = canonical(as_bits(as_float(scaled[i]) - 24.0F));
      x[i] = is_subnormal(x[i]) ? result : scaled[i];
    }
  }
};

/// Far below zero, the square of the result for half the argument.
struct PlainEx2 {
  TILEVM_INLINE static bool is_far(Bits x) { return x > 0xc2fc0000U && x <= 0xff800000U; }
  template <SimdLevel level>
  TILEVM_INLINE static void run(Bits* x, std::size_t n) {
    Lanes scaled;
    TILEVM_LOOP
    for (std::size_t i = 0; i < n; ++i) {
      scaled[i] = is_far(x[i]) ? exact_product(x[i], 0.5F) : x[i];
    }
    Unit<Ex2>::template run<level>(scaled.data(), n);
    TILEVM_LOOP
    for (std::size_t i = 0; i < n; ++i) {
      x[i] = is_far(x[i]) ? exact_product(scaled[i], as_float(scaled[i])) : scaled[i];
    }
  }
};

template <class Instruction, SimdLevel level>
struct UnaryBody {
  TILEVM_INLINE void operator()(const std::uint8_t* a, std::uint8_t* out, std::size_t n) const {
    Lanes x;
    for (std::size_t begin = 0; begin < n; begin += most) {
      const std::size_t count = n - begin < most ? n - begin : most;
      std::memcpy(x.data(), a + begin * 4, count * 4);
      Instruction::template run<level>(x.data(), count);
      std::memcpy(out + begin * 4, x.data(), count * 4);
    }
  }
};

template <class Instruction>
LaneLoop1 instruction_loop(SimdLevel level) {
  const auto at = [level](const auto& body) {
    return detail::at_level<const std::uint8_t*, std::uint8_t*, std::size_t>(level, body);
  };
  switch (level) {
    case SimdLevel::avx512:
      return at(UnaryBody<Instruction, SimdLevel::avx512>{});
    case SimdLevel::avx2:
      return at(UnaryBody<Instruction, SimdLevel::avx2>{});
    case SimdLevel::portable:
      break;
  }
  return at(UnaryBody<Instruction, SimdLevel::portable>{});
}

/// One of two instructions.
template <class WithFtz, class Without>
LaneLoop1 either_loop(bool ftz, SimdLevel level) {
  return ftz ? instruction_loop<WithFtz>(level) : instruction_loop<Without>(level);
}

LaneLoop1 f32_loop(UnaryOp op, SimdLevel level) {
  using Function = isa::ApproximateFunction;
  const auto [function, ftz] = isa::approximate_operation(op);
  switch (function) {
    case Function::ex2:
      return either_loop<Flushing<Ex2>, PlainEx2>(ftz, level);
    case Function::lg2:
      return either_loop<Flushing<Lg2>, PlainLg2>(ftz, level);
    case Function::rcp:
      return either_loop<Flushing<Rcp>, PlainRcp>(ftz, level);
    case Function::rsqrt:
      return either_loop<Flushing<Rsqrt>, Scaling<Rsqrt, 12>>(ftz, level);
    case Function::sqrt:
      return either_loop<Flushing<Sqrt>, Scaling<Sqrt, -12>>(ftz, level);
    case Function::sin:
      return instruction_loop<Flushing<Wave<false>>>(level);
    case Function::cos:
      return instruction_loop<Flushing<Wave<true>>>(level);
    case Function::tanh:
      return instruction_loop<Flushing<Tanh>>(level);
  }
  TILEVM_NO_ENUMERATOR();
}

// ---- Quotients: a times the reciprocal of b, both scaled ----------------------------------------

template <bool full, bool ftz, SimdLevel level>
struct Quotient {
  TILEVM_INLINE static Bits flushed(Bits x) {
    return ftz && magnitude(x) < least_normal ? sign(x) : x;
  }
  TILEVM_INLINE static Bits times(Bits a, Bits b) {
    const Bits x = flushed(a), y = flushed(b), both = product(x, y);
    const double exact = static_cast<double>(std::bit_cast<float>(x)) * std::bit_cast<float>(y);
    return ftz && std::fabs(exact) < isa::least_unflushed_product ? sign(both) : both;
  }
  TILEVM_INLINE static Bits scale(Bits b) {
    const bool large = full && magnitude(b) > 0x7e800000U && magnitude(b) <= infinity;
    const bool small = !ftz && magnitude(b) < least_normal;
    return large ? 0x3e800000U : small ? 0x4b800000U : one;  // 2^-2, 2^24
  }
  TILEVM_INLINE void operator()(const std::uint8_t* a, const std::uint8_t* b, std::uint8_t* out,
                                std::size_t n) const {
    Lanes divisor, scaled;
    for (std::size_t begin = 0; begin < n; begin += most) {
      const std::size_t count = n - begin < most ? n - begin : most;
      std::memcpy(divisor.data(), b + begin * 4, count * 4);
      TILEVM_LOOP
      for (std::size_t i = 0; i < count; ++i) {
        scaled[i] = times(divisor[i], scale(divisor[i]));
      }
      Unit<Rcp>::template run<level>(scaled.data(), count);
      TILEVM_LOOP
      for (std::size_t i = 0; i < count; ++i) {
        const Bits dividend = times(load_lane<Bits>(a, begin + i), scale(divisor[i]));
        store_lane(out, begin + i, times(scaled[i], dividend));
      }
    }
  }
};

template <bool full, bool ftz>
LaneLoop2 loop_of_quotient(SimdLevel level) {
  const auto at = [level](const auto& body) {
    return detail::at_level<const std::uint8_t*, const std::uint8_t*, std::uint8_t*, std::size_t>(
        level, body);
  };
  switch (level) {
    case SimdLevel::avx512:
      return at(Quotient<full, ftz, SimdLevel::avx512>{});
    case SimdLevel::avx2:
      return at(Quotient<full, ftz, SimdLevel::avx2>{});
    case SimdLevel::portable:
      break;
  }
  return at(Quotient<full, ftz, SimdLevel::portable>{});
}

LaneLoop2 quotient_loop_of(BinaryOp op, SimdLevel level) {
  const bool full = op == BinaryOp::div_full || op == BinaryOp::div_full_ftz;
  const bool ftz = op == BinaryOp::div_full_ftz || op == BinaryOp::div_approx_ftz;
  if (full) return ftz ? loop_of_quotient<true, true>(level) : loop_of_quotient<true, false>(level);
  return ftz ? loop_of_quotient<false, true>(level) : loop_of_quotient<false, false>(level);
}

}  // namespace
}  // namespace unit

LaneLoop1 approximation_loop(isa::UnaryOp op, const isa::DType& type, SimdLevel level) {
  if (type == isa::f32) return unit::f32_loop(op, level);
  return defined_loop(type.bits, type.bits, [op, type](std::uint64_t code) {
    return isa::apply_approximation(op, type, code);
  });
}

LaneLoop2 quotient_loop(isa::BinaryOp op, SimdLevel level) {
  return unit::quotient_loop_of(op, level);
}

}  // namespace tilevm::sim
