// Code for several targets in one image, from which the driver takes the device's.
#pragma once

#include <string>
#include <vector>

#include "backend/compile/compile_request.h"
#include "isa/base/result.h"

namespace tilevm::backend {

/// One piece of a fatbin.
struct FatbinPart {
  CudaTarget target;
  std::string image;  ///< a cubin, or PTX where the target is virtual
};

/// Packs with the tool `fatbinary`, which comes with nvcc. Errors: unavailable (not found, or it
/// fails), limit (a minute).
[[nodiscard]] Result<std::string> pack_fatbin(const std::vector<FatbinPart>& parts);

}  // namespace tilevm::backend
