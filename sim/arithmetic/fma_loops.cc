// Fma as loops over lanes; each equals isa::apply_fma on every code.
#include <bit>
#include <cmath>

#include "isa/base/check.h"
#include "isa/type/fma.h"
#include "sim/arithmetic/element_loops.h"
#include "sim/arithmetic/float_bits.h"
#include "sim/arithmetic/half_loops.h"

namespace tilevm::sim {
namespace {

struct FmaOfF32 {
  TILEVM_INLINE std::uint32_t operator()(std::uint32_t a, std::uint32_t b, std::uint32_t c) const {
    return canonical_f32(as_bits(std::fma(as_float(a), as_float(b), as_float(c))));
  }
};

struct FmaOfF64 {
  TILEVM_INLINE std::uint64_t operator()(std::uint64_t a, std::uint64_t b, std::uint64_t c) const {
    const auto value = [](std::uint64_t code) { return std::bit_cast<double>(code); };
    return canonical_f64(std::bit_cast<std::uint64_t>(std::fma(value(a), value(b), value(c))));
  }
};

struct FmaOfF16 {
  TILEVM_INLINE std::uint16_t operator()(std::uint32_t a, std::uint32_t b, std::uint32_t c) const {
    const auto value = [](std::uint32_t code) { return as_float(f16_to_f32(code)); };
    return static_cast<std::uint16_t>(
        f32_to_f16(f32_to_odd(fma_to_odd(value(a), value(b), value(c)))));
  }
};

struct FmaOfBf16 {
  TILEVM_INLINE std::uint16_t operator()(std::uint32_t a, std::uint32_t b, std::uint32_t c) const {
    const auto value = [](std::uint32_t code) { return as_float(bf16_to_f32(code)); };
    return static_cast<std::uint16_t>(
        f32_to_bf16(f32_to_odd(fma_to_odd(value(a), value(b), value(c)))));
  }
};

struct FmaOfIntegers {
  template <class Lane>
  TILEVM_INLINE Lane operator()(Lane a, Lane b, Lane c) const {
    return a * b + c;
  }
};

}  // namespace

LaneLoop3 fma_loop(const isa::DType& type, SimdLevel level) {
  TILEVM_CHECK(isa::has_fma(type), "a type that has no fused multiply-add");
  if (type == isa::f16) {
    if (auto loop = f16_fma_loop(level)) return loop;
    return loop3<std::uint16_t>(level, FmaOfF16{});
  }
  if (type == isa::bf16) return loop3<std::uint16_t>(level, FmaOfBf16{});
  if (type == isa::f32) return loop3<std::uint32_t>(level, FmaOfF32{});
  if (type == isa::f64) return loop3<std::uint64_t>(level, FmaOfF64{});
  if (type.bits == 32) return loop3<std::uint32_t>(level, FmaOfIntegers{});
  return loop3<std::uint64_t>(level, FmaOfIntegers{});
}

}  // namespace tilevm::sim
