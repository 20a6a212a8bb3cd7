// Miscompilations by ptxas that others reported, by version and architecture.
#pragma once

#include <span>
#include <string_view>
#include <vector>

namespace tilevm::backend {

/// A fault of ptxas by which right PTX becomes wrong machine code. Versions are 1000 * major + 10 *
/// minor, as the driver counts; 12080 is CUDA 12.8.
struct ReportedFault {
  int first_seen, last_seen;  ///< the oldest and the newest version that were seen to have it
  int right;               ///< the first version that was seen not to have it; 0 if there is none
  int first_sm, last_sm;   ///< the architectures of the reports
  std::string_view words;  ///< what goes wrong
  std::string_view source;
};

/// Every fault, the newest report first.
[[nodiscard]] std::span<const ReportedFault> reported_faults();

/// The faults that a version of ptxas may have for an architecture. Versions older than the oldest
/// seen are not known to have a fault.
[[nodiscard]] std::vector<ReportedFault> reported_faults(int version, int sm);

}  // namespace tilevm::backend
