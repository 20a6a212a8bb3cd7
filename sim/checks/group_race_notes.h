// The report of a race between parties of a block: both accesses, the missing edge, the way out.
#pragma once

#include <string_view>

#include "isa/layout/shape.h"
#include "sim/access/shared_access.h"
#include "sim/state/context.h"

namespace tilevm::sim {

/// What lets the async proxy see a store of the generic one.
inline constexpr std::string_view fence_advice =
    "insert `FenceProxy()` after the store, by the threads that stored, before they synchronize "
    "with the thread that begins the asynchronous access";

struct GroupRace {
  const GroupAccess& earlier;
  const GroupAccess& now;
  const ResolvedAccess& resolved;                ///< elements of `now`
  std::size_t elements = 0;                      ///< number of elements that both touch
  isa::Index first;                              ///< first element that both touch
  std::uint32_t thread = 0, earlier_thread = 0;  ///< numbers of their threads in the block
  bool is_async = false;                         ///< the new access goes on after its instruction
  /// Whether `now` comes later, but the async proxy may not see the earlier store.
  bool lacks_fence = false;
};

/// Records the fault; false.
bool report_group_race(const GroupRace& race, Context& context);

}  // namespace tilevm::sim
