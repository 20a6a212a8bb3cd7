// How the elements of a tile are combined along dimensions: the order that every engine follows.
//
// First each thread combines the elements of a result that it holds, by ascending place: a tree of
// neighbours, which splits n elements at the largest power of two below n. Then threads combine
// what they have, digit by digit of the thread's number, the lowest first. A digit of 2^n * m
// threads, m odd, is n butterflies (each thread with the one whose bit differs, the lowest bit
// first), then a fold of the m values in ascending order. Replicas that the tile already has take
// no part.
//
//   local(2, 1).spatial(8, 4).local(1, 2) along 1: places (0, 1) and (2, 3), then threads t and
//   t ^ 1, then t and t ^ 2
#pragma once

#include <cstdint>
#include <vector>

#include "isa/base/result.h"
#include "isa/layout/register_layout.h"

namespace tilevm::isa {

/// Values of threads `distance` apart are combined: of two threads, or of an odd number of threads.
struct ReductionStep {
  std::int64_t distance = 1, size = 2;
  friend bool operator==(const ReductionStep&, const ReductionStep&) = default;
};

/// Steps that threads take after all have put their values into memory: for each place of the
/// result `slots * partials` of them. A thread finds the values that it combines at
/// `slot + i * slots`, the threads of the first step next to one another.
struct ReductionExchange {
  std::vector<ReductionStep> steps;
  std::int64_t partials = 1;  ///< values that a thread combines
  std::int64_t slots = 1;     ///< results of a place, over all threads
  /// `thread / divisor % size * stride`, of which the sum is the thread's slot, and the distance
  /// from there to its own value.
  std::vector<RegisterLayout::Term> slot, own;
  /// Digits of the thread's number whose threads all have one value: only the first puts it there.
  std::vector<RegisterLayout::Term> copies;
};

struct ReductionPlan {
  std::int64_t results = 1;   ///< places of the result
  std::int64_t elements = 1;  ///< number of elements that a thread reduces to each result
  /// For each place of the result the places of its elements, ascending.
  std::vector<std::int32_t> places;
  std::vector<ReductionStep> lanes;  ///< within warps: by shuffles
  std::vector<ReductionExchange> exchanges;

  /// All steps, in order.
  [[nodiscard]] std::vector<ReductionStep> steps() const;
  /// Values that go through memory at a time, at most.
  [[nodiscard]] std::int64_t exchanged_values() const;
};

/// The result's layout is `reduce(source, dims, ..)`, with or without the dimensions.
[[nodiscard]] ReductionPlan plan_reduction(const RegisterLayout& source,
                                           const std::vector<int>& dims,
                                           const RegisterLayout& result);

}  // namespace tilevm::isa
