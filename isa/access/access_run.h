// Contiguous runs: which elements of a thread are neighbours in memory, so that one access may move
// them.
#pragma once

#include "isa/access/access_plan.h"

namespace tilevm::isa {

/// Fills in how each thread moves its part of a tile: the longest contiguous runs that are inside
/// the view or outside as a whole, in the widest accesses to which they are aligned. `keeps_order`:
/// elements that may share an address must be moved in the order of their local places.
/// If there is an index, `plan.index_places` must be known.
void plan_runs(AccessPlan& plan, const RegisterLayout& tile, bool keeps_order);

/// Plans an access for each element: GPUs combine elements with memory one by one.
void plan_elements(AccessPlan& plan, const RegisterLayout& tile);

/// The digits of a piece's number as shares of the tile's index. `pieces` is the tile's extents,
/// the last one in pieces of `elements`.
[[nodiscard]] std::vector<RegisterLayout::Term> piece_terms(const Shape& pieces,
                                                            std::int64_t elements);

/// Digits of an access's number from the terms that tell accesses apart.
[[nodiscard]] std::vector<AccessDigit> number_accesses(std::vector<TensorTerm> terms);

/// Fills in how addresses follow from a side's digits.
void choose_address(AccessSide& side);

}  // namespace tilevm::isa
