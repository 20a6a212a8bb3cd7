#include "sim/mma/float_fields.h"

#include "isa/type/number.h"

namespace tilevm::sim {

FloatFields float_fields(const isa::DType& type) {
  const int unused = type.bits - 1 - type.exponent_bits - type.mantissa_bits;
  const auto largest = static_cast<std::int32_t>(isa::max_code(type) >> unused);
  return {unused, type.mantissa_bits, type.exponent_bits, largest + 1};
}

}  // namespace tilevm::sim
