// Shadow values of a block: the values that its elements would have without rounding
// (docs/reference/checks.md, Shadow evaluation). Empty unless a run asks for them.
#pragma once

#include <cstddef>
#include <vector>

#include "isa/program/kernel_info.h"
#include "isa/program/program.h"
#include "isa/type/dtype.h"
#include "sim/api/shadow_memory.h"
#include "sim/tiles/layout_parts.h"
#include "sim/tiles/register_slab.h"

namespace tilevm::sim {

struct ShadowValues {
  bool kept = false;  ///< whether the run asks for them
  std::vector<double> registers;
  std::vector<ShadowSlot> shared;  ///< SharedAccess::shadow

  [[nodiscard]] double& at(const Tile& tile, std::size_t thread, std::size_t place) {
    return registers[tile.shadow + thread * tile.locals + place];
  }
};

/// Values of a tile by element: the tile's own, and its shadow values.
struct ShadowPairs {
  std::vector<double> own, shadow;
};

/// The value of a code as the nearest double: exact but for integers beyond 2^53.
[[nodiscard]] double value_of(const isa::DType& type, std::uint64_t code);

/// The value of an element of a register tile.
[[nodiscard]] double value_at(const isa::DType& type, const Tile& tile,
                              const RegisterSlab& registers, std::size_t thread, std::size_t place);

/// The index in ShadowValues::shared of a tensor's first element; the tensor is given by its index
/// in KernelInfo::shared. For an index past the end: the number of elements of all tensors.
[[nodiscard]] std::size_t shared_shadow(const isa::Kernel& kernel, const isa::KernelInfo& info,
                                        std::size_t tensor);

}  // namespace tilevm::sim
