#include "sim/arithmetic/float_bits.h"

#include "isa/type/bits.h"
#include "isa/type/number.h"

namespace tilevm::sim {

SmallFloat::SmallFloat(const isa::DType& type)
    : mantissa_bits(type.mantissa_bits),
      sign_shift(unsigned{type.exponent_bits} + type.mantissa_bits),
      unsigned_mask(type.has_sign() ? 0U : ~0U),
      scale(static_cast<std::uint32_t>(254 - type.bias()) << 23),
      infinity(1U << type.bits),
      first_nan(1U << type.bits),
      max(static_cast<std::uint32_t>(isa::max_code(type))),
      nan(max),
      least_normal(static_cast<std::uint32_t>(128 - type.bias()) << 23),
      rounder(static_cast<std::uint32_t>(128 - type.bias() - type.mantissa_bits + 23) << 23),
      rebias(static_cast<std::uint32_t>(127 - type.bias()) << type.mantissa_bits) {
  if (type.specials() == isa::Specials::finite) return;
  nan = static_cast<std::uint32_t>(isa::canonical_nan(type));
  first_nan = max + 1;
  if (type.specials() != isa::Specials::ieee) return;
  infinity = max + 1;
  first_nan = max + 2;
}

}  // namespace tilevm::sim
