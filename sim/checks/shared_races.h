// Races in shared memory between the threads of a block.
#pragma once

#include "isa/base/check.h"
#include "sim/access/shared_access.h"

namespace tilevm::sim {

/// How a tile of shared memory is used. A copy writes from an unknown thread; a product reads by
/// the tensor cores of all warps.
enum class SharedUse : std::uint8_t { read, write, combine, copy, product };
[[nodiscard]] constexpr AccessKind kind_of(SharedUse use) {
  switch (use) {
    case SharedUse::read:
    case SharedUse::product:
      return AccessKind::read;
    case SharedUse::combine:
      return AccessKind::combine;
    case SharedUse::write:
    case SharedUse::copy:
      return AccessKind::write;
  }
  TILEVM_NO_ENUMERATOR();
}
/// What an access does.
[[nodiscard]] inline AccessType type_of(const SharedAccess& access, SharedUse use) {
  return {kind_of(use), access.combination};
}
/// Whether memory changes.
[[nodiscard]] constexpr bool writes(SharedUse use) { return kind_of(use) != AccessKind::read; }

/// Whether the access is not that of certain threads and goes on after its instruction.
[[nodiscard]] constexpr bool is_asynchronous(SharedUse use) {
  return use == SharedUse::copy || use == SharedUse::product;
}

/// Whether an access races with the history. If not, the access is added, unless it is
/// asynchronous: it is in flight.
[[nodiscard]] bool conflicts_with_history(SharedHistory& set, const ResolvedAccess& resolved,
                                          SharedUse use, Context& context);

/// Whether a tile may be used now without a race between threads; records the access. False after a
/// fault.
[[nodiscard]] bool check_race(const ResolvedAccess& resolved, SharedUse use, Context& context);

/// Whether the elements of a tile that is written are kept apart by the layout of its tensor: where
/// two have one address, one of them is lost. Any thread of a copy may write any element. False
/// after a fault.
[[nodiscard]] bool check_overlap(const ResolvedAccess& resolved, SharedUse use, Context& context);
/// Adds what a retired product has read to the history: all of its warps may still read until a
/// barrier, for all that another warp knows.
void note_product_read(const ResolvedAccess& operand, Context& context);

/// Adds notes to a race: the conflicting access, and the fix.
void explain_conflicting_access(const ConflictingAccess& other, std::uint32_t statement,
                                Context& context);

/// Adds a note to a race of two combinations: that they differ.
void explain_combinations(const AccessType& mine, const AccessType& other, Context& context);

/// Adds a note to a fault if the layout gives the element of this index and another one the same
/// address: then the layout is the cause, not a missing barrier or wait.
void explain_shared_address(const SharedAccess& access, const isa::Index& index, Context& context);

/// Empties the history, as after a barrier.
void forget_history(SharedHistory& set);

}  // namespace tilevm::sim
