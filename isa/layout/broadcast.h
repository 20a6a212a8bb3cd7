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

/// Whether an operand can take part in a result: its shape broadcasts to the result's, and every
/// thread holds what it needs, at places that do not depend on the thread.
[[nodiscard]] bool broadcasts_to(const RegisterLayout& operand, const RegisterLayout& result);

/// For each local place of the result, the place of the element that it takes from the operand, in
/// the same thread. Law: operand.element(t, places[i]) is result.element(t, i) without the leading
/// dimensions that the operand does not have, and with 0 where its extent is 1; for all t.
using PlaceMap = std::vector<std::int32_t>;

/// The plan of an operand; nothing unless broadcasts_to(operand, result).
[[nodiscard]] std::optional<PlaceMap> broadcast_places(const RegisterLayout& result,
                                                       const RegisterLayout& operand);

/// A layout of the shape to which both broadcast, in which both can take part; nothing if there is
/// none. Where both spread the same digit of the thread index over different dimensions, a result
/// would be spread over their diagonal, which no layout is.
[[nodiscard]] std::optional<RegisterLayout> joint_layout(const RegisterLayout& a,
                                                         const RegisterLayout& b);

}  // namespace tilevm::isa
