// Which elements of a thread lie side by side in memory, so that one access may move them.
#pragma once

#include "isa/access/access_plan.h"

namespace tilevm::isa {

/// Fills in how each thread moves its part of a tile: the longest runs of elements side by side in
/// memory that lie inside of the view or outside as a whole, in the widest accesses to which they
/// are aligned. `keeps_order`: a later place must be moved after an earlier one, if they may lie at
/// one place in memory.
void plan_runs(AccessPlan& plan, const RegisterLayout& tile, bool keeps_order);

/// The digits of a piece's number as shares of the tile's index. `pieces` is the tile's extents,
/// the last one in pieces of `elements`.
[[nodiscard]] std::vector<RegisterLayout::Term> piece_terms(const Shape& pieces,
                                                            std::int64_t elements);

/// Digits of an access's number from the terms that tell accesses apart.
[[nodiscard]] std::vector<AccessDigit> number_accesses(std::vector<PlacedTerm> terms);

/// Fills in how addresses follow from a side's digits.
void choose_address(AccessSide& side);

}  // namespace tilevm::isa
