// What the groups of warps of one block know of one another, as a value.
//
// Threads of a group run the same instructions, and nothing is in order between two of them until
// the group synchronizes. So a group's knowledge has three parts: what all of its threads know,
// what some ranges of its threads know besides (each thread its own past in groups that have
// ended), and what each thread alone knows of itself. An arrival of all threads releases all of
// it; one elected thread, which is a group by itself, releases only its own part.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "isa/base/source.h"
#include "sim/order/sync_object.h"

namespace tilevm::sim {

/// Threads of a block.
struct ThreadRange {
  std::uint32_t first = 0;
  std::uint32_t count = 1;
  [[nodiscard]] constexpr std::uint32_t end() const { return first + count; }
  [[nodiscard]] constexpr bool has(std::uint32_t thread) const {
    return first <= thread && thread < end();
  }
  [[nodiscard]] constexpr bool covers(const ThreadRange& other) const {
    return first <= other.first && other.end() <= end();
  }
  [[nodiscard]] constexpr bool meets(const ThreadRange& other) const {
    return first < other.end() && other.first < end();
  }
  friend bool operator==(const ThreadRange&, const ThreadRange&) = default;
};

/// What a party did that each of its threads knows of itself only.
struct OwnPast {
  Party party;
  std::uint32_t seen = 0;    ///< number of a segment: the party's earlier ones are known
  std::uint32_t fenced = 0;  ///< number of a segment: a proxy fence followed earlier ones
};

/// What some threads of a group know besides what all know.
struct PartialKnowledge {
  ThreadRange threads;
  Knowledge knows;
};

/// What a group knows.
struct GroupKnowledge {
  ThreadRange threads;
  Knowledge common;
  std::vector<PartialKnowledge> partial;
  std::vector<OwnPast> own;   ///< pasts in other groups, and copies that each thread has waited for
  std::uint32_t segment = 0;  ///< number of the present segment
  std::uint32_t fenced = 0;   ///< own segments before this one were fenced by their threads
};

/// An access in the block, as order sees it.
struct OrderedAccess {
  Segment segment;
  std::uint32_t thread = 0;  ///< thread in the block; any thread of the party of a chain
  bool is_generic_write = false;
};

class GroupOrder {
 public:
  GroupOrder() = default;
  /// `groups`: the threads of the block and of its groups, by group; `objects`: stages of memory
  /// barriers, then named barriers.
  GroupOrder(std::uint64_t block, const std::vector<ThreadRange>& groups, std::size_t objects);

  [[nodiscard]] bool empty() const { return groups_.empty(); }
  [[nodiscard]] const GroupKnowledge& group(std::uint16_t group) const { return groups_[group]; }
  [[nodiscard]] const std::vector<SyncObject>& objects() const { return objects_; }
  [[nodiscard]] SyncObject& object(std::size_t number) { return objects_[number]; }
  [[nodiscard]] const SyncObject& object(std::size_t number) const { return objects_[number]; }

  /// The party of a group's own accesses by the generic proxy.
  [[nodiscard]] Party party(std::uint16_t group) const { return {.block = block_, .group = group}; }
  /// The segment in which accesses of a group fall now.
  [[nodiscard]] Segment segment(std::uint16_t group) const {
    return {party(group), groups_[group].segment};
  }
  /// A chain of asynchronous accesses that a group begins; `number` is from 1 on.
  [[nodiscard]] Party chain(std::uint16_t group, std::uint32_t number,
                            isa::Proxy proxy = isa::Proxy::async) const {
    return {.block = block_, .group = group, .proxy = proxy, .chain = number};
  }

  /// Groups begin and end within another one.
  void fork(std::uint16_t parent, std::uint16_t child);
  void join(std::uint16_t parent, std::uint16_t child);

  /// Whether an access has happened before what a thread of a group does now.
  [[nodiscard]] bool is_before(const OrderedAccess& access, std::uint16_t group,
                               std::uint32_t thread) const;
  /// Whether what it wrote is visible to an access by the async proxy that the thread begins now.
  [[nodiscard]] bool is_fenced(const OrderedAccess& access, std::uint16_t group,
                               std::uint32_t thread) const;
  /// Whether all threads of a group know it.
  [[nodiscard]] bool is_known(const OrderedAccess& access, std::uint16_t group) const;

  /// What all threads of a group release together.
  [[nodiscard]] Knowledge released(std::uint16_t group) const;
  /// All threads of a group know so many segments of a chain.
  void know(std::uint16_t group, const Party& chain, std::int64_t segments) {
    groups_[group].common.seen.raise(chain, static_cast<std::uint32_t>(segments));
  }
  /// All threads of a group learn something.
  void acquire(std::uint16_t group, const Knowledge& knowledge);
  /// All threads of a group wait for one another.
  void synchronize(std::uint16_t group);
  /// Every thread of a group executes a proxy fence.
  void fence(std::uint16_t group);
  /// Each thread of a group has waited for what it began itself of a chain: segments before
  /// `segments`.
  void complete_own(std::uint16_t group, const Party& chain, std::uint32_t segments);
  /// Later accesses of a group are not what it released before.
  void begin_segment(std::uint16_t group) { ++groups_[group].segment; }

 private:
  std::uint64_t block_ = 0;
  std::vector<GroupKnowledge> groups_;
  std::vector<SyncObject> objects_;
};

}  // namespace tilevm::sim
