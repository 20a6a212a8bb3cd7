// The levels of vector instructions for which loops are compiled; the bits do not depend on the
// level.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace tilevm::sim {

enum class SimdLevel : std::uint8_t { portable, avx2, avx512 };

/// The best level of this processor, and all that it has, portable first.
[[nodiscard]] SimdLevel best_simd_level();
[[nodiscard]] std::vector<SimdLevel> simd_levels();
[[nodiscard]] std::string_view to_string(SimdLevel level);

}  // namespace tilevm::sim
