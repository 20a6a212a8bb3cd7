// Instructions that give a block its index in the grid.
#include <utility>
#include <vector>

#include "sim/exec/semantics.h"

namespace tilevm::sim {

/// One i32 for each grid extent; x is the first.
template <>
Action prepare(const isa::BlockIndices&, const Preparation& preparation) {
  std::vector<std::size_t> slots;
  for (const isa::VarId result : preparation.stmt.results) {
    slots.push_back(static_cast<std::size_t>(result.index));
  }
  return [slots = std::move(slots)](Context& context) {
    for (std::size_t d = 0; d < slots.size(); ++d) {
      context.state.scalars[slots[d]] = static_cast<std::uint64_t>(context.state.block[d]);
    }
    return true;
  };
}

}  // namespace tilevm::sim
