// The report of a race between parties of a block: both accesses, the missing edge, the way out.
#pragma once

#include "isa/layout/shape.h"
#include "sim/access/shared_access.h"
#include "sim/state/context.h"

namespace tilevm::sim {

struct GroupRace {
  const GroupAccess& earlier;
  const GroupAccess& now;
  const ResolvedAccess& resolved;                ///< of `now`
  std::size_t elements = 0;                      ///< that both touch
  isa::Index first;                              ///< of them
  std::uint32_t thread = 0, earlier_thread = 0;  ///< of the block
  bool is_async = false;                         ///< the new access goes on after its instruction
  bool lacks_fence = false;  ///< it comes later, and the async proxy may not see the earlier store
};

/// Records the fault; false.
bool report_group_race(const GroupRace& race, Context& context);

}  // namespace tilevm::sim
