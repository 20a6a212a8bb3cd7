// Asynchronous operations of a block that have begun and not completed: data under way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "isa/base/source.h"
#include "sim/api/shadow_memory.h"
#include "sim/order/group_order.h"
#include "sim/tiles/tile_origin.h"

namespace tilevm::sim {

class Context;
struct AsyncOperation;

/// What an instruction lets happen later, prepared with the instruction. Operations point at it.
class AsyncPlan {
 public:
  AsyncPlan() = default;
  AsyncPlan(const AsyncPlan&) = delete;
  AsyncPlan& operator=(const AsyncPlan&) = delete;
  virtual ~AsyncPlan() = default;

  /// Moves the data, or computes; called once. False after a fault.
  virtual bool complete(AsyncOperation& operation, Context& context) const = 0;
};

/// A value: a copy of a block's state copies what is under way.
struct AsyncOperation {
  const AsyncPlan* plan = nullptr;
  Span span{};              ///< place of the instruction
  std::uint16_t group = 0;  ///< group that began it
  /// Its accesses. Segments of a chain complete in the order of their numbers.
  Segment segment;
  /// The stage of a barrier that counts its bytes, in GroupOrder::objects; else a commit group of
  /// its group, which a wait completes.
  std::optional<std::size_t> object;
  std::int64_t bytes = 0;
  std::uint32_t block = 0;  ///< rank in the cluster of the block whose shared memory it fills
  bool committed = false;
  TileOrigin shared_origin{};
  std::vector<std::uint8_t> data;
  /// As of PendingCopy: the mask of elements outside of the view, and shadow values.
  std::vector<std::uint8_t> padding;
  std::vector<ShadowSlot> shadow;
};

}  // namespace tilevm::sim
