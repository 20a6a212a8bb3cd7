// What is known of a kernel's groups of warps and barriers before the run.
#pragma once

#include <array>
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
  std::vector<PlannedGroup> groups;  ///< groups of all blocks of a cluster, block after block
  /// For each block of a cluster, stages of memory barriers, then 16 named barriers; then the
  /// barrier of the cluster, if blocks are in clusters.
  std::vector<PlannedObject> objects;
  std::size_t first_named = 0;    ///< where the named barriers of a block begin among its objects
  std::uint32_t blocks = 1;       ///< blocks of a cluster
  std::size_t block_groups = 1;   ///< groups of a block
  std::size_t block_objects = 0;  ///< objects of a block
  std::array<std::int64_t, 3> cluster{1, 1, 1};  ///< blocks of a cluster along the grid's extents
  /// Whether copies by tensor maps touch global memory, which they do by the async proxy.
  bool has_tensor_copies = false;

  /// The rank in its cluster of the block of a group.
  [[nodiscard]] std::uint32_t block_of(std::size_t group) const {
    return static_cast<std::uint32_t>(group / block_groups);
  }
  /// The number of a group of the kernel, or of an object of its block, in the cluster.
  [[nodiscard]] std::size_t group_of(std::uint32_t block, std::size_t own) const {
    return block * block_groups + own;
  }
  [[nodiscard]] std::size_t object_of(std::uint32_t block, std::size_t own) const {
    return block * block_objects + own;
  }
  /// Whether an object is a stage of a memory barrier, which one thread initialises.
  [[nodiscard]] bool is_memory_barrier(std::size_t object) const {
    return object < blocks * block_objects && object % block_objects < first_named;
  }
  [[nodiscard]] std::size_t cluster_barrier() const { return blocks * block_objects; }
  /// " of block 1" of a cluster; else nothing.
  [[nodiscard]] std::string suffix_of(std::uint32_t block) const {
    return blocks == 1 ? std::string() : " of block " + std::to_string(block);
  }

  [[nodiscard]] std::vector<ThreadRange> threads() const {
    std::vector<ThreadRange> ranges;
    for (const PlannedGroup& group : groups) ranges.push_back(group.threads);
    return ranges;
  }
};

}  // namespace tilevm::sim
