// What values cost that a program makes while it is bound: steps of the binder, and memory.
//
// A list is copied when its name is used, and what holds lists is copied whole, so a short text can
// ask for any amount. The binder counts before it copies (Inlining::spend).
#pragma once

#include <cstddef>

#include "frontend/bind/bind_scope.h"
#include "isa/inst/expr.h"

namespace tilevm::frontend {

/// What a copy of a value takes, with all that it holds.
[[nodiscard]] Cost cost_of(const Value& value);
[[nodiscard]] Cost cost_of(const ValueList& list);
[[nodiscard]] Cost cost_of(const ConstantValue& value);
[[nodiscard]] Cost cost_of(const ConstantList& list);

/// How large an expression is as a tree, in which shared parts count as often as they are used.
/// Counting ends at `most` nodes.
struct TreeSize {
  std::size_t nodes = 0;
  std::size_t height = 0;
};
[[nodiscard]] TreeSize size_of(const isa::Expr& expr, std::size_t most);

}  // namespace tilevm::frontend
