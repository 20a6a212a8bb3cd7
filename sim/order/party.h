// Parties of a launch: those whose accesses to memory their own program puts in order.
//
// Accesses of one party happen one after another. Between parties nothing is in order but what a
// release of one and an acquire of the other put in order (party_clock.h).
#pragma once

#include <compare>
#include <cstdint>

#include "isa/inst/schema.h"

namespace tilevm::sim {

/// A group of warps of a block that runs its own part of the kernel, or what it lets the async
/// proxy do. A kernel without groups is group 0 of its blocks.
struct Party {
  std::uint64_t block = 0;  ///< rank of the block in the launch order
  std::uint16_t group = 0;
  isa::Proxy proxy = isa::Proxy::generic;
  friend auto operator<=>(const Party&, const Party&) = default;
};

/// A part of a party's work between two instructions that order parties.
struct Segment {
  Party party;
  std::uint32_t number = 0;  ///< number of ordering instructions before the segment
};

}  // namespace tilevm::sim
