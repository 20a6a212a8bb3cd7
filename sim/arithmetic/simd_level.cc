#include "sim/arithmetic/simd_level.h"

namespace tilevm::sim {

SimdLevel best_simd_level() {
  static const SimdLevel best = simd_levels().back();
  return best;
}

std::vector<SimdLevel> simd_levels() {
  std::vector<SimdLevel> levels{SimdLevel::portable};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
      __builtin_cpu_supports("f16c")) {
    levels.push_back(SimdLevel::avx2);
  }
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw")) {
    levels.push_back(SimdLevel::avx512);
  }
#endif
  return levels;
}

std::string_view to_string(SimdLevel level) {
  switch (level) {
    case SimdLevel::portable:
      return "portable";
    case SimdLevel::avx2:
      return "avx2";
    case SimdLevel::avx512:
      break;
  }
  return "avx512";
}

}  // namespace tilevm::sim
