// The plan of a product by one tensor-core instruction: its operands are cut into fragments, and
// each fragment of c gets its steps.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "isa/dot/dot_plan.h"
#include "isa/dot/dot_tiling.h"

namespace tilevm::isa {

/// By the coordinates of a tile in a thread: the number of its fragment.
[[nodiscard]] std::map<FragmentTile, std::int32_t> by_tile(const Tiling& tiling);

/// The plan with this instruction, if the operands are made of its fragments and each warp has what
/// it needs. A sparse instruction's a is the stored matrix; places are not planned here.
[[nodiscard]] std::optional<DotPlan> plan_fragments(const MmaShape& shape,
                                                    const BatchOperands& operands);

/// Adds the places of a sparse instruction, which may be laid out for pairs of steps or for single
/// ones; false if they fit neither. `places` has rank 3 (as_batch).
[[nodiscard]] bool plan_places(const RegisterLayout& places, const BatchOperands& operands,
                               DotPlan& plan);

/// Adds the scales of a block-scaled instruction; false if their layouts, of rank 3 (as_batch), do
/// not hold, in each warp, those of its rows of a and of its columns of b.
[[nodiscard]] bool plan_scales(const RegisterLayout& a_scales, const RegisterLayout& b_scales,
                               const BatchOperands& operands, DotPlan& plan);

}  // namespace tilevm::isa
