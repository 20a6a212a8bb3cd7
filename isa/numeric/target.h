// Targets: the GPU architecture whose arithmetic and instructions a program is checked, simulated
// and compiled for.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "isa/base/result.h"

namespace tilevm::isa {

/// A compute capability; `feature` is the suffix of architecture-specific code ("sm_90a").
struct Target {
  int sm = 90;           ///< major * 10 + minor
  bool feature = false;  ///< whether the target has the suffix "a"

  friend bool operator==(const Target&, const Target&) = default;
};

/// Reads "sm_90", "sm_90a", "90a"; an unknown one is an error that lists the known.
[[nodiscard]] Result<Target> parse_target(std::string_view text);
[[nodiscard]] std::string to_string(const Target& target);

/// Every target that programs may name: sm_80, sm_86, sm_89, sm_90, sm_90a, sm_100, sm_100a,
/// sm_120, sm_120a.
[[nodiscard]] const std::vector<Target>& known_targets();

/// Bytes of shared memory that one block may have (CUDA C++ Programming Guide, Compute
/// Capabilities).
[[nodiscard]] std::int64_t max_shared_bytes(const Target& target);

/// The architecture that NVIDIA's compilers are asked for: the suffixed form where there is one
/// (sm_90 -> sm_90a), since only native code has fixed numerics.
[[nodiscard]] Target compile_target(const Target& target);

}  // namespace tilevm::isa
