// Replicas: threads that hold the same element must hold the same bits.
//
// Every instruction but View computes equal replicas from equal replicas. A View may declare as
// replicas what were different elements, so that is where they are compared.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "isa/layout/register_layout.h"
#include "sim/state/context.h"
#include "sim/tiles/layout_parts.h"

namespace tilevm::sim {

/// What a View's result has to be compared for.
struct ReplicaCheck {
  Tile tile;
  std::vector<std::int32_t> first_holders;  ///< by thread
  std::shared_ptr<const LayoutParts> parts;
  std::string name;
  Span span{};
};

/// For each thread the first one that holds the same elements.
[[nodiscard]] std::vector<std::int32_t> first_holders(const isa::RegisterLayout& layout);

/// Whether a tile of layout `from`, seen in layout `to`, may have replicas that differ: two threads
/// hold one element now and did not before.
[[nodiscard]] bool may_differ(const isa::RegisterLayout& from, const isa::RegisterLayout& to);

/// False after a fault: two replicas differ.
[[nodiscard]] bool check_replicas(const ReplicaCheck& check, Context& context);

}  // namespace tilevm::sim
