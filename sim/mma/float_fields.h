// The fields of a float type's codes, as vector kernels take them apart.
#pragma once

#include <cstdint>

#include "isa/type/dtype.h"

namespace tilevm::sim {

/// The exponent of a zero: below every other exponent, and sums of two do not overflow.
inline constexpr std::int32_t zero_exponent = -(1 << 20);

/// How codes of a float type are taken apart.
struct FloatFields {
  int unused_bits;  ///< low bits without a meaning (tf32)
  int mantissa_bits;
  int exponent_bits;
  std::int32_t first_special;  ///< magnitudes from here on are NaN or Inf
};
[[nodiscard]] FloatFields float_fields(const isa::DType& type);

}  // namespace tilevm::sim
