// Multiply-add of one element with one rounding.
#pragma once

#include <cstdint>

#include "isa/type/dtype.h"
#include "isa/type/operations.h"

namespace tilevm::isa {

/// a * b + c, rounded once; integers wrap. The type must have it.
[[nodiscard]] std::uint64_t apply_fma(const DType& type, std::uint64_t a, std::uint64_t b,
                                      std::uint64_t c);

}  // namespace tilevm::isa
