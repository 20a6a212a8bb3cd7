// Parties of a launch: those whose accesses to memory their own program puts in order.
//
// Accesses of one party happen one after another. Between parties nothing is in order but what a
// release of one and an acquire of the other put in order (party_clock.h).
#pragma once

#include <compare>
#include <cstdint>

#include "isa/inst/schema.h"

namespace tilevm::sim {

/// A group of warps of a block that runs its own part of the kernel, or a chain of asynchronous
/// accesses that a group began: accesses of a chain complete in the order of their segments. A
/// kernel without groups is group 0 of its blocks.
///
/// Phases of a barrier are a chain as well: segment k of it is that phase k completes.
struct Party {
  std::uint64_t block = 0;  ///< rank of the block in the launch order
  std::uint16_t group = 0;
  isa::Proxy proxy = isa::Proxy::generic;
  std::uint32_t chain = 0;         ///< 0: the group's own accesses
  std::uint16_t first_thread = 0;  ///< first thread in the block, unless `threads` is 0
  std::uint16_t threads = 0;       ///< number of its threads; 0: all threads of the group
  friend auto operator<=>(const Party&, const Party&) = default;

  /// Whether a thread of the block is among those of the party.
  [[nodiscard]] constexpr bool has(std::uint32_t thread) const {
    return threads == 0 || (first_thread <= thread && thread < first_thread + threads);
  }
  /// Whether two parties differ by their threads at most.
  [[nodiscard]] constexpr bool is_part_of(const Party& other) const {
    return block == other.block && group == other.group && proxy == other.proxy &&
           chain == other.chain;
  }
};

/// Chains of a group whose segments are its commit groups. Other chains are numbered from 1 on.
inline constexpr std::uint32_t copies_chain = 0xffffffff, products_chain = 0xfffffffe;

/// A part of a party's work between two instructions that order parties.
struct Segment {
  Party party;
  std::uint32_t number = 0;  ///< number of ordering instructions before the segment
};

}  // namespace tilevm::sim
