// What this machine offers for the CUDA backend, as data: the base of `tilevm doctor`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tilevm::backend {

enum class Health { ok, warn, missing };

/// One thing looked at. `fix` says what to do and is empty where all is well.
struct Finding {
  Health health = Health::ok;
  std::string what;    ///< "driver", "NVRTC", "nvcc", "fatbinary", "GPU 0", "cache", "compiling"
  std::string detail;  ///< version and path, or what was not found
  std::string fix;
};

/// Looks at the driver, NVRTC, nvcc, fatbinary, every device and the kernel cache, and compiles a
/// small kernel for the first device (for sm_80 without one). Opens the libraries; takes a second
/// at most.
[[nodiscard]] std::vector<Finding> examine_cuda();

/// "ok", "warn" or "missing".
[[nodiscard]] std::string_view to_string(Health health);

}  // namespace tilevm::backend
