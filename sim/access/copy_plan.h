// A prepared CopyAsync: its source in a view and its destination in a shared tensor.
#pragma once

#include "sim/access/global_access.h"
#include "sim/access/shared_access.h"

namespace tilevm::sim {

/// A CopyAsync, prepared: a tile that one thread loads and stores.
struct CopyPlan {
  GlobalAccess source;
  SharedAccess destination;
};

}  // namespace tilevm::sim
