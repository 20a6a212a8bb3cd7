// Who wants to know of every access of an instruction to memory: the debugger.
#pragma once

#include "sim/state/global_history.h"
#include "sim/tiles/tile_origin.h"

namespace tilevm::sim {

class Context;
struct SharedAccess;

/// Observes an access before it happens; of a copy when it is issued.
class AccessObserver {
 public:
  virtual ~AccessObserver() = default;
  virtual void global(const GlobalFootprint& footprint, const Context& context) = 0;
  virtual void shared(const SharedAccess& access, const TileOrigin& origin, bool writes,
                      const Context& context) = 0;
};

}  // namespace tilevm::sim
