// Where a thread of an emulated kernel stands, as return addresses.
#pragma once

#include <vector>

namespace tilevm::backend {

/// The return addresses on this stack, innermost first; 16 at most.
[[nodiscard]] std::vector<const void*> call_frames();

}  // namespace tilevm::backend
