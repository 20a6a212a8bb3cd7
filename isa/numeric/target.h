// Targets: the GPU architecture whose arithmetic and instructions a program is checked, simulated
// and compiled for.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "isa/base/result.h"

namespace tilevm::isa {

/// A compute capability, and the suffix of code that later architectures cannot run: `feature` of
/// architecture-specific code ("sm_90a"), `family` of family-specific code ("sm_100f").
struct Target {
  int sm = 90;           ///< major * 10 + minor
  bool feature = false;  ///< whether the target has the suffix "a"
  bool family = false;   ///< whether the target has the suffix "f"

  friend bool operator==(const Target&, const Target&) = default;
};

/// Reads "sm_90", "sm_90a", "100f"; an unknown one is an error that lists the known.
[[nodiscard]] Result<Target> parse_target(std::string_view text);
[[nodiscard]] std::string to_string(const Target& target);

/// Every target that programs may name, by architecture: the plain form, then that of the family,
/// then that of the architecture, each of which has the instructions of the forms before it. What a
/// compiler accepts for each is in docs/reference/targets.md.
[[nodiscard]] const std::vector<Target>& known_targets();

/// The target of an architecture that has all its instructions: the suffixed form where there is
/// one.
[[nodiscard]] Target fullest_target(int sm);

/// The architecture whose arithmetic is taken for that of `sm`, of which no results are published;
/// `sm` itself where there are some.
[[nodiscard]] constexpr int modelled_after(int sm) {
  if (sm == 88) return 80;
  if (sm == 121) return 120;
  return sm > 100 && sm < 120 ? 100 : sm;
}

/// Whether the target has a suffix, and with it the instructions that need one.
[[nodiscard]] constexpr bool has_suffix(const Target& target) {
  return target.feature || target.family;
}

/// Bytes of shared memory that one block may have (CUDA C++ Programming Guide, Compute
/// Capabilities). The bytes of sm_103a, sm_107a, sm_110a and sm_121a are what ptxas 13.5 allows. No
/// number is published for sm_88, which has the least of its generation here.
[[nodiscard]] std::int64_t max_shared_bytes(const Target& target);

/// The architecture that NVIDIA's compilers are asked for: the suffixed form of data-centre
/// architectures from sm_90 on (sm_90 -> sm_90a), whose matrix instructions need it. A target that
/// has a suffix stays as it is.
[[nodiscard]] Target compile_target(const Target& target);

}  // namespace tilevm::isa
