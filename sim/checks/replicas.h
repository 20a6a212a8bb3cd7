// Replicas: threads that hold the same element must hold the same bits.
//
// Every instruction but View computes equal replicas from equal replicas. A View may declare
// different elements to be replicas, so a View compares them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "isa/layout/register_layout.h"
#include "sim/state/context.h"
#include "sim/tiles/layout_parts.h"

namespace tilevm::sim {

/// What the comparison of replicas in a View's result needs.
struct ReplicaCheck {
  Tile tile;
  std::vector<std::int32_t> first_holders;  ///< first holder of each value, by thread
  std::shared_ptr<const LayoutParts> parts;
  std::string name;
  Span span{};
};

/// For each thread the first one that holds the same elements.
[[nodiscard]] std::vector<std::int32_t> first_holders(const isa::RegisterLayout& layout);

/// Whether a tile of layout `from`, viewed in layout `to`, may have replicas that differ: two
/// threads hold one element in `to` that held different elements in `from`.
[[nodiscard]] bool may_differ(const isa::RegisterLayout& from, const isa::RegisterLayout& to);

/// False after a fault: two replicas differ.
[[nodiscard]] bool check_replicas(const ReplicaCheck& check, Context& context);

}  // namespace tilevm::sim
