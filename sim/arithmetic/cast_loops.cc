// Casts as loops over lanes: by the host's conversion if there is one, otherwise by table,
// otherwise by the definition in isa/type. Each loop equals isa::cast on every code.
#include <memory>
#include <utility>
#include <vector>

#include "isa/type/bits.h"
#include "isa/type/number.h"
#include "sim/arithmetic/element_loops.h"
#include "sim/arithmetic/float_bits.h"
#include "sim/arithmetic/half_loops.h"

namespace tilevm::sim {
namespace {

using isa::DType;

/// The value of an integer in a lane, in 64 bits.
template <class Lane>
TILEVM_INLINE std::int64_t extend(Lane code, unsigned bits) {
  return static_cast<std::int64_t>(std::uint64_t{code} << (64 - bits)) >> (64 - bits);
}
/// The loop for lanes of at most 32 bits, in 32.
template <class Lane>
TILEVM_INLINE std::int32_t extend_word(Lane code, unsigned bits) {
  return static_cast<std::int32_t>(std::uint32_t{code} << (32 - bits)) >> (32 - bits);
}

/// Wraps: extends by the source's sign, cuts at the destination's width.
template <class To, class From, bool is_signed>
struct IntegerCast {
  unsigned bits;
  To mask;
  TILEVM_INLINE To operator()(From code) const {
    if constexpr (!is_signed) {
      return static_cast<To>(code) & mask;
    } else if constexpr (sizeof(From) <= 4 && sizeof(To) <= 4) {
      return static_cast<To>(extend_word(code, bits)) & mask;
    } else {
      return static_cast<To>(extend(code, bits)) & mask;
    }
  }
};

LaneLoop1 integer_cast(const DType& from, const DType& to, SimdLevel level) {
  return with_lane(from.bits, [&]<class From>() {
    return with_lane(to.bits, [&]<class To>() {
      const auto mask = static_cast<To>(isa::low_mask(to.bits));
      if (from.is_signed_int()) {
        return loop1<To, From>(level, IntegerCast<To, From, true>{from.bits, mask});
      }
      return loop1<To, From>(level, IntegerCast<To, From, false>{from.bits, mask});
    });
  });
}

/// The host's conversion rounds to nearest even, as Cast does.
template <class From, bool is_signed>
struct IntegerToF32 {
  unsigned bits;
  TILEVM_INLINE std::uint32_t operator()(From code) const {
    if constexpr (is_signed) return as_bits(static_cast<float>(extend_word(code, bits)));
    return as_bits(static_cast<float>(code));
  }
};

LaneLoop1 integer_to_f32(const DType& from, SimdLevel level) {
  const auto loop = [&]<class From>() {
    if (from.is_signed_int()) {
      return loop1<std::uint32_t, From>(level, IntegerToF32<From, true>{from.bits});
    }
    return loop1<std::uint32_t, From>(level, IntegerToF32<From, false>{from.bits});
  };
  if (from.bits <= 8) return loop.operator()<std::uint8_t>();
  if (from.bits <= 16) return loop.operator()<std::uint16_t>();
  return loop.operator()<std::uint32_t>();
}

struct F32FromF16 {
  TILEVM_INLINE std::uint32_t operator()(std::uint16_t code) const { return f16_to_f32(code); }
};
struct F32FromBf16 {
  TILEVM_INLINE std::uint32_t operator()(std::uint16_t code) const { return bf16_to_f32(code); }
};
struct F16FromF32 {
  TILEVM_INLINE std::uint32_t operator()(std::uint32_t code) const { return f32_to_f16(code); }
};
struct Bf16FromF32 {
  TILEVM_INLINE std::uint32_t operator()(std::uint32_t code) const { return f32_to_bf16(code); }
};
struct F32FromF32 {
  TILEVM_INLINE std::uint32_t operator()(std::uint32_t code) const { return canonical_f32(code); }
};
struct Tf32FromF32 {
  TILEVM_INLINE std::uint32_t operator()(std::uint32_t code) const { return f32_to_tf32(code); }
};
struct F32FromTf32 {
  TILEVM_INLINE std::uint32_t operator()(std::uint32_t code) const { return tf32_to_f32(code); }
};
struct SmallFromF32 {
  SmallFloat type;
  TILEVM_INLINE std::uint32_t operator()(std::uint32_t code) const {
    return f32_to_small(type, code);
  }
};
/// The exponent of f8e8m0: half a unit and more rounds up, what is less than 2^-127 becomes it.
struct PowerFromF32 {
  TILEVM_INLINE std::uint32_t operator()(std::uint32_t code) const {
    const std::uint32_t magnitude = code & 0x7fffffff;
    const std::uint32_t normal = (magnitude + 0x400000) >> 23;
    const std::uint32_t rounded = magnitude < 0x800000 ? (magnitude >= 0x600000 ? 1U : 0U) : normal;
    const std::uint32_t finite = rounded < 254 ? rounded : 254;
    const std::uint32_t positive = code >> 31 != 0 ? 0 : finite;
    return magnitude > f32_infinity ? 255 : positive;
  }
};
/// Toward zero, saturating, NaN gives 0.
struct I32FromF32 {
  TILEVM_INLINE std::uint32_t operator()(std::uint32_t code) const {
    const float value = as_float(code);
    if (!(value >= -2147483648.0F)) return value != value ? 0 : 0x80000000;
    if (value >= 2147483648.0F) return 0x7fffffff;
    return static_cast<std::uint32_t>(static_cast<std::int32_t>(value));
  }
};

/// The pairs that programs use most and the host can do; an empty function for all others.
LaneLoop1 host_cast(const DType& from, const DType& to, SimdLevel level) {
  using U8 = std::uint8_t;
  using U16 = std::uint16_t;
  using U32 = std::uint32_t;
  using isa::bf16, isa::f16, isa::f32, isa::i32, isa::tf32;
  if (from.is_integer() && to.is_integer()) return integer_cast(from, to, level);
  if (from.is_integer() && from.bits <= 32 && to == f32) return integer_to_f32(from, level);
  if (from == f16 && to == f32) {
    if (auto loop = f16_to_f32_loop(level)) return loop;
    return loop1<U32, U16>(level, F32FromF16{});
  }
  if (from == bf16 && to == f32) return loop1<U32, U16>(level, F32FromBf16{});
  if (from == tf32 && to == f32) return loop1<U32, U32>(level, F32FromTf32{});
  if (from != f32) return {};
  if (to == f32) return loop1<U32, U32>(level, F32FromF32{});
  if (to == f16) {
    if (auto loop = f32_to_f16_loop(level)) return loop;
    return loop1<U16, U32>(level, F16FromF32{});
  }
  if (to == bf16) return loop1<U16, U32>(level, Bf16FromF32{});
  if (to == tf32) return loop1<U32, U32>(level, Tf32FromF32{});
  if (to == i32) return loop1<U32, U32>(level, I32FromF32{});
  if (to == isa::f8e8m0) return loop1<U8, U32>(level, PowerFromF32{});
  if (to.is_float() && to.bits <= 8) return loop1<U8, U32>(level, SmallFromF32{SmallFloat(to)});
  return {};
}

/// The function as a table of all codes; for types of at most 16 bits.
template <class To, class From>
LaneLoop1 table_loop(unsigned bits, const CodeFunction& f) {
  auto table = std::make_shared<std::vector<To>>(std::size_t{1} << bits);
  for (std::size_t code = 0; code < table->size(); ++code) {
    (*table)[code] = static_cast<To>(f(code));
  }
  return [table = std::move(table)](const std::uint8_t* in, std::uint8_t* out, std::size_t n) {
    const To* values = table->data();
    for (std::size_t i = 0; i < n; ++i) store_lane(out, i, values[load_lane<From>(in, i)]);
  };
}

}  // namespace

LaneLoop1 cast_loop(const DType& from, const DType& to, SimdLevel level) {
  if (auto loop = host_cast(from, to, level)) return loop;
  return defined_loop(from.bits, to.bits,
                      [from, to](std::uint64_t code) { return isa::cast(from, to, code); });
}

LaneLoop1 defined_loop(unsigned from_bits, unsigned to_bits, CodeFunction f) {
  if (from_bits <= 16) {
    return with_lane(from_bits, [&]<class From>() {
      return with_lane(to_bits, [&]<class To>() { return table_loop<To, From>(from_bits, f); });
    });
  }
  return with_lane(from_bits, [&]<class From>() {
    return with_lane(to_bits, [&]<class To>() -> LaneLoop1 {
      return [f](const std::uint8_t* in, std::uint8_t* out, std::size_t n) {
        for (std::size_t i = 0; i < n; ++i) {
          store_lane(out, i, static_cast<To>(f(load_lane<From>(in, i))));
        }
      };
    });
  });
}

}  // namespace tilevm::sim
