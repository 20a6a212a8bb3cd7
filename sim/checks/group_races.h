// Races in shared memory between the parties of a block: groups of warps and chains of asynchronous
// accesses.
//
// Accesses are kept as tiles. An access is compared with those that it meets; only if one of them
// has not happened before as a whole, element by element and thread by thread.
#pragma once

#include <optional>

#include "sim/checks/shared_races.h"
#include "sim/order/group_order.h"

namespace tilevm::sim {

/// Chains of a group whose segments are its commit groups. Other chains are numbered from 1 on.
inline constexpr std::uint32_t copies_chain = 0xffffffff, products_chain = 0xfffffffe;

/// An access that goes on after its instruction.
struct AsyncAccess {
  Segment segment;  ///< segment of its chain (GroupOrder::chain)
  /// The thread that begins it, of the block. If each of `completes_in` must wait, all of these
  /// begin it.
  std::uint32_t thread = 0;
  /// The threads that each must wait, if the segments of the chain complete warp by warp; else
  /// none.
  ThreadRange completes_in{0, 0};
};

/// Whether all threads of the current group may use a tile now; records the access. False after a
/// fault.
[[nodiscard]] bool check_group_access(const ResolvedAccess& resolved, SharedUse use,
                                      Context& context);

/// Whether an access by the async proxy, or by another agent of the generic one, may begin now;
/// records it. Stores of the generic proxy must be visible to the async proxy. False after a fault.
[[nodiscard]] bool check_async_access(const ResolvedAccess& resolved, SharedUse use,
                                      const AsyncAccess& async, Context& context);

/// The chain of a group's CopyAsync, which completes by CopyAsyncWaitGroup: group k of these copies
/// is segment k - 1.
[[nodiscard]] Party copy_chain(const BlockState& state);

/// The chain of a group's products: group k of these is segment k - 1. A wait of DotAsyncWaitGroup
/// is that of each warp for its own part of a product.
[[nodiscard]] Party product_chain(const BlockState& state);

/// All but the latest commit groups of products are complete, for each warp of the current group.
void complete_products(std::uint64_t groups, BlockState& state);

}  // namespace tilevm::sim
