// What is known of a kernel's groups of warps and barriers before the run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "isa/base/source.h"
#include "sim/order/group_order.h"

namespace tilevm::sim {

/// A group of warps, for the run and for messages.
struct PlannedGroup {
  ThreadRange threads;
  bool elects = false;
  std::int32_t parent = -1;  ///< -1: the block
  std::string name;          ///< "warps 0 to 3", "the block"
  Span span{};

  /// "waits" or "wait", as the name needs it.
  [[nodiscard]] std::string_view verb(std::string_view one, std::string_view many) const {
    const bool is_one = elects || parent < 0 || threads.count <= 32;
    return is_one ? one : many;
  }
};

/// An object through which groups are put in order: a stage of a memory barrier, or a named
/// barrier.
struct PlannedObject {
  std::string name;  ///< "`full` stage 2", "named barrier 1"
  /// Arrivals that a phase takes; 0 for a named barrier, whose instructions state them.
  std::uint32_t arrivals = 0;
  Span span{};
};

struct GroupsPlan {
  /// Whether a block is checked by what its parties know of one another instead of by epochs: it
  /// has groups, barriers, or accesses by the async proxy.
  bool active = false;
  std::vector<PlannedGroup> groups;
  std::vector<PlannedObject> objects;  ///< stages of memory barriers, then 16 named barriers
  std::size_t first_named = 0;         ///< where the named barriers begin
  /// Whether copies by tensor maps touch global memory, which they do by the async proxy.
  bool has_tensor_copies = false;

  [[nodiscard]] std::vector<ThreadRange> threads() const {
    std::vector<ThreadRange> ranges;
    for (const PlannedGroup& group : groups) ranges.push_back(group.threads);
    return ranges;
  }
};

}  // namespace tilevm::sim
