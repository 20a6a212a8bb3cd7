// The scalar expressions of an instruction by what they are for, and the variables that they read.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "isa/inst/expr.h"
#include "isa/inst/instruction_set.h"

namespace tilevm::isa {

/// Expressions whose values an instruction computes with. Where elements of the result take values
/// in turn, `element` is the row-major number of one and chooses its value.
[[nodiscard]] std::vector<Expr> value_expressions(const Instruction& inst,
                                                  std::optional<std::int64_t> element);
/// Expressions that say which elements an instruction touches.
[[nodiscard]] std::vector<Expr> offset_expressions(const Instruction& inst);
/// Expressions that say where the elements of a view are.
[[nodiscard]] std::vector<Expr> view_expressions(const Instruction& inst);

/// The variables that expressions read when they were evaluated, each once: not those of a value
/// that a condition left out, nor those behind a condition that was decided before.
[[nodiscard]] std::vector<VarId> evaluated_variables(const std::vector<Expr>& exprs,
                                                     const std::function<Scalar(VarId)>& value_of);

}  // namespace tilevm::isa
