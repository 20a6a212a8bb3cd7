// Miscompilations of ptxas and of NVVM before it that were reported in public, by version: what
// `tilevm doctor` warns of.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tilevm::backend {

/// A version of CUDA as 1000 * major + 10 * minor, as NVIDIA counts: 13000 is 13.0.
struct PtxasFault {
  int seen = 0;             ///< the earliest version that was reported
  int fixed = 0;            ///< the first version that was reported to be right; 0: none yet
  std::string_view report;  ///< "triton#9433"
  std::string_view code;    ///< the GPUs whose code it concerns
  std::string_view what;
  int brought =
      0;  ///< the version that brought it, if the one before was reported to be right; else 0
};

[[nodiscard]] const std::vector<PtxasFault>& ptxas_faults();

/// The faults that a version may have. A fault that was fixed counts for all versions before:
/// most reports name the versions that were tried, not the one that brought it. One that is not
/// fixed counts from the earliest report on.
[[nodiscard]] std::vector<PtxasFault> ptxas_faults_of(int version);

/// "triton#9433 (sm_90a): ..; pytorch#190973 (sm_100): .."
[[nodiscard]] std::string describe_faults(const std::vector<PtxasFault>& faults);

}  // namespace tilevm::backend
