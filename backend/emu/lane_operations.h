// The functions that emulated threads call (backend/emu/lane.h), on the block that they belong to.
#pragma once

#include "backend/emu/lane.h"

namespace tilevm::backend {

[[nodiscard]] const emu::Operations* lane_operations();

}  // namespace tilevm::backend
