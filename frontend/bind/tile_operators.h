// Operators on tiles: which instruction each of them is.
#pragma once

#include <cstddef>
#include <optional>

#include "frontend/syntax/ast.h"
#include "isa/inst/instruction_set.h"

namespace tilevm::frontend {

/// The operation that an operator is on the elements of tiles; nothing for `and` and `or`.
[[nodiscard]] std::optional<isa::BinaryOp> tile_operation(ast::BinaryOp op);

[[nodiscard]] isa::Instruction make_binary(isa::BinaryOp op, isa::VarId a, isa::VarId b);
[[nodiscard]] isa::Instruction make_unary(isa::UnaryOp op, isa::VarId a);

/// The operands of an element-wise instruction that share one type are those from this one on: of a
/// choice all but the condition.
[[nodiscard]] std::size_t first_of_common_type(const isa::Instruction& instruction);

}  // namespace tilevm::frontend
