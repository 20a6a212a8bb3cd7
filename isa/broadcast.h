// Broadcasting: how operands of smaller shapes take part in an element-wise instruction.
//
// Shapes are aligned right; in each dimension the extents of the operands are equal, or 1, and the
// result's is the largest. Nothing moves between threads: each thread must already hold, of every
// operand, what its elements of the result need, and at places that are the same in every thread.
// That is so exactly if the operand is spread over the threads as reduce_to(result, its shape) is;
// the order of the places inside a thread is free.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "isa/layout/register_layout.h"

namespace tilevm::isa {

/// The shape that both broadcast to, or nothing.
[[nodiscard]] std::optional<Shape> broadcast_shape(const Shape& a, const Shape& b);

/// For each local place of the result, the place of the element that it takes from the operand, in
/// the same thread. Law: operand.element(t, places[i]) is result.element(t, i) without the leading
/// dimensions that the operand lacks, and with 0 where its extent is 1; for all t.
using PlaceMap = std::vector<std::int32_t>;

/// Nothing if some thread lacks an element, or the places differ between threads, or the shapes or
/// the number of threads do not fit.
[[nodiscard]] std::optional<PlaceMap> broadcast_places(const RegisterLayout& result,
                                                       const RegisterLayout& operand);

struct BroadcastPlan {
  PlaceMap a, b;
};

/// The plan of both operands of an instruction.
[[nodiscard]] std::optional<BroadcastPlan> plan_broadcast(const RegisterLayout& result,
                                                          const RegisterLayout& a,
                                                          const RegisterLayout& b);

/// A layout of the shape to which both broadcast, for which there is a plan; nothing if there is
/// none. Where both spread the same digit of the thread index over different dimensions, a result
/// would be spread over their diagonal, which no layout is.
[[nodiscard]] std::optional<RegisterLayout> joint_layout(const RegisterLayout& a,
                                                         const RegisterLayout& b);

}  // namespace tilevm::isa
