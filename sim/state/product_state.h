// Asynchronous products of a block in flight, as a value, and what the async proxy may see of
// shared memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "sim/state/shared_state.h"
#include "sim/tiles/tile_origin.h"

namespace tilevm::sim {

struct ProductPlan;

/// A DotAsync between its issue and the wait that retires its group. Its operands are read, and its
/// result is written, at retirement at the latest (Completion).
struct PendingProduct {
  const ProductPlan* plan = nullptr;
  TileOrigin a_origin{}, b_origin{};  ///< origins of operands in shared memory
  bool accumulate = true;             ///< whether the addend is added
  bool committed = false;
  bool complete = false;    ///< the result is in registers, whoever may see it
  std::uint64_t group = 0;  ///< number of its group from 1 on, once committed
};

/// A product that would still be in flight if one wait of the text did not exist.
struct CounterfactualProduct {
  PendingProduct product{};
  std::uint32_t statement = 0;  ///< index in Plan::barriers
};

/// The last store of the generic proxy to a granule of shared memory, and how many proxy fences had
/// run before it.
struct GenericStore {
  static constexpr std::uint32_t none = 0xffffffff;
  std::uint32_t statement = none;  ///< index in Plan::memory_statements
  std::uint32_t fences = 0;
};

/// The products of a group of warps. A block without groups is one.
struct GroupProducts {
  std::vector<PendingProduct> pending;  ///< products in the order of issue
  std::uint64_t groups = 0;             ///< number of commit groups
  LastWait last_wait;
};

/// Its own are the products of the group of warps that runs.
struct AsyncProducts : GroupProducts {
  std::vector<CounterfactualProduct> unwaited;  ///< products that only one wait has retired
  /// By granule; empty unless a product of the kernel reads shared memory and races are checked by
  /// epochs.
  std::vector<GenericStore> stores;
  std::uint32_t fences = 0;      ///< proxy fences that ran
  std::uint32_t last_fence = 0;  ///< the statement of the last one, in Plan::barriers
  std::uint32_t run_begin =
      0;  ///< the number of the first of the fences of that statement in a row

  /// Exchanges the products of the current group of warps with those of another one.
  void exchange(GroupProducts& other) { std::swap(static_cast<GroupProducts&>(*this), other); }
};

}  // namespace tilevm::sim
